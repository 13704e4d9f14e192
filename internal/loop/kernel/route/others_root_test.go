package route

import (
	"errors"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// wayTo is what the kernel says about its way to a client.
func (w *edgeWorld) wayTo(a netip.Addr) string {
	w.t.Helper()
	return w.ipEdge("route get %s", a)
}

func TestEqualRouteOfAnother(t *testing.T) {
	for _, metric := range []string{"", " metric 20"} { // "" is 0 in IPv4, the best there is
		w := newEdge(t).gateways()
		w.ipEdge("route add 203.0.113.0/24 via 10.9.1.254 src 192.0.2.1 proto bird%s", metric)
		w.ipEdge("-6 route add 2001:db8:0:ab00::/56 via fd09:1::fe src 2001:db8:ffff::1 proto bird%s", metric)
		before := w.ipEdge("route show proto bird") + w.ipEdge("-6 route show proto bird")
		r := w.router()
		w.set(r, programOf("bbr", planned4, planned6))
		if got := w.ipEdge("route show proto bird") + w.ipEdge("-6 route show proto bird"); got != before {
			t.Errorf("the other's routes were %s, are %s", before, got)
		}
		if rep := r.Report(); rep.Routes != 4 {
			t.Errorf("%+v\n%s", rep, w.ours())
		}
		w.wantCong(planned4, "bbr")
		w.wantCong(planned6, "bbr")
		for _, a := range []netip.Addr{planned4.Netip().Addr().Next(), client(planned4), client(planned6)} {
			if way := w.wayTo(a); !strings.Contains(way, "dev e1") {
				t.Errorf("way to %s: %s", a, way)
			}
		}
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
		w.wantCong(planned4, "reno")
	}
}

// A routing daemon brings a route to the very network of a copy: its packets take
// it before we know, and the next Set treats them there.
func TestLaterRouteWinsAtOnce(t *testing.T) {
	w := newEdge(t).gateways()
	r := w.router()
	prog := programOf("bbr", planned4, planned6)
	w.set(r, prog)
	w.ipEdge("route add 203.0.113.0/24 via 10.9.1.254 src 192.0.2.1 proto bgp metric 20")
	w.ipEdge("-6 route add 2001:db8:0:ab00::/56 via fd09:1::fe src 2001:db8:ffff::1 proto bgp")
	for _, a := range []netip.Addr{client(planned4), client(planned6)} {
		if way := w.wayTo(a); !strings.Contains(way, "dev e1") || strings.Contains(way, "bbr") {
			t.Errorf("before Set, way to %s: %s", a, way)
		}
	}
	w.set(r, prog)
	for _, a := range []netip.Addr{client(planned4), client(planned6)} {
		if way := w.wayTo(a); !strings.Contains(way, "dev e1") || !strings.Contains(way, "bbr") {
			t.Errorf("after Set, way to %s: %s", a, way)
		}
	}
	if rep := r.Report(); rep.Drift != 2 || rep.Lost != 0 || rep.Routes != 4 {
		t.Errorf("%+v", rep)
	}
}

func TestMoreSpecificRouteWins(t *testing.T) {
	w := newEdge(t).gateways()
	w.ipEdge("route add %s/32 via 10.9.1.254 src 192.0.2.1 proto static", client(planned4))
	r := w.router()
	w.set(r, programOf("bbr", planned4))
	w.wantCong(planned4, "reno")
	if skips := r.Report().Skipped; len(skips) != 1 || !skips[0].Partly || !strings.Contains(skips[0].Reason, client(planned4).String()) {
		t.Errorf("%+v", skips)
	}
}

func TestPolicyRuleComesFirst(t *testing.T) {
	w := newEdge(t).gateways()
	w.ipEdge("route add default via 10.9.1.254 src 192.0.2.1 table 100")
	w.ipEdge("rule add to 203.0.113.0/24 lookup 100")
	r := w.router()
	n, err := r.Set(programOf("bbr", planned4, other4))
	if skips := r.Report().Skipped; n != 1 || err != nil || len(skips) != 1 || skips[0].Prefix != planned4 {
		t.Errorf("%d in force, %v, %+v", n, err, skips)
	}
	w.wantCong(planned4, "reno")
	w.wantCong(other4, "bbr")
}

// What the kernel refuses is refused whole, and what was in force stays.
func TestRefusalKeepsTheStateBefore(t *testing.T) {
	w := newEdge(t).gateways()
	r := w.router()
	w.set(r, programOf("bbr", planned4, planned6))
	before := w.ours()
	prog := programOf("bbr", other4, planned4, other6)
	prog.Entries[2].Policy.Cong = [16]byte{'n', 'o', 's', 'u', 'c', 'h'}
	if n, err := r.Set(prog); n != 2 || err == nil || !strings.Contains(err.Error(), other6.String()) {
		t.Errorf("%d in force, %v", n, err)
	}
	if got := w.ours(); got != before {
		t.Errorf("was\n%s\nis\n%s", before, got)
	}
	w.wantCong(planned4, "bbr")
	w.wantCong(other4, "reno")
}

// Weights mean something among several hops only: with one left there is none.
func TestOneHopOfAWeightedRouteLeft(t *testing.T) {
	w := newEdge(t)
	w.ipEdge("route add default proto bgp nexthop via 10.9.0.254 dev e0 weight 5 nexthop via 10.9.1.254 dev e1")
	w.ipEdge("link set e1 down")
	w.set(w.router(), programOf("bbr", planned4))
	w.wantCong(planned4, "bbr")
}

func TestLinkGoes(t *testing.T) {
	w := newEdge(t).gateways()
	w.ipEdge("route add default via 10.9.1.254 src 192.0.2.1 metric 30 proto bgp")
	r := w.router()
	prog := programOf("bbr", planned4)
	w.set(r, prog)
	w.ipEdge("link set e0 down") // the kernel drops its routes and ours
	if way := w.wayTo(client(planned4)); !strings.Contains(way, "dev e1") {
		t.Errorf("before Set: %s", way)
	}
	w.set(r, prog)
	if way := w.wayTo(client(planned4)); !strings.Contains(way, "dev e1") || !strings.Contains(way, "bbr") {
		t.Errorf("after Set: %s", way)
	}
	if rep := r.Report(); rep.Lost != 1 || rep.Drift != 1 {
		t.Errorf("%+v", rep)
	}
}

// A namespace may not default to a restricted congestion control, but a route may
// name it: CAP_NET_ADMIN of the namespace is enough. This is what docs/tiers.md says.
func TestRestrictedCongestionControl(t *testing.T) {
	w := newEdge(t).gateways()
	listed := func(key string) bool {
		b, err := os.ReadFile(sysctlPath(key))
		return err == nil && slices.Contains(strings.Fields(string(b)), "cubic")
	}
	if listed("net.ipv4.tcp_allowed_congestion_control") || !listed("net.ipv4.tcp_available_congestion_control") {
		t.Skip("needs a host where cubic is available and not allowed; minimum kernel 4.15")
	}
	err := w.edge.Do(func() error { return os.WriteFile(sysctlPath("net.ipv4.tcp_congestion_control"), []byte("cubic"), 0) })
	if !errors.Is(err, unix.EPERM) {
		t.Fatalf("cubic as the namespace's default: %v", err)
	}
	w.set(w.router(), programOf("cubic", planned4, planned6))
	w.wantCong(planned4, "cubic")
	w.wantCong(planned6, "cubic")
}

// TestMain lets this binary be a process of its own that treats planned4 in the
// namespace that it was started in, says how that went, and waits to be killed.
func TestMain(m *testing.M) {
	if os.Getenv("CONGCTL_ROUTE_CHILD") == "" {
		os.Exit(m.Run())
	}
	r, err := open(func() int64 { return 100e9 })
	n := 0
	if err == nil {
		n, err = r.Set(programOf("bbr", planned4))
	}
	fmt.Println(n, err)
	time.Sleep(time.Minute)
}

func (w *edgeWorld) child(cred *syscall.Credential) (*exec.Cmd, string) {
	w.t.Helper()
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = append(os.Environ(), "CONGCTL_ROUTE_CHILD=1")
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Credential: cred}
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = w.edge.Start(cmd)
	}
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	line := make([]byte, 1000)
	n, _ := out.Read(line)
	return cmd, strings.TrimSpace(string(line[:n]))
}

