package sample

import (
	"encoding/binary"
	"slices"
	"strconv"
	"testing"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/btf"
	"golang.org/x/sys/unix"

	"github.com/congctl/congctl/internal/tcp/inetdiag"
)

func itoa(n int) string { return strconv.Itoa(n) }

func ownPoll(t testing.TB, cfg PollConfig) *Poll {
	t.Helper()
	s, err := OpenNamespaces(Own)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	p, err := NewPoll(s, cfg)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestPollKnowsAcceptedConnections(t *testing.T) {
	ownNetns(t)
	w := newWorld(t)
	l4, l6 := w.listen(unix.AF_INET, 8000, 64, "bbr"), w.listen(unix.AF_INET6, 8001, 64, "cubic")
	for range 20 {
		w.connect(l4, unix.AF_INET, 7, 8000, "reno")
		w.connect(l6, unix.AF_INET6, 0, 8001, "reno")
	}
	p := ownPoll(t, PollConfig{})
	congs := map[string]int{}
	st, err := p.Run(func(n *Namespace, s *inetdiag.Sock) {
		if n.Listening.Accepts(s.Local) {
			congs[s.Cong.String()]++
		}
	})
	if err != nil || st.Sockets != 80 || st.Listeners != 2 || st.Namespaces != 1 || st.Failed != 0 || congs["bbr"] != 20 || congs["cubic"] != 20 || len(congs) != 2 {
		t.Errorf("%+v, accepted %v, %v", st, congs, err)
	}
	if opens, err := p.spaces.All()[0].PassiveOpens(); err != nil || opens != 40 {
		t.Errorf("%d passive opens, %v", opens, err)
	}
	some := ownPoll(t, PollConfig{Ports: []inetdiag.PortRange{{Lo: 8001, Hi: 8010}}})
	if st, err := some.Run(func(_ *Namespace, s *inetdiag.Sock) {
		if s.Local.Port() != 8001 {
			t.Errorf("port %d passed the filter", s.Local.Port())
		}
	}); err != nil || st.Sockets != 20 {
		t.Errorf("filtered: %+v, %v", st, err)
	}
}

// A socket closed in FIN_WAIT2 becomes a timewait socket that still counts as
// FIN_WAIT2 but has no tcp_info: counted, not handed out.
func TestPollSkipsSocketsWithoutInfo(t *testing.T) {
	ownNetns(t)
	w := newWorld(t)
	l := w.listen(unix.AF_INET, 8000, 64, "")
	w.connect(l, unix.AF_INET, 7, 8000, "")
	p := w.connect(l, unix.AF_INET, 7, 8000, "")
	w.must(unix.Shutdown(p.client, unix.SHUT_WR))
	for state := uint8(0); state != inetdiag.StateFinWait2; { // until the peer acknowledges the FIN
		info, err := unix.GetsockoptTCPInfo(p.client, unix.IPPROTO_TCP, unix.TCP_INFO)
		w.must(err)
		state = info.State
	}
	w.must(unix.Close(p.client))
	w.fds = slices.DeleteFunc(w.fds, func(fd int) bool { return fd == p.client })
	handed := 0
	st, err := ownPoll(t, PollConfig{}).Run(func(*Namespace, *inetdiag.Sock) { handed++ })
	if err != nil || st.Sockets != 4 || st.NoInfo != 1 || handed != 3 {
		t.Errorf("%d handed out, %+v, %v", handed, st, err)
	}
}

// TestPollReadsSocketStorage puts a value on one socket from user space and
// finds it in the dump.
func TestPollReadsSocketStorage(t *testing.T) {
	needRoot(t, "it makes a BPF map (5.7 for sk_storage in dumps)")
	word := &btf.Int{Name: "int", Size: 4, Encoding: btf.Signed}
	long := &btf.Int{Name: "long", Size: 8}
	m, err := ebpf.NewMap(&ebpf.MapSpec{Name: "marks", Type: ebpf.SkStorage, KeySize: 4, ValueSize: 8, Flags: unix.BPF_F_NO_PREALLOC, Key: word, Value: long})
	if err != nil {
		t.Skipf("needs sk_storage maps in a dump: %v; minimum kernel 5.7", err)
	}
	defer m.Close()
	ownNetns(t)
	w := newWorld(t)
	l := w.listen(unix.AF_INET, 8000, 64, "")
	var last pair
	for range 10 {
		last = w.connect(l, unix.AF_INET, 7, 8000, "")
	}
	w.must(m.Put(int32(last.server), uint64(0x1122334455667788)))
	cookie, err := unix.GetsockoptUint64(last.server, unix.SOL_SOCKET, unix.SO_COOKIE)
	w.must(err)
	found := 0
	st, err := ownPoll(t, PollConfig{StorageFD: m.FD()}).Run(func(_ *Namespace, s *inetdiag.Sock) {
		if s.Has&inetdiag.HasStorage == 0 {
			return
		}
		found++
		if s.Cookie != cookie || len(s.Storage) != 8 || binary.NativeEndian.Uint64(s.Storage) != 0x1122334455667788 {
			t.Errorf("cookie %x (want %x), storage %x", s.Cookie, cookie, s.Storage)
		}
	})
	if err != nil || found != 1 || st.Sockets != 20 || st.Malformed != 0 {
		t.Errorf("%d with storage, %+v, %v", found, st, err)
	}
}

func TestPollAllocatesNothing(t *testing.T) {
	ownNetns(t)
	w := newWorld(t)
	l := w.listen(unix.AF_INET, 8000, 600, "")
	for range 500 {
		w.connect(l, unix.AF_INET, 7, 8000, "")
	}
	p := ownPoll(t, PollConfig{})
	n := 0
	visit := func(*Namespace, *inetdiag.Sock) { n++ }
	allocs := testing.AllocsPerRun(10, func() {
		if _, err := p.Run(visit); err != nil {
			t.Fatal(err)
		}
	})
	if n < 1000 || allocs != 0 {
		t.Errorf("%v allocations for a poll of 1000 sockets", allocs)
	}
}
