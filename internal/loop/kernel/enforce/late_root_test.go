package enforce

import (
	"net/netip"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"github.com/cilium/ebpf/link"
	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/congctl/congctl/internal/tcp/abi"
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
		var m abi.Mark
		k.until("its last acknowledgement", func() bool { // which may give a sample, too
			var now *unix.TCPInfo
			m, now = k.state()
			return now.Unacked == 0
		})
		t.Logf("%s: %d of %d samples late, %d bytes/s, the path's %d", from, m.LateN, m.RateN, m.LateRate, want)
		if m.LateN < record.LateSamples || uint32(m.LateN) >= m.RateN {
			t.Errorf("%s: %d late samples of %d", from, m.LateN, m.RateN)
		}
		if m.LateSamples() > 16 || m.LateSamples() < record.LateSamples {
			t.Errorf("%s: the late rate rests on %d samples", from, m.LateSamples())
		}
		if m.LateRate < want*80/100 || m.LateRate > want*110/100 {
			t.Errorf("%s: late rate %d bytes/s, the path's is %d", from, m.LateRate, want)
		}
		k.ask()
		k.send(350_000) // crosses, and has none of its own
		if next, _ := k.state(); next.Crossings != 3 || next.LateSamples() != 0 || next.LateN != m.LateN {
			t.Errorf("%s, 350 kB again: %d crossings, %d late samples of its own, %d of all", from, next.Crossings, next.LateSamples(), next.LateN)
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
		n := 0
		for range 20 { // one response can have a single recovery, and that before it crosses
			k.ask()
			k.send(large)
			if n = recoveries(t) - before; n >= 6 || !lossy {
				break
			}
		}
		m, _ := k.state()
		t.Logf("losses %v: %d episodes, %d of the kernel", lossy, m.Episodes, n)
		if int(m.Episodes) > n || int(m.Episodes) < n/3 || (m.Episodes > 0) != lossy {
			t.Errorf("losses %v: %d episodes, the kernel counts %d", lossy, m.Episodes, n)
		}
	}
}

// A recovery in which the response crosses is an episode too: what it resends from there on counts.
func TestCrossingInRecovery(t *testing.T) {
	r := newRig(t)
	r.standard()
	bottleneck(t, 2_500_000, 400_000)
	seen := dropEarly(t)
	for range 10 {
		check(t, seen.Put(uint32(0), uint64(0)))
		k := r.talk(clientC)
		k.ask()
		k.send(large)
		m, now := k.state()
		again := m.Counted(m.CountedRetrans, now.Bytes_retrans)
		t.Logf("%d bytes resent, %d of them after the crossing, %d episodes", now.Bytes_retrans, again, m.Episodes)
		if again == 0 || again == now.Bytes_retrans {
			continue // a sender that is kept from the CPU has all in flight that it wrote, and crosses before the first loss shows
		}
		if m.Episodes == 0 {
			t.Error("no episode")
		}
		return
	}
	t.Fatal("the crossing was never in the recovery")
}

// dropSome loses one in 64 of the packets with data.
func dropSome(t *testing.T) {
	drop(t, asm.Instructions{
		asm.FnGetPrandomU32.Call(),
		asm.And.Imm(asm.R0, 63),
		asm.JEq.Imm(asm.R0, 0, "out"),
	})
}

// dropEarly loses every other packet with data from the 20th to the 200th.
// It returns how many it has seen.
func dropEarly(t *testing.T) *ebpf.Map {
	seen, err := ebpf.NewMap(&ebpf.MapSpec{Type: ebpf.Array, KeySize: 4, ValueSize: 8, MaxEntries: 1})
	check(t, err)
	t.Cleanup(func() { seen.Close() })
	drop(t, asm.Instructions{
		asm.StoreImm(asm.R10, -4, 0, asm.Word),
		asm.Mov.Reg(asm.R2, asm.R10),
		asm.Add.Imm(asm.R2, -4),
		asm.LoadMapPtr(asm.R1, seen.FD()),
		asm.FnMapLookupElem.Call(),
		asm.JEq.Imm(asm.R0, 0, "out"),
		asm.LoadMem(asm.R7, asm.R0, 0, asm.DWord),
		asm.Add.Imm(asm.R7, 1),
		asm.StoreMem(asm.R0, 0, asm.R7, asm.DWord),
		asm.JLT.Imm(asm.R7, 20, "keep"),
		asm.JGT.Imm(asm.R7, 200, "keep"),
		asm.Mov.Reg(asm.R0, asm.R7),
		asm.And.Imm(asm.R0, 1),
		asm.JEq.Imm(asm.R0, 0, "out"),
	})
	return seen
}

// drop loses the packets with data for which the instructions reach "out" with 0, where they arrive: a queue of
// the sender's own host that overflows is no loss to it (NET_XMIT_CN).
func drop(t *testing.T, which asm.Instructions) {
	t.Helper()
	prog, err := ebpf.NewProgram(&ebpf.ProgramSpec{
		Name: "drop", Type: ebpf.CGroupSKB, AttachType: ebpf.AttachCGroupInetIngress, License: "GPL",
		Instructions: slices.Concat(asm.Instructions{
			asm.LoadMem(asm.R6, asm.R1, 0, asm.Word), // len
			asm.Mov.Imm(asm.R0, 1),
			asm.JLT.Imm(asm.R6, 1000, "out"),
		}, which, asm.Instructions{
			asm.Mov.Imm(asm.R0, 1).WithSymbol("keep"),
			asm.Return().WithSymbol("out"),
		}),
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