func TestCrashLeavesRoutesForTheNext(t *testing.T) {
	w := newEdge(t).gateways()
	w.ipEdge("route add 198.18.0.0/24 via 10.9.0.254 proto 156 metric 7") // somebody else's
	cmd, said := w.child(nil)
	if said != "1 <nil>" {
		t.Fatalf("child says %q", said)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	w.wantCong(planned4, "bbr") // the routes outlive it: docs/tiers.md says so
	n := 0
	err := w.edge.Do(func() (err error) { n, err = Clear(); return err })
	if n != 1 || err != nil || !strings.Contains(w.ours(), "198.18.0.0/24") || strings.Contains(w.ours(), "203.0.113") {
		t.Errorf("%d removed, %v\n%s", n, err, w.ours())
	}
	w.wantCong(planned4, "reno")
}

func TestWithoutPrivilege(t *testing.T) {
	w := newEdge(t).gateways()
	_, said := w.child(&syscall.Credential{Uid: 65534, Gid: 65534, NoSetGroups: true})
	if !strings.Contains(said, unix.EPERM.Error()) || !strings.Contains(said, "CAP_NET_ADMIN") {
		t.Errorf("child says %q", said)
	}
	if got := w.ours(); got != "" {
		t.Errorf("left %s", got)
	}
}

// Outgoing connections take the route's congestion control as well.
func TestOutgoingConnectionsToo(t *testing.T) {
	w := newEdge(t).gateways()
	w.set(w.router(), programOf("bbr", planned4))
	l, err := w.far.Listen(t.Context(), nil, netip.AddrPortFrom(client(planned4), 0))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	c, err := w.edge.Dial(t.Context(), service4, netip.MustParseAddrPort(l.Addr().String()))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if got := w.congOf(c); got != "bbr" {
		t.Errorf("outgoing runs %s; docs/tiers.md says bbr", got)
	}
}
