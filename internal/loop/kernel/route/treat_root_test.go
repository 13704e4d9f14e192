package route

import (
	"net"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/congctl/congctl/internal/linux/netns"
	"github.com/congctl/congctl/internal/tcp/abi"
)

func TestTreatsNewConnections(t *testing.T) {
	w := newEdge(t).gateways()
	r := w.router()
	before := w.connect(planned4, nil)
	w.set(r, programOf("bbr", planned4, planned6))
	w.wantCong(planned4, "bbr")
	w.wantCong(planned6, "bbr")
	w.wantCong(other4, "reno")
	w.wantCong(other6, "reno")
	if got := w.congOf(before.server); got != "reno" {
		t.Errorf("a connection from before the plan runs %s", got)
	}
	if got := w.ours(); !strings.Contains(got, "203.0.113.0/24 via 10.9.0.254 dev e0 src 192.0.2.1 metric 4278190236 mtu 1400 congctl bbr") ||
		!strings.Contains(got, "2001:db8:0:ab00::/56 via fd09::fe dev e0 src 2001:db8:ffff::1 metric 4278190236 congctl bbr") {
		t.Errorf("routes are\n%s", got)
	}
	during := w.connect(planned4, nil)
	w.set(r, programOf("bbr"))
	w.wantCong(planned4, "reno")
	w.wantCong(planned6, "reno")
	if got := w.congOf(during.server); got != "bbr" {
		t.Errorf("a connection of the treatment runs %s after it", got)
	}
	if got := w.ours(); got != "" {
		t.Errorf("left behind:\n%s", got)
	}
}

// TestLeft counts what is ours, with routes and in a namespace that has no table at all.
func TestLeft(t *testing.T) {
	w := newEdge(t).gateways()
	r := w.router()
	left := func() (n int) {
		t.Helper()
		if err := w.edge.Do(func() (err error) { n, err = Left(); return err }); err != nil {
			t.Fatal(err)
		}
		return n
	}
	if n := left(); n != 0 {
		t.Errorf("%d before the plan", n)
	}
	w.set(r, programOf("bbr", planned4, planned6))
	if n := left(); n != 2 {
		t.Errorf("%d of two prefixes", n)
	}
	empty, err := netns.Anonymous()
	if err != nil {
		t.Fatal(err)
	}
	defer empty.Close()
	if err := empty.Do(func() error { _, err := Left(); return err }); err != nil {
		t.Errorf("without a table: %v", err)
	}
}

func TestSetAgainChangesNothing(t *testing.T) {
	w := newEdge(t).gateways()
	r := w.router()
	prog := programOf("bbr", planned4, planned6)
	w.set(r, prog)
	for range 3 {
		w.set(r, prog)
		if rep := r.Report(); rep.Added+rep.Removed != 0 || rep.Drift+rep.Lost != 0 {
			t.Fatalf("%+v", rep)
		}
	}
}

func TestStopRemovesAtOnce(t *testing.T) {
	w := newEdge(t).gateways()
	r := w.router()
	prog := programOf("bbr", planned4, planned6)
	w.set(r, prog)
	r.Stop(abi.StopStarved, true)
	r.Stop(abi.StopKilled, true)
	if got := w.ours(); got != "" || r.Report().Trouble != "" {
		t.Errorf("left %s, trouble %q", got, r.Report().Trouble)
	}
	w.wantCong(planned4, "reno")
	r.Stop(abi.StopKilled, false)
	if n, err := r.Set(prog); n != 0 || err != nil || w.ours() != "" {
		t.Errorf("still starved: %d in force, %v, %s", n, err, w.ours())
	}
	r.Stop(abi.StopStarved, false)
	w.set(r, prog)
	w.wantCong(planned4, "bbr")
}

