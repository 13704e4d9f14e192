package route

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/congctl/congctl/internal/linux/netns"
	"github.com/congctl/congctl/internal/loop/plan"
	"github.com/congctl/congctl/internal/tcp/abi"
	"github.com/congctl/congctl/internal/tcp/inetdiag"
	"github.com/congctl/congctl/internal/tcp/record"
)

// edgeWorld is an edge behind two gateways, which are two links of one far
// namespace that owns an address of each client prefix:
//
//	edge e0 ---- u0 far     10.9.0.1 - 10.9.0.254, fd09:0::1 - fd09:0::fe
//	edge e1 ---- u1 far     10.9.1.1 - 10.9.1.254, fd09:1::1 - fd09:1::fe
//
// New namespaces default to reno here, which every kernel allows; the treatment is bbr.
type edgeWorld struct {
	t         testing.TB
	edge, far *netns.NS
}

var (
	service4 = netip.MustParseAddr("192.0.2.1")
	service6 = netip.MustParseAddr("2001:db8:ffff::1")
	planned4 = mustPrefix("203.0.113.0/24")
	other4   = mustPrefix("198.51.100.0/24")
	planned6 = mustPrefix("2001:db8:0:ab00::/56")
	other6   = mustPrefix("2001:db8:0:ac00::/56")
)

func mustPrefix(s string) record.Prefix {
	p, err := record.ParsePrefix(s)
	if err != nil {
		panic(err)
	}
	return p
}

// client is the far side's address in p: not in its first half, to meet both.
func client(p record.Prefix) netip.Addr {
	_, hi := halves(p.Netip())
	return probe(hi, 0)
}

func newEdge(t testing.TB) *edgeWorld {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("needs root: makes network namespaces and routes in them; minimum kernel 5.3")
	}
	w := &edgeWorld{t: t}
	for _, ns := range []**netns.NS{&w.edge, &w.far} {
		made, err := netns.Anonymous()
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { made.Close() })
		*ns = made
		w.sysctl(made, "net.ipv6.conf.all.accept_dad", "0")
		w.sysctl(made, "net.ipv6.conf.default.accept_dad", "0")
		w.sysctl(made, "net.ipv4.conf.all.rp_filter", "0")
	}
	w.sysctl(w.edge, "net.ipv4.tcp_congestion_control", "reno")
	for i := range 2 {
		if err := netns.Veth(w.edge, fmt.Sprintf("e%d", i), w.far, fmt.Sprintf("u%d", i)); err != nil {
			t.Fatal(err)
		}
		w.ipEdge("addr add 10.9.%d.1/24 dev e%d", i, i)
		w.ipEdge("addr add fd09:%d::1/64 dev e%d nodad", i, i)
		w.ipEdge("link set e%d up", i)
		w.ipFar("addr add 10.9.%d.254/24 dev u%d", i, i)
		w.ipFar("addr add fd09:%d::fe/64 dev u%d nodad", i, i)
		w.ipFar("link set u%d up", i)
	}
	w.ipEdge("link set lo up")
	w.ipFar("link set lo up")
	w.ipEdge("addr add %s/32 dev lo", service4)
	w.ipEdge("addr add %s/128 dev lo nodad", service6)
	for _, p := range []record.Prefix{planned4, other4, planned6, other6} {
		nodad := ""
		if !p.Is4() {
			nodad = " nodad"
		}
		w.ipFar("addr add %s/%d dev lo%s", client(p), client(p).BitLen(), nodad)
	}
	w.ipFar("route add %s via 10.9.0.1", service4)
	w.ipFar("route add %s via fd09:0::1", service6)
	return w
}

// gateways adds the edge's plain default routes.
func (w *edgeWorld) gateways() *edgeWorld {
	w.ipEdge("route add default via 10.9.0.254 src 192.0.2.1 metric 20 mtu 1400 proto bgp")
	w.ipEdge("-6 route add default via fd09:0::fe src 2001:db8:ffff::1 metric 20 proto bgp")
	return w
}

func (w *edgeWorld) sysctl(ns *netns.NS, key, value string) {
	w.t.Helper()
	err := ns.Do(func() error { return os.WriteFile(sysctlPath(key), []byte(value), 0) })
	if err != nil {
		w.t.Fatal(err)
	}
}

