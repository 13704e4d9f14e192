package route

import (
	"fmt"
	"slices"
	"testing"

	"golang.org/x/sys/unix"
)

// Kernels before 4.20 filter nothing in a dump; asked not to, this one does the same.
func TestUnfilteredDumpsReadTheSame(t *testing.T) {
	w := newEdge(t).gateways()
	w.ipEdge("route add default via 10.9.1.254 table 100")
	w.ipEdge("-6 route add default via fd09:1::fe table 100")
	r := w.router()
	w.set(r, programOf("bbr", planned4, planned6))
	strict := r.tab.(*socket)
	var plain *socket
	err := w.edge.Do(func() (err error) { plain, err = dial(); return err })
	if err != nil {
		t.Fatal(err)
	}
	defer plain.nl.Close()
	if err := unix.SetsockoptInt(plain.nl.GetFd(), unix.SOL_NETLINK, unix.NETLINK_GET_STRICT_CHK, 0); err != nil {
		t.Skip("needs strict checking to turn off; minimum kernel 4.20")
	}
	all := func(head) bool { return true }
	for _, f := range families {
		for name, of := range map[string]struct {
			proto  uint8
			wanted func(head) bool
		}{"all": {0, all}, "own": {Proto, head.ours}} {
			a, errA := strict.routes(f, of.proto, of.wanted)
			b, errB := plain.routes(f, of.proto, of.wanted)
			slices.SortFunc(a, func(x, y entry) int { return compareNets(x.dst, y.dst) })
			slices.SortFunc(b, func(x, y entry) int { return compareNets(x.dst, y.dst) })
			if errA != nil || errB != nil || fmt.Sprint(a) != fmt.Sprint(b) || len(a) == 0 {
				t.Errorf("family %d, %s:\n%v, %v\n%v, %v", f, name, a, errA, b, errB)
			}
		}
	}
}
