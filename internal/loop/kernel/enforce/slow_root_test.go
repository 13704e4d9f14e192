package enforce

import (
	"testing"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// On a slow path the last acknowledgement of a response often gets a callback of
// its own, and the next response begins within the same jiffy: the stamps of the
// two busy periods are equal then. Two of these responses together would cross.
func TestKeepAliveOnASlowPath(t *testing.T) {
	r := newRig(t)
	slow(t)
	r.standard()
	for i := range 3 {
		got := r.fetch4(clientT, 59_000, 55_000+i, 57_000, 58_000)
		if rec := r.next(); got.cong != "cubic" || rec.Mark.Crossings != 0 {
			t.Errorf("connection %d: four responses below 60 kB: %s, %d crossings", i, got.cong, rec.Mark.Crossings)
		}
	}
	if got := r.fetch4(clientT, 59_000, 250_000); got.cong != "bbr" {
		t.Errorf("a large response after a small one: %s", got.cong)
	}
}

// slow makes the loopback 1.6 Mbit/s with a queue of 120 ms.
func slow(t *testing.T) {
	t.Helper()
	const rate = 200_000 // bytes/s
	lo, err := netlink.LinkByName("lo")
	check(t, err)
	check(t, netlink.QdiscReplace(&netlink.Tbf{
		QdiscAttrs: netlink.QdiscAttrs{LinkIndex: lo.Attrs().Index, Handle: netlink.MakeHandle(1, 0), Parent: netlink.HANDLE_ROOT},
		Rate:       rate, Buffer: netlink.Xmittime(rate, 3_028), Limit: 24_000,
	}))
	t.Cleanup(func() {
		q := &netlink.Tbf{QdiscAttrs: netlink.QdiscAttrs{LinkIndex: lo.Attrs().Index, Handle: netlink.MakeHandle(1, 0), Parent: netlink.HANDLE_ROOT}}
		if err := netlink.QdiscDel(q); err != nil && err != unix.ENOENT {
			t.Errorf("delete tbf: %v", err)
		}
	})
}
