package netns

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/congctl/congctl/internal/kernel/cgroup"
	"github.com/congctl/congctl/internal/kernel/nsthread"
)

func needRoot(t *testing.T) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("needs root: makes network namespaces and cgroups; minimum kernel 5.14")
	}
}

func build(t *testing.T, s Spec) *Rig {
	t.Helper()
	r, err := Build(s)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	})
	return r
}

// leftovers lists what carries the tag in the places of names.
func leftovers(t *testing.T, tag string) (names []string) {
	t.Helper()
	root, err := cgroup.Root()
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{Dir, root} {
		found, _ := filepath.Glob(filepath.Join(dir, nameHead+tag+"-*"))
		names = append(names, found...)
	}
	return names
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

func TestSysctlOnlyInside(t *testing.T) {
	needRoot(t)
	own, err := Current()
	if err != nil {
		t.Fatal(err)
	}
	defer own.Close()
	if err := own.SetSysctl("net.ipv4.tcp_no_metrics_save", "1"); err == nil {
		t.Fatal("wrote to the host's own namespace")
	}
	ns, err := Anonymous()
	if err != nil {
		t.Fatal(err)
	}
	defer ns.Close()
	if err := ns.SetSysctl("kernel.hostname", "x"); err == nil {
		t.Fatal("wrote a sysctl that is not the namespace's")
	}
	before, _ := own.Sysctl("net.ipv4.tcp_fin_timeout")
	if err := ns.SetSysctl("net.ipv4.tcp_fin_timeout", "17"); err != nil {
		t.Fatal(err)
	}
	inside, _ := ns.Sysctl("net.ipv4.tcp_fin_timeout")
	after, _ := own.Sysctl("net.ipv4.tcp_fin_timeout")
	if inside != "17" || before != after {
		t.Errorf("inside %s, host %s -> %s", inside, before, after)
	}
}

// Who may default to what: the kernel's rule, on this kernel's lists.
func TestDefaultCong(t *testing.T) {
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
	available, _ := own.Sysctl("net.ipv4.tcp_available_congestion_control")
	allowed, _ := own.Sysctl("net.ipv4.tcp_allowed_congestion_control")
	for _, name := range strings.Fields(available) {
		err := ns.SetDefaultCong(name)
		restricted := !strings.Contains(" "+allowed+" ", " "+name+" ")
		if errors.Is(err, ErrRestricted) != restricted || !restricted && err != nil {
			t.Errorf("%s: %v; allowed are %s", name, err, allowed)
		}
	}
	if err := ns.SetDefaultCong("nosuch"); err == nil || errors.Is(err, ErrRestricted) {
		t.Errorf("unknown congestion control: %v", err)
	}
}

// transfer sends n bytes from the edge to a client address, and gives the
// congestion control and the peer of the edge's socket.
func transfer(t *testing.T, r *Rig, c Network, local netip.Addr, n int64) (cong string, peer netip.AddrPort) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	l, err := r.Edge.Listen(ctx, nil, netip.AddrPortFrom(c.Server, 0))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	served := make(chan error, 1)
	go func() {
		conn, err := l.Accept()
		if err != nil {
			served <- err
			return
		}
		defer conn.Close()
		peer = conn.RemoteAddr().(*net.TCPAddr).AddrPort()
		if cong, err = congOf(conn); err == nil {
			_, err = io.CopyN(conn, zeros{}, n)
		}
		served <- err
	}()
	conn, err := c.Dial(ctx, local, l.Addr().(*net.TCPAddr).AddrPort())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	got, err := io.Copy(io.Discard, conn)
	if err := errors.Join(err, <-served); err != nil || got != n {
		t.Fatalf("%d of %d bytes, %v", got, n, err)
	}
	return cong, peer
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

func TestRigCarriesTraffic(t *testing.T) {
	needRoot(t)
	slow := Shape{RateBytesPerS: 250_000}
	r := build(t, Spec{Tag: "rigtest", EdgeCong: "cubic", Clients: []Client{
		{Prefix: ClientNet4(0)},
		{Prefix: ClientNet6(1), Hosts: 2},
		{Prefix: ClientNet4(2), Down: slow, Up: slow},
	}})
	for _, c := range r.Clients {
		last := c.Addrs[len(c.Addrs)-1]
		cong, peer := transfer(t, r, c, last, 100_000)
		if cong != "cubic" || peer.Addr() != last {
			t.Errorf("%s: %s from %s, by %s", c.Prefix, cong, peer, r.EdgeCongBy)
		}
	}
	for link, want := range map[string]string{"c0": "", "c2": "tbf"} {
		var out []byte
		err := r.Edge.Do(func() (err error) {
			out, err = exec.Command("tc", "qdisc", "show", "dev", link).Output()
			return err
		})
		if err != nil || strings.Contains(string(out), "tbf") != (want == "tbf") || want != "" && !strings.Contains(string(out), "rate 2Mbit") {
			t.Errorf("%s: %q, %v", link, out, err)
		}
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	if left := leftovers(t, "rigtest"); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

func TestNetem(t *testing.T) {
	needRoot(t)
	has, err := HasNetem()
	if err != nil {
		t.Fatal(err)
	}
	spec := Spec{Clients: []Client{{Prefix: ClientNet4(0), Down: Shape{DelayUs: 20_000, RateBytesPerS: 1_000_000}}}}
	if !has {
		if _, err := Build(spec); !errors.Is(err, ErrNoNetem) {
			t.Errorf("got %v, want ErrNoNetem", err)
		}
		t.Skip("this kernel has no netem; minimum kernel 2.6.7 with CONFIG_NET_SCH_NETEM")
	}
	r := build(t, spec)
	transfer(t, r, r.Clients[0], r.Clients[0].Addrs[0], 50_000)
}

func TestRigRollsBack(t *testing.T) {
	needRoot(t)
	_, err := Build(Spec{Tag: "rollback", Clients: []Client{{Prefix: ClientNet4(0)}, {Prefix: netip.MustParsePrefix("198.18.0.0/20")}}})
	if err == nil {
		t.Fatal("a /20 was accepted")
	}
	if left := leftovers(t, "rollback"); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

func TestProcessInNamespaceAndCgroup(t *testing.T) {
	needRoot(t)
	r := build(t, Spec{Tag: "proctest"})
	cmd := exec.Command("sleep", "60")
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := r.Start(r.Edge, cmd); err != nil {
		t.Fatal(err)
	}
	pid := cmd.Process.Pid
	var want string
	if err := r.Edge.Do(func() (err error) { want, err = os.Readlink(nsthread.Own); return err }); err != nil {
		t.Fatal(err)
	}
	if got, _ := os.Readlink(fmt.Sprintf("/proc/%d/ns/net", pid)); got != want {
		t.Errorf("process is in %s, want %s", got, want)
	}
	if pids, err := r.Cgroup.Procs(); err != nil || len(pids) != 1 || pids[0] != pid {
		t.Errorf("cgroup has %v, want %d: %v", pids, pid, err)
	}
	if err := r.Close(); err != nil {
		t.Error(err)
	}
	if cmd.ProcessState == nil {
		t.Error("process not reaped")
	}
	if left := leftovers(t, "proctest"); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

// This process moves in and out: Close puts back what it did not start.
func TestCgroupGivesBackItsGuests(t *testing.T) {
	needRoot(t)
	cg, err := NewCgroup("", nameOf("guest", "x"))
	if err != nil {
		t.Fatal(err)
	}
	defer cg.Close()
	if err := cg.Add(os.Getpid()); err != nil {
		t.Fatal(err)
	}
	if err := cg.Close(); err != nil {
		t.Fatal(err)
	}
	if left := leftovers(t, "guest"); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

// TestMain lets the tests below run this binary as a process of its own that
// builds a rig, says so, and waits to be ended.
func TestMain(m *testing.M) {
	tag := os.Getenv("CONGCTL_RIG_TAG")
	if tag == "" {
		os.Exit(m.Run())
	}
	r, err := Build(Spec{Tag: tag, Clients: []Client{{Prefix: ClientNet4(0)}}})
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	CloseOnSignal(r)
	fmt.Println("built")
	time.Sleep(time.Minute)
}

func endOwnRig(t *testing.T, tag string, sig syscall.Signal) {
	t.Helper()
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = append(os.Environ(), "CONGCTL_RIG_TAG="+tag)
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	if line, _ := bufio.NewReader(out).ReadString('\n'); line != "built\n" {
		t.Fatalf("child says %q", line)
	}
	if len(leftovers(t, tag)) != 3 { // edge, c0, cgroup
		t.Errorf("built %v", leftovers(t, tag))
	}
	if err := cmd.Process.Signal(sig); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	if ws := cmd.ProcessState.Sys().(syscall.WaitStatus); ws.Signal() != sig {
		t.Errorf("ended by %v, want %v", ws, sig)
	}
}

func TestInterruptLeavesNothing(t *testing.T) {
	needRoot(t)
	endOwnRig(t, "sigtest", syscall.SIGINT)
	if left := leftovers(t, "sigtest"); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

func TestSweepRemovesTheDead(t *testing.T) {
	needRoot(t)
	endOwnRig(t, "sweeptest", syscall.SIGKILL)
	live := build(t, Spec{Tag: "sweeptest"})
	removed, err := Sweep("sweeptest")
	if err != nil || len(removed) != 3 {
		t.Errorf("removed %v, %v", removed, err)
	}
	if left := leftovers(t, "sweeptest"); len(left) != 2 { // of the living one
		t.Errorf("left %v", left)
	}
	if _, err := os.Stat(live.Edge.Path()); err != nil {
		t.Errorf("the living rig was touched: %v", err)
	}
}
