package enforce

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/congctl/congctl/internal/linux/cgroup"
	"github.com/congctl/congctl/internal/loop/plan"
	"github.com/congctl/congctl/internal/tcp/abi"
	"github.com/congctl/congctl/internal/tcp/inetdiag"
	"github.com/congctl/congctl/internal/tcp/record"
)

// As root the tests run in a child of this process that has a network namespace
// and a cgroup of its own: what they attach sees only their connections.
const cgroupEnv = "CONGCTL_TEST_CGROUP"

func TestMain(m *testing.M) {
	if os.Geteuid() != 0 || os.Getenv(cgroupEnv) != "" {
		os.Exit(m.Run())
	}
	os.Exit(inCgroup())
}

func inCgroup() int {
	root, err := cgroup.Root()
	if err != nil {
		fmt.Println("SKIP root tests:", err)
		return 0
	}
	dir, err := os.MkdirTemp(root, fmt.Sprintf("congctl-test-%d-", os.Getpid()))
	if err != nil {
		fmt.Println("make cgroup:", err)
		return 1
	}
	defer os.Remove(dir)
	fd, err := unix.Open(dir, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		fmt.Println("open cgroup:", err)
		return 1
	}
	defer unix.Close(fd)
	cmd := exec.Command("/proc/self/exe", os.Args[1:]...)
	cmd.Env = append(os.Environ(), cgroupEnv+"="+dir)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET, UseCgroupFD: true, CgroupFD: fd, Pdeathsig: syscall.SIGKILL}
	if err := cmd.Run(); err != nil {
		fmt.Println("child:", err)
		return 1
	}
	return 0
}

func needRoot(t testing.TB) {
	t.Helper()
	if os.Getenv(cgroupEnv) == "" {
		t.Skip("needs root: loads eBPF and makes a network namespace; minimum kernel 5.15")
	}
}

// The edge serves on these; clients live in the /24 and /56 networks below. All
// are on the loopback of the test's own namespace, with an MTU and a tbf that make
// a 2 MB response last several round trips.
var (
	edge4     = netip.MustParseAddr("192.0.2.1")
	edge6     = netip.MustParseAddr("2001:db8::1")
	clientT   = netip.MustParseAddr("203.0.113.10") // treatment
	clientC   = netip.MustParseAddr("198.51.100.10")
	clientOff = netip.MustParseAddr("192.0.2.77") // in no plan
	clientT6  = netip.MustParseAddr("2001:db8:1:aa42::7")
)

const tbfRate = 12_500_000 // bytes/s: 100 Mbit/s

func loopback(t testing.TB) {
	t.Helper()
	lo, err := netlink.LinkByName("lo")
	check(t, err)
	check(t, netlink.LinkSetMTU(lo, 1500))
	check(t, netlink.LinkSetUp(lo))
	for _, a := range []string{"192.0.2.1/32", "203.0.113.10/32", "198.51.100.10/32", "192.0.2.77/32", "2001:db8::1/128", "2001:db8:1:aa42::7/128"} {
		n, err := netlink.ParseAddr(a)
		check(t, err)
		n.Flags = unix.IFA_F_NODAD
		if err := netlink.AddrReplace(lo, n); err != nil {
			t.Fatalf("add %s: %v", a, err)
		}
	}
	check(t, netlink.QdiscReplace(&netlink.Tbf{
		QdiscAttrs: netlink.QdiscAttrs{LinkIndex: lo.Attrs().Index, Handle: netlink.MakeHandle(1, 0), Parent: netlink.HANDLE_ROOT},
		Rate:       tbfRate,
		Buffer:     netlink.Xmittime(tbfRate, 5_000), // a few kB of burst, in ticks
		Limit:      400_000,
	}))
	check(t, os.WriteFile("/proc/sys/net/ipv4/tcp_no_metrics_save", []byte("1"), 0))
}

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// ownNetns is the cookie of the test's namespace.
func ownNetns(t testing.TB) record.NetnsID {
	t.Helper()
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM, 0)
	check(t, err)
	defer unix.Close(fd)
	id, err := unix.GetsockoptUint64(fd, unix.SOL_SOCKET, unix.SO_NETNS_COOKIE)
	check(t, err)
	return record.NetnsID(id)
}

func bootNs() uint64 {
	var ts unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_BOOTTIME, &ts)
	return uint64(ts.Nano())
}

// rig is an enforcer on the test's cgroup that follows the test's namespace.
type rig struct {
	*Enforcer
	t      testing.TB
	ns     record.NetnsID
	closes chan abi.Close
	stop   chan struct{}
	done   chan struct{}
}

func options() Options {
	return Options{Cgroup: os.Getenv(cgroupEnv), MinBytes: 100_000, MaxPlanned: 1024, RingBytes: 4 << 20}
}

func newRig(t testing.TB) *rig {
	t.Helper()
	needRoot(t)
	loopback(t)
	e, err := Open(options())
	check(t, err)
	r := &rig{Enforcer: e, t: t, ns: ownNetns(t), closes: make(chan abi.Close, 100_000), stop: make(chan struct{}), done: make(chan struct{})}
	_, err = e.SetNetns(map[record.NetnsID]inetdiag.Cong{r.ns: inetdiag.CongOf("cubic")})
	check(t, err)
	go func() {
		defer close(r.done)
		if bad, err := e.ReadCloses(asking(r.stop), func(c *abi.Close) { r.closes <- *c }); bad > 0 || err != nil {
			t.Errorf("read closes: %d malformed, %v", bad, err)
		}
	}()
	t.Cleanup(func() { r.shut() })
	return r
}

// drainEvery is how often the rig asks for close records.
const drainEvery = 100 * time.Millisecond

