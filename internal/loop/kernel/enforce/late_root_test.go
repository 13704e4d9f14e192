package enforce

import (
	"net/netip"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"github.com/cilium/ebpf/link"
	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/congctl/congctl/internal/loop/plan"
	"github.com/congctl/congctl/internal/tcp/abi"
	"github.com/congctl/congctl/internal/tcp/inetdiag"
	"github.com/congctl/congctl/internal/tcp/record"
)

// Behind a bottleneck of known rate a long response's late rate is that rate, in every arm, and a
// short one has none.
func TestLateRate(t *testing.T) {
	r := newRig(t)
	r.standard()
	const rate = 2_500_000
	bottleneck(t, rate, 100_000)
	// Of 1,514 bytes on the link 1,448 are data, and the acknowledgements share it.
	const want = rate * 1448 / 1514
	for _, from := range []netip.Addr{clientT, clientC, clientOff} {
		k := r.talk(from)
		k.ask()
		k.send(350_000)
		if m, _ := k.state(); m.Crossings != 1 || m.LateN != 0 {
			t.Errorf("%s, 350 kB: %d crossings, %d late samples", from, m.Crossings, m.LateN)
		}
		k.ask()
		k.send(4_000_000)
		m, _ := k.state()
		t.Logf("%s: %d of %d samples late, %d bytes/s, the path's %d", from, m.LateN, m.RateN, m.LateRate, want)
		if m.LateN < record.LateSamples || uint32(m.LateN) >= m.RateN {
			t.Errorf("%s: %d late samples of %d", from, m.LateN, m.RateN)
		}
		if m.LateRate < want*80/100 || m.LateRate > want*110/100 {
			t.Errorf("%s: late rate %d bytes/s, the path's is %d", from, m.LateRate, want)
		}
	}
}

// Losses make episodes: at most as many as the kernel counts itself, at least every third of them
// (one that begins before the next callback is one with it). Without losses there are none.
func TestEpisodes(t *testing.T) {
	r := newRig(t)
	r.standard()
	bottleneck(t, 2_500_000, 400_000)
	for _, lossy := range []bool{false, true} {
		if lossy {
			dropSome(t)
		}
		before := recoveries(t)
		k := r.talk(clientC)
		k.ask()
		k.send(large)
		n := recoveries(t) - before
		m, _ := k.state()
		t.Logf("losses %v: %d episodes, %d of the kernel", lossy, m.Episodes, n)
		if int(m.Episodes) > n || int(m.Episodes) < n/3 || (m.Episodes > 0) != lossy {
			t.Errorf("losses %v: %d episodes, the kernel counts %d", lossy, m.Episodes, n)
		}
	}
}

// dropSome loses one in 64 of the packets with data where they arrive: a queue of the sender's own
// host that overflows is no loss to it (NET_XMIT_CN).
func dropSome(t *testing.T) {
	t.Helper()
	prog, err := ebpf.NewProgram(&ebpf.ProgramSpec{
		Name: "drop_some", Type: ebpf.CGroupSKB, AttachType: ebpf.AttachCGroupInetIngress, License: "GPL",
		Instructions: asm.Instructions{
			asm.LoadMem(asm.R6, asm.R1, 0, asm.Word), // len
			asm.Mov.Imm(asm.R0, 1),
			asm.JLT.Imm(asm.R6, 1000, "out"),
			asm.FnGetPrandomU32.Call(),
			asm.And.Imm(asm.R0, 63),
			asm.JEq.Imm(asm.R0, 0, "out"),
			asm.Mov.Imm(asm.R0, 1),
			asm.Return().WithSymbol("out"),
		},
	})
	check(t, err)
	t.Cleanup(func() { prog.Close() })
	l, err := link.AttachCgroup(link.CgroupOptions{Path: os.Getenv(cgroupEnv), Attach: ebpf.AttachCGroupInetIngress, Program: prog})
	check(t, err)
	t.Cleanup(func() { l.Close() })
}

// bottleneck gives the loopback a rate and a queue.
func bottleneck(t *testing.T, bytesPerS uint64, limit int) {
	t.Helper()
	lo, err := netlink.LinkByName("lo")
	check(t, err)
	check(t, netlink.QdiscReplace(&netlink.Tbf{
		QdiscAttrs: netlink.QdiscAttrs{LinkIndex: lo.Attrs().Index, Handle: netlink.MakeHandle(1, 0), Parent: netlink.HANDLE_ROOT},
		Rate:       bytesPerS,
		Buffer:     netlink.Xmittime(bytesPerS, 30_000), // 12 ms of it: a machine with other work wakes late
		Limit:      uint32(limit),
	}))
}