func TestMultipath(t *testing.T) {
	w := newEdge(t)
	w.ipEdge("route add default proto bgp metric 20 src 192.0.2.1 nexthop via 10.9.0.254 dev e0 weight 3 nexthop via 10.9.1.254 dev e1")
	w.ipEdge("-6 route add default proto bgp metric 20 src 2001:db8:ffff::1 nexthop via fd09:0::fe dev e0 nexthop via fd09:1::fe dev e1")
	r := w.router()
	prog := programOf("bbr", planned4, planned6)
	w.set(r, prog)
	w.wantCong(planned4, "bbr")
	w.wantCong(planned6, "bbr")
	w.wantCong(other4, "reno")
	if got := strings.Join(strings.Fields(w.ours()), " "); !strings.Contains(got, "nexthop via 10.9.0.254 dev e0 weight 3") || !strings.Contains(got, "nexthop via fd09:1::fe dev e1") {
		t.Errorf("routes are\n%s", got)
	}
	w.set(r, prog)
	if rep := r.Report(); rep.Added+rep.Removed != 0 {
		t.Errorf("again: %+v", rep)
	}
	w.ipEdge("route replace default proto bgp metric 20 src 192.0.2.1 via 10.9.1.254")
	w.set(r, prog)
	if rep := r.Report(); rep.Drift != 1 || rep.Lost != 0 || rep.Added != 1 {
		t.Errorf("after a change of next hops: %+v", rep)
	}
	w.wantCong(planned4, "bbr")
}

// A hop whose link is set down is dead; the kernel would refuse a copy of it.
func TestDeadHop(t *testing.T) {
	w := newEdge(t)
	w.ipEdge("route add default proto bgp metric 20 nexthop via 10.9.0.254 dev e0 nexthop via 10.9.1.254 dev e1")
	w.ipEdge("link set e1 down")
	r := w.router()
	w.set(r, programOf("bbr", planned4))
	if got := w.ours(); !strings.Contains(got, "via 10.9.0.254 dev e0") || strings.Contains(got, "e1") {
		t.Errorf("routes are\n%s", got)
	}
	w.wantCong(planned4, "bbr")
}

func TestNexthopObject(t *testing.T) {
	w := newEdge(t)
	w.ipEdge("nexthop add id 40 via 10.9.0.254 dev e0")
	w.ipEdge("nexthop add id 41 via 10.9.1.254 dev e1")
	w.ipEdge("nexthop add id 50 group 40/41")
	w.ipEdge("route add default nhid 50 proto bgp metric 20 src 192.0.2.1")
	w.ipEdge("nexthop add id 60 via fd09:0::fe dev e0")
	w.ipEdge("-6 route add default nhid 60 proto bgp metric 20")
	r := w.router()
	prog := programOf("bbr", planned4, planned6)
	w.set(r, prog)
	w.wantCong(planned4, "bbr")
	w.wantCong(planned6, "bbr")
	if got := w.ours(); !strings.Contains(got, "203.0.113.0/24 nhid 50 ") || !strings.Contains(got, "::/56 nhid 60 ") {
		t.Errorf("routes are\n%s", got)
	}
	// The object changes, and our routes with it.
	w.ipEdge("nexthop replace id 50 group 41")
	w.set(r, prog)
	if rep := r.Report(); rep.Added+rep.Removed != 0 {
		t.Errorf("%+v", rep)
	}
	w.wantCong(planned4, "bbr")
}

// The application's own choice: a route comes before what a listener chose, and
// after what a program sets on its accepted connection.
func TestListenersChoiceIsOverridden(t *testing.T) {
	w := newEdge(t).gateways()
	w.set(w.router(), programOf("bbr", planned4))
	choose := &net.ListenConfig{Control: func(_, _ string, c syscall.RawConn) (err error) {
		ctl := c.Control(func(fd uintptr) {
			err = unix.SetsockoptString(int(fd), unix.IPPROTO_TCP, unix.TCP_CONGESTION, "reno")
		})
		if err == nil {
			err = ctl
		}
		return err
	}}
	c := w.connect(planned4, choose)
	if got := w.congOf(c.server); got != "bbr" {
		t.Errorf("accepted runs %s; docs/tiers.md says that the route decides", got)
	}
	raw, err := c.server.(*net.TCPConn).SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	if err := choose.Control("", "", raw); err != nil || w.congOf(c.server) != "reno" {
		t.Errorf("set on the connection: %v, runs %s", err, w.congOf(c.server))
	}
}