// asking asks for close records until stop is closed.
func asking(stop <-chan struct{}) <-chan chan<- struct{} {
	asks := make(chan chan<- struct{})
	go func() {
		defer close(asks)
		for tick := time.Tick(drainEvery); ; <-tick {
			done := make(chan struct{})
			select {
			case asks <- done:
				<-done
			case <-stop:
				return
			}
		}
	}()
	return asks
}

func (r *rig) shut() {
	select {
	case <-r.stop:
		return
	default:
	}
	close(r.stop)
	<-r.done
	if err := r.Enforcer.Close(); err != nil {
		r.t.Errorf("close enforcer: %v", err)
	}
}

// policyFor puts both blocks in one arm for an hour.
func policyFor(arm record.Arm) abi.Policy {
	now, hour := bootNs(), uint64(time.Hour)
	return abi.Policy{SwitchNs: now + hour, UntilNs: now + 2*hour, ExpiresNs: now + hour, Plan: 7, ArmNow: arm, ArmNext: arm, Cong: inetdiag.CongOf("bbr")}
}

func (r *rig) set(arms map[netip.Addr]record.Arm) {
	r.t.Helper()
	prog := plan.Program{Plan: 7, MinBytes: 100_000}
	for a, arm := range arms {
		p, _ := record.PrefixOf(a)
		prog.Entries = append(prog.Entries, plan.ProgramEntry{Prefix: p, Policy: policyFor(arm)})
	}
	n, err := r.Set(prog)
	if err != nil || n != len(arms) {
		r.t.Fatalf("set: %d, %v", n, err)
	}
}

func (r *rig) standard() {
	r.t.Helper()
	r.set(map[netip.Addr]record.Arm{clientT: record.ArmTreatment, clientC: record.ArmControl, clientT6: record.ArmTreatment})
}

// patience bounds every wait; none is an expectation of how quick something is.
const patience = 20 * time.Second

// next waits for one close record.
func (r *rig) next() abi.Close {
	r.t.Helper()
	select {
	case c := <-r.closes:
		return c
	case <-time.After(patience):
		r.t.Fatalf("no close record within %s", patience)
	}
	panic("unreachable")
}

// outcome is how one connection ended, read from the server's own socket.
type outcome struct {
	cong   string
	cookie uint64
}

// serve accepts one connection, answers each request (a byte) with the next of
// sizes, and reports what its socket ran when the last answer had been received.
func serve(t testing.TB, ln net.Listener, sizes []int) <-chan outcome {
	out := make(chan outcome, 1)
	go func() {
		c, err := ln.Accept()
		if err != nil {
			t.Errorf("accept: %v", err)
			close(out)
			return
		}
		defer c.Close()
		body, one := make([]byte, 1<<20), make([]byte, 1)
		for _, n := range sizes {
			if _, err := c.Read(one); err != nil {
				t.Errorf("read request: %v", err)
				return
			}
			for n > 0 {
				w, err := c.Write(body[:min(n, len(body))])
				if err != nil {
					t.Errorf("write: %v", err)
					return
				}
				n -= w
			}
		}
		_, _ = c.Read(one) // the client closes when it has all
		out <- look(t, c.(*net.TCPConn))
	}()
	return out
}

func look(t testing.TB, c *net.TCPConn) (o outcome) {
	t.Helper()
	raw, err := c.SyscallConn()
	check(t, err)
	check(t, raw.Control(func(fd uintptr) {
		o.cong, _ = unix.GetsockoptString(int(fd), unix.IPPROTO_TCP, unix.TCP_CONGESTION)
		o.cong = strings.TrimRight(o.cong, "\x00")
		o.cookie, _ = unix.GetsockoptUint64(int(fd), unix.SOL_SOCKET, unix.SO_COOKIE)
	}))
	return o
}

// fetch makes one connection from a client address and asks for each size in turn.
func fetch(t testing.TB, from netip.Addr, network, to string, ln net.Listener, sizes ...int) outcome {
	t.Helper()
	out := serve(t, ln, sizes)
	d := net.Dialer{LocalAddr: &net.TCPAddr{IP: from.AsSlice()}, Timeout: patience}
	c, err := d.Dial(network, to)
	check(t, err)
	defer c.Close()
	buf := make([]byte, 64<<10)
	for _, n := range sizes {
		_, err := c.Write([]byte{1})
		check(t, err)
		check(t, c.SetReadDeadline(time.Now().Add(patience)))
		for n > 0 {
			got, err := c.Read(buf[:min(n, len(buf))])
			check(t, err)
			n -= got
		}
	}
	check(t, c.(*net.TCPConn).CloseWrite())
	return <-out
}

// listen runs cubic. A kernel whose own default is another one may not let a new
// namespace default to it (tcp_allowed_congestion_control), so the listener sets
// it and SetNetns is told that it is the default.
func listen(t testing.TB, network, addr string) net.Listener {
	t.Helper()
	lc := net.ListenConfig{Control: func(_, _ string, c syscall.RawConn) (err error) {
		return errors.Join(c.Control(func(fd uintptr) {
			err = unix.SetsockoptString(int(fd), unix.IPPROTO_TCP, unix.TCP_CONGESTION, "cubic")
		}), err)
	}}
	ln, err := lc.Listen(t.Context(), network, addr)
	check(t, err)
	t.Cleanup(func() { ln.Close() })
	return ln
}

func (r *rig) fetch4(from netip.Addr, sizes ...int) outcome {
	r.t.Helper()
	ln := listen(r.t, "tcp4", net.JoinHostPort(edge4.String(), "0"))
	defer ln.Close()
	return fetch(r.t, from, "tcp4", ln.Addr().String(), ln, sizes...)
}
