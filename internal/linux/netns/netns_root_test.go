package netns

import (
	"context"
	"errors"
	"io"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/congctl/congctl/internal/linux/nsthread"
)

func needRoot(t *testing.T) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("needs root: makes network namespaces and cgroups; minimum kernel 5.14")
	}
}

func TestDoRestoresTheThread(t *testing.T) {
	needRoot(t)
	ns, err := Anonymous()
	if err != nil {
		t.Fatal(err)
	}
	defer ns.Close()
	own, err := Current()
	if err != nil {
		t.Fatal(err)
	}
	defer own.Close()
	here := func() string {
		s, _ := os.Readlink(nsthread.Own)
		return s
	}
	home, inside := here(), ""
	if err := ns.Do(func() error { inside = here(); return nil }); err != nil || inside == home {
		t.Fatalf("inside %s, home %s, %v", inside, home, err)
	}
	if err := ns.Do(func() error { runtime.Goexit(); return nil }); !errors.Is(err, nsthread.ErrLeft) {
		t.Errorf("Goexit: %v", err)
	}
	func() {
		defer func() {
			if recover() != "x" {
				t.Error("panic did not come through")
			}
		}()
		_ = ns.Do(func() error { panic("x") })
	}()
	for range 200 {
		done := make(chan string)
		go func() { done <- here() }()
		if got := <-done; got != home {
			t.Fatalf("a goroutine runs in %s", got)
		}
	}
	a, errA := ns.ID()
	b, errB := own.ID()
	if a == b || errA != nil || errB != nil {
		t.Errorf("cookies %d, %d: %v, %v", a, b, errA, errB)
	}
}

// TestTrafficBetweenNamespaces sends over a pair of links with a congestion control on the
// route; the kernel's own word says that it is in force.
func TestTrafficBetweenNamespaces(t *testing.T) {
	needRoot(t)
	a, b := namespace(t), namespace(t)
	server := netip.MustParsePrefix("198.18.0.1/24")
	check(t, Veth(a, "x", b, "y"))
	for _, end := range []struct {
		ns   *NS
		link string
		addr netip.Prefix
	}{{a, "x", server}, {b, "y", netip.MustParsePrefix("2001:db8:0:100::1/56")}, {b, "y", netip.MustParsePrefix("198.18.0.2/24")}} {
		check(t, errors.Join(end.ns.AddAddr(end.link, end.addr), end.ns.Up(end.link)))
	}
	check(t, a.AddRoute("x", Route{To: netip.MustParsePrefix("198.18.0.2/32"), Src: server.Addr(), Cong: "cubic"}))
	if cong, n := transfer(t, a, b, server.Addr(), 100_000); cong != "cubic" || n != 100_000 {
		t.Errorf("%d bytes on %s", n, cong)
	}
	if out := inside(t, b, "ip", "-6", "addr", "show", "dev", "y", "scope", "global"); !strings.Contains(out, "2001:db8:0:100::1/56") || strings.Contains(out, "tentative") {
		t.Errorf("addresses: %s", out)
	}
}

func namespace(t *testing.T) *NS {
	t.Helper()
	ns, err := Anonymous()
	check(t, err)
	t.Cleanup(func() { ns.Close() })
	return ns
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// inside runs a command in a namespace and returns what it prints.
func inside(t *testing.T, ns *NS, name string, args ...string) string {
	t.Helper()
	var out []byte
	check(t, ns.Do(func() (err error) {
		out, err = exec.CommandContext(t.Context(), name, args...).CombinedOutput()
		return err
	}))
	return string(out)
}

// transfer sends n bytes from a to b, and returns the congestion control of the sender's
// socket and how many bytes came.
func transfer(t *testing.T, a, b *NS, server netip.Addr, n int64) (cong string, got int64) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	l, err := a.Listen(ctx, nil, netip.AddrPortFrom(server, 0))
	check(t, err)
	defer l.Close()
	served := make(chan error, 1)
	go func() {
		conn, err := l.Accept()
		if err != nil {
			served <- err
			return
		}
		defer conn.Close()
		if cong, err = congOf(conn); err == nil {
			_, err = io.CopyN(conn, zeros{}, n)
		}
		served <- err
	}()
	conn, err := b.Dial(ctx, netip.Addr{}, l.Addr().(*net.TCPAddr).AddrPort())
	check(t, err)
	defer conn.Close()
	got, err = io.Copy(io.Discard, conn)
	check(t, errors.Join(err, <-served))
	return cong, got
}

type zeros struct{}

func (zeros) Read(b []byte) (int, error) { return len(b), nil }

func congOf(c net.Conn) (name string, err error) {
	raw, err := c.(*net.TCPConn).SyscallConn()
	if err != nil {
		return "", err
	}
	ctlErr := raw.Control(func(fd uintptr) {
		name, err = unix.GetsockoptString(int(fd), unix.IPPROTO_TCP, unix.TCP_CONGESTION)
	})
	return name, errors.Join(ctlErr, err)
}