func sysctlPath(key string) string { return "/proc/sys/" + strings.ReplaceAll(key, ".", "/") }

func (w *edgeWorld) ipEdge(format string, args ...any) string {
	w.t.Helper()
	return w.ip(w.edge, format, args...)
}

func (w *edgeWorld) ipFar(format string, args ...any) string {
	w.t.Helper()
	return w.ip(w.far, format, args...)
}

func (w *edgeWorld) ip(ns *netns.NS, format string, args ...any) string {
	w.t.Helper()
	line := fmt.Sprintf(format, args...)
	var out []byte
	err := ns.Do(func() (err error) {
		out, err = exec.Command("ip", strings.Fields(line)...).CombinedOutput()
		return err
	})
	if err != nil {
		w.t.Fatalf("ip %s: %v: %s", line, err, out)
	}
	return string(out)
}

// router opens one in the edge; the clock stands at 100 s.
func (w *edgeWorld) router() *Router {
	w.t.Helper()
	var r *Router
	err := w.edge.Do(func() (err error) {
		r, err = open(func() int64 { return 100e9 })
		return err
	})
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() {
		if err := r.Close(); err != nil {
			w.t.Error(err)
		}
	})
	return r
}

// programOf treats prefixes with cong from 0 to 900 s.
func programOf(cong string, prefixes ...record.Prefix) plan.Program {
	prog := plan.Program{Plan: 7}
	for _, p := range prefixes {
		prog.Entries = append(prog.Entries, plan.ProgramEntry{Prefix: p, Policy: abi.Policy{SwitchNs: 1800e9, UntilNs: 3600e9, ExpiresNs: 900e9,
			ArmNow: record.ArmTreatment, ArmNext: record.ArmControl, Cong: inetdiag.CongOf(cong)}})
	}
	return prog
}

// set wants all of prog in force.
func (w *edgeWorld) set(r *Router, prog plan.Program) {
	w.t.Helper()
	if n, err := r.Set(prog); err != nil || n != len(prog.Entries) {
		w.t.Fatalf("%d of %d in force, %v; %+v", n, len(prog.Entries), err, r.Report().Skipped)
	}
}

// ours is what ip shows of us.
func (w *edgeWorld) ours() string {
	w.t.Helper()
	return w.ipEdge("route show proto 156") + w.ipEdge("-6 route show proto 156")
}

// pair is an accepted connection.
type pair struct{ client, server net.Conn }

func (p pair) close() {
	p.client.Close()
	p.server.Close()
}

// connect makes a real connection from p's client; lc may be nil.
func (w *edgeWorld) connect(p record.Prefix, lc *net.ListenConfig) pair {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	service := service4
	if !p.Is4() {
		service = service6
	}
	l, err := w.edge.Listen(ctx, lc, netip.AddrPortFrom(service, 0))
	if err != nil {
		w.t.Fatal(err)
	}
	defer l.Close()
	c, err := w.far.Dial(ctx, client(p), l.Addr().(*net.TCPAddr).AddrPort())
	if err != nil {
		w.t.Fatal(err)
	}
	s, err := l.Accept()
	if err != nil {
		w.t.Fatal(err)
	}
	out := pair{c, s}
	w.t.Cleanup(out.close)
	return out
}

// congOfNew is the congestion control of a new connection from p.
func (w *edgeWorld) congOfNew(p record.Prefix) string {
	w.t.Helper()
	c := w.connect(p, nil)
	defer c.close()
	return w.congOf(c.server)
}

func (w *edgeWorld) congOf(c net.Conn) (name string) {
	w.t.Helper()
	raw, err := c.(*net.TCPConn).SyscallConn()
	if err == nil {
		ctl := raw.Control(func(fd uintptr) {
			name, err = unix.GetsockoptString(int(fd), unix.IPPROTO_TCP, unix.TCP_CONGESTION)
		})
		err = errors.Join(err, ctl)
	}
	if err != nil {
		w.t.Fatal(err)
	}
	return name
}

func (w *edgeWorld) wantCong(p record.Prefix, want string) {
	w.t.Helper()
	if got := w.congOfNew(p); got != want {
		w.t.Errorf("new connection from %s runs %s, want %s\n%s", p, got, want, w.ipEdge("route show"))
	}
}
