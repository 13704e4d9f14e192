package popworld

import (
	"errors"
	"io"
	"math"
	"net"
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/congctl/congctl/internal/linux/cgroup"
	"github.com/congctl/congctl/internal/linux/netns"
	"github.com/congctl/congctl/internal/loop/kernel/bpfobj"
)

// cgroupEnv names the cgroup of the child that a test starts: what is attached there
// sees only their connections.
const cgroupEnv = "CONGCTL_TEST_CGROUP"

// inCgroup runs the calling test again in a cgroup and a network namespace of its own,
// and gives that cgroup there; "" in the parent, where all is done.
func inCgroup(t *testing.T) string {
	t.Helper()
	if at := os.Getenv(cgroupEnv); at != "" || os.Geteuid() != 0 {
		if at == "" {
			t.Skip("needs root: loads eBPF and makes a network namespace; minimum kernel 5.15")
		}
		return at
	}
	root, err := cgroup.Root()
	if err != nil {
		t.Skip("needs cgroup2; minimum kernel 5.15:", err)
	}
	at, err := os.MkdirTemp(root, "congctl-test-")
	if err != nil {
		t.Fatal(err)
	}
	defer os.Remove(at)
	dir, err := os.Open(at)
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	cmd := exec.Command("/proc/self/exe", "-test.run=^"+t.Name()+"$", "-test.v")
	cmd.Env = append(os.Environ(), cgroupEnv+"="+at)
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET, UseCgroupFD: true, CgroupFD: int(dir.Fd()), Pdeathsig: syscall.SIGKILL}
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v:\n%s", err, out)
	}
	return ""
}

// TestRivalLearns: the eBPF program chooses and learns as the rule says, step by step.
func TestRivalLearns(t *testing.T) {
	at := inCgroup(t)
	if at == "" {
		return
	}
	r, l := rivalOnLoopback(t, at, false)
	var want nextHop
	for i := range 200 {
		before := hopOf(t, r)
		download(t, l)
		h := waitForEnd(t, r, before, i >= learnAfter)
		arm, ok := want.Begin(h.LastRandom)
		if ok && h.LastChoice != uint32(arm) {
			t.Fatalf("connection %d: chose %s, want %s: %+v", i, banditArms[h.LastChoice], banditArms[arm], h)
		}
		if ok {
			want.End(int(h.LastArm), h.LastRtt, h.LastRate)
		}
		got := nextHop{Connections: h.Connections, BestRTTUs: h.BestRtt, BestRate: h.BestRate}
		for a, x := range h.Arms {
			got.MaxRate[a], got.Cost[a] = x.MaxRate, x.Cost
		}
		if got != want {
			t.Fatalf("connection %d:\n%+v, want\n%+v", i, got, want)
		}
	}
	facts, err := r.facts()
	check(t, err)
	if len(facts) != 2 || facts[0].Connections != 200 || facts[1].Connections != 0 || facts[0].Arms[1].Cong != "bbr" {
		t.Errorf("facts: %+v", facts)
	}
}

func rivalOnLoopback(t *testing.T, at string, caps bool) (*rival, net.Listener) {
	t.Helper()
	ns, err := netns.Current()
	check(t, err)
	t.Cleanup(func() { _ = ns.Close() })
	check(t, ns.Up("lo"))
	r, err := attachRival(at, ns, caps)
	check(t, err)
	t.Cleanup(func() { check(t, r.close()) })
	// Loopback's segments of 64 KB make rates that a socket option cannot hold.
	small := net.ListenConfig{Control: func(_, _ string, c syscall.RawConn) (err error) {
		return errors.Join(c.Control(func(fd uintptr) { err = unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_MAXSEG, 1000) }), err)
	}}
	l, err := small.Listen(t.Context(), "tcp4", "127.0.0.1:0")
	check(t, err)
	t.Cleanup(func() { _ = l.Close() })
	return r, l
}

// TestRivalCaps: what is on BBR teaches its network's cap, and has it, but for one in ten.
func TestRivalCaps(t *testing.T) {
	at := inCgroup(t)
	if at == "" {
		return
	}
	r, l := rivalOnLoopback(t, at, true)
	const bbr = 1 // of banditArms
	h := bpfobj.BanditNextHop{Connections: learnAfter}
	for i := range h.Arms {
		if i != bbr {
			h.Arms[i].Cost = 1 << 50
		}
	}
	check(t, r.objs.NextHops.Put(uint32(unix.AF_INET), h))
	var want network
	capped, knew := 0, 0
	for i := range 100 {
		before := hopOf(t, r)
		most := download(t, l)
		h := waitForEnd(t, r, before, true)
		switch {
		case h.LastChoice != bbr || want.Cap() == 0:
			if most != math.MaxUint32 {
				t.Fatalf("connection %d, arm %d: capped at %d", i, h.LastChoice, most)
			}
		case most != math.MaxUint32:
			if capped++; uint64(most) != want.Cap() {
				t.Fatalf("connection %d: capped at %d, want %d", i, most, want.Cap())
			}
			fallthrough
		default:
			knew++
		}
		if h.LastArm == bbr {
			want.End(h.LastRate)
		}
		var got bpfobj.BanditNetwork
		if err := r.objs.Networks.Lookup(uint64(0x7f000000|24), &got); want.Ends > 0 {
			check(t, err)
		}
		if got.Rate != want.Rate || got.Ends != want.Ends {
			t.Fatalf("connection %d: %+v, want %+v", i, got, want)
		}
	}
	if knew < 40 || capped < knew*3/4 || capped == knew || hopOf(t, r).Capped != uint64(capped) {
		t.Errorf("%d of %d were capped, the program counts %d", capped, knew, hopOf(t, r).Capped)
	}
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func hopOf(t *testing.T, r *rival) (h bpfobj.BanditNextHop) {
	t.Helper()
	check(t, r.objs.NextHops.Lookup(uint32(unix.AF_INET), &h))
	return h
}

// download is one connection, which the server ends, and returns its SO_MAX_PACING_RATE, bytes/s.
func download(t *testing.T, l net.Listener) (most uint32) {
	t.Helper()
	c, err := net.Dial("tcp4", l.Addr().String())
	check(t, err)
	s, err := l.Accept()
	check(t, err)
	raw, err := s.(*net.TCPConn).SyscallConn()
	check(t, err)
	check(t, raw.Control(func(fd uintptr) {
		n, err := unix.GetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_MAX_PACING_RATE)
		check(t, err)
		most = uint32(n)
	}))
	_, err = s.Write(make([]byte, 100_000))
	check(t, err)
	check(t, s.Close())
	_, err = io.Copy(io.Discard, c)
	check(t, err)
	check(t, c.Close())
	return most
}

// waitForEnd waits until the connection after a moment was counted, and learnt from.
func waitForEnd(t *testing.T, r *rival, before bpfobj.BanditNextHop, learnt bool) bpfobj.BanditNextHop {
	t.Helper()
	for range 1000 {
		if h := hopOf(t, r); h.Connections > before.Connections && (!learnt || ends(h) > ends(before)) {
			return h
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatalf("the program saw no end: %+v", hopOf(t, r))
	return before
}

func ends(h bpfobj.BanditNextHop) (n uint64) {
	for _, a := range h.Arms {
		n += a.Ends
	}
	return n
}