// recoveries is how often connections of this namespace entered loss recovery, by their own counters.
func recoveries(t *testing.T) (n int) {
	t.Helper()
	text, err := os.ReadFile("/proc/thread-self/net/netstat")
	check(t, err)
	lines := strings.Split(string(text), "\n")
	names, values := strings.Fields(lines[0]), strings.Fields(lines[1])
	for i, name := range names {
		switch name {
		case "TCPSackRecovery", "TCPRenoRecovery", "TCPTimeouts":
			v, err := strconv.Atoi(values[i])
			check(t, err)
			n += v
		}
	}
	return n
}

// capped puts a policy with a cap and scouts in force.
func (r *rig) capped(bytesPerS uint64, scout uint8) {
	r.t.Helper()
	p, _ := record.PrefixOf(clientT)
	v := policyFor(record.ArmTreatment)
	v.CapBytesPerS, v.Scout = bytesPerS, scout
	_, err := r.Set(plan.Program{Plan: 7, MinBytes: 100_000, Entries: []plan.ProgramEntry{{Prefix: p, Policy: v}}})
	check(r.t, err)
}

// One connection in so many is a scout: switched like all others, never capped.
func TestScouts(t *testing.T) {
	const conns = 40
	r := newRig(t)
	for _, c := range []struct {
		scout     uint8
		low, high int // of conns run capped
	}{{0, conns, conns}, {1, 0, 0}, {2, 10, 30}} {
		r.capped(10_000_000, c.scout)
		ran := 0
		for range conns {
			r.fetch4(clientT, 300_000)
			rec := r.next()
			if rec.Mark.Applied != record.AppliedTreatment || rec.Mark.Cong != inetdiag.CongOf("bbr") {
				t.Errorf("scout %d: %s, switched to %q", c.scout, rec.Mark.Applied, rec.Mark.Cong)
			}
			if rec.Mark.Flags&abi.MarkRanCapped != 0 {
				ran++
			}
		}
		if ran < c.low || ran > c.high {
			t.Errorf("scout %d: %d of %d connections ran capped, want %d to %d", c.scout, ran, conns, c.low, c.high)
		}
	}
}

// That a response ran capped is known after the way back, until the next one crosses.
func TestRanCapped(t *testing.T) {
	r := newRig(t)
	k := r.talk(clientT)
	for _, c := range []struct {
		bytesPerS uint64
		bytes     int
		want      uint32
	}{
		{10_000_000, large, abi.MarkCapped | abi.MarkRanCapped},
		{0, small, abi.MarkRanCapped}, // back on the default
		{0, large, 0},
		{10_000_000, large, abi.MarkCapped | abi.MarkRanCapped},
	} {
		r.capped(c.bytesPerS, 0)
		k.ask()
		k.send(c.bytes)
		if m, _ := k.state(); m.Flags&(abi.MarkCapped|abi.MarkRanCapped) != c.want {
			t.Errorf("%d bytes, cap %d: flags %b, want %b", c.bytes, c.bytesPerS, m.Flags, c.want)
		}
	}
}

// What an application paces itself is never capped, and keeps its rate.
func TestOwnPacingStays(t *testing.T) {
	const own = 20_000_000 // bytes/s
	r := newRig(t)
	k := r.talk(clientT)
	k.with(func(fd int) error { return unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_MAX_PACING_RATE, own) })
	r.capped(10_000_000, 0)
	for _, bytes := range []int{large, small} { // switched, and back on the default
		k.ask()
		k.send(bytes)
		m, _ := k.state()
		rate := 0
		k.with(func(fd int) (err error) {
			rate, err = unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_MAX_PACING_RATE)
			return err
		})
		if m.Applied != record.AppliedTreatment && bytes == large || m.Flags&(abi.MarkCapped|abi.MarkRanCapped) != 0 || rate != own {
			t.Errorf("after %d bytes: %s, flags %b, paced to %d bytes/s, want %d", bytes, m.Applied, m.Flags, rate, own)
		}
	}
}
