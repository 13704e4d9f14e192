package enforce

import (
	"errors"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"github.com/cilium/ebpf/link"
	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/congctl/congctl/internal/tcp/abi"
	"github.com/congctl/congctl/internal/tcp/record"
)

// cost reads the kernel's own statistics of the sock_ops program.
func (r *rig) cost() (ns, calls uint64) {
	r.t.Helper()
	s, err := r.objs.CongctlSockops.Stats()
	check(r.t, err)
	return uint64(s.Runtime), s.RunCount
}

func withStats(b *testing.B) {
	b.Helper()
	c, err := ebpf.EnableStats(uint32(unix.BPF_STATS_RUN_TIME))
	check(b, err)
	b.Cleanup(func() { c.Close() })
}

// BenchmarkConnection measures the kernel's time in our program for an accepted
// connection, both ends counted: with the namespace followed (matching, mark and
// callbacks at its start, the record at its end), and not followed (the calls that
// the kernel makes all the same). The difference is the cost of a matched
// connection. Goal: at most 1 us to open, 1.5 us to close with the reader's share.
func BenchmarkConnection(b *testing.B) {
	b.Run("followed", func(b *testing.B) { benchConnection(b, true) })
	b.Run("not-followed", func(b *testing.B) { benchConnection(b, false) })
}

func benchConnection(b *testing.B, follow bool) {
	r := newRig(b)
	unshape(b)
	withStats(b)
	r.standard()
	if !follow {
		_, err := r.SetNetns(nil)
		check(b, err)
	}
	ln := listen(b, "tcp4", net.JoinHostPort(edge4.String(), "0"))
	d := net.Dialer{LocalAddr: &net.TCPAddr{IP: clientT.AsSlice()}}
	const batch = 500
	var opened, closed, calls uint64
	for b.Loop() {
		t0, c0 := r.cost()
		var ours, theirs []net.Conn
		for range batch {
			c, err := d.Dial("tcp4", ln.Addr().String())
			check(b, err)
			s, err := ln.Accept()
			check(b, err)
			ours, theirs = append(ours, s), append(theirs, c)
		}
		t1, _ := r.cost()
		for i := range ours {
			check(b, ours[i].(*net.TCPConn).SetLinger(0))
			ours[i].Close()
			theirs[i].Close()
		}
		t2, c2 := r.cost()
		opened, closed, calls = opened+t1-t0, closed+t2-t1, calls+c2-c0
	}
	n := float64(b.N) * batch
	b.ReportMetric(float64(opened)/n, "open-ns/conn")
	b.ReportMetric(float64(closed)/n, "close-ns/conn")
	b.ReportMetric(float64(calls)/n, "calls/conn")
}

// BenchmarkRTTCallback measures the kernel's time of one RTT_CB, ours beside the floor:
// a program that arms the callback and returns at once. What the statistics
// themselves cost is in both. Two loads: busy, small responses one after another, tens
// of thousands of callbacks a second, so that program and maps stay in the caches;
// and bulk, a long download, where each callback comes after a megabyte was copied
// through them. Goal: at most 150 ns.
func BenchmarkRTTCallback(b *testing.B) {
	busy := make([]int, 20_000)
	for i := range busy {
		busy[i] = 100
	}
	for _, load := range []struct {
		name  string
		sizes []int
	}{{"busy", busy}, {"bulk", []int{200_000_000}}} {
		b.Run(load.name, func(b *testing.B) { compareCallback(b, load.sizes) })
	}
}

func compareCallback(b *testing.B, sizes []int) {
	b.Run("ours", func(b *testing.B) { benchCallback(b, nil, sizes) })
	b.Run("empty", func(b *testing.B) {
		needRoot(b)
		prog, err := ebpf.NewProgram(&ebpf.ProgramSpec{
			Name: "empty", Type: ebpf.SockOps, License: "GPL",
			Instructions: asm.Instructions{
				asm.LoadMem(asm.R2, asm.R1, 0, asm.Word),
				asm.JNE.Imm(asm.R2, 5, "out"),
				asm.Mov.Imm(asm.R2, 1<<3),
				asm.FnSockOpsCbFlagsSet.Call(),
				asm.Mov.Imm(asm.R0, 1).WithSymbol("out"),
				asm.Return(),
			},
		})
		check(b, err)
		defer prog.Close()
		benchCallback(b, prog, sizes)
	})
}

// benchCallback measures ours, or other in its place.
func benchCallback(b *testing.B, other *ebpf.Program, sizes []int) {
	r := newRig(b)
	withStats(b)
	r.standard()
	unshape(b)
	measured := r.objs.CongctlSockops
	if other != nil {
		check(b, r.link.Close())
		l, err := link.AttachCgroup(link.CgroupOptions{Path: os.Getenv(cgroupEnv), Attach: ebpf.AttachCGroupSockOps, Program: other})
		check(b, err)
		r.link, measured = l, other
	}
	var ns, calls uint64
	for b.Loop() {
		t0, err := measured.Stats()
		check(b, err)
		r.fetch4(clientC, sizes...)
		t1, err := measured.Stats()
		check(b, err)
		ns, calls = ns+uint64(t1.Runtime-t0.Runtime), calls+t1.RunCount-t0.RunCount
	}
	b.ReportMetric(float64(ns)/float64(calls), "ns/callback")
	b.ReportMetric(float64(calls)/float64(b.N), "callbacks/transfer")
}

// BenchmarkCloses runs connect, accept, close in a child as fast as the machine
// goes and reads the records here. It reports the rate, the drops, and the CPU of
// a record: the program's own and this process's.
func BenchmarkCloses(b *testing.B) {
	if n := os.Getenv(childEnv); n != "" {
		storm(b, n)
		return
	}
	r := newRig(b)
	withStats(b)
	const each = 20_000
	for b.Loop() {
		s0, err := r.Stats()
		check(b, err)
		t0, _ := r.cost()
		u0 := cpuNs(b)
		start := time.Now()
		cmd := exec.Command("/proc/self/exe", "-test.run=^$", "-test.bench=^BenchmarkCloses$", "-test.benchtime=1x")
		cmd.Env = append(os.Environ(), childEnv+"="+strconv.Itoa(each))
		if out, err := cmd.CombinedOutput(); err != nil {
			b.Fatalf("storm: %v\n%s", err, out)
		}
		took := time.Since(start)
		time.Sleep(2 * drainEvery)
		u1 := cpuNs(b)
		t1, _ := r.cost()
		s1, err := r.Stats()
		check(b, err)
		n := float64(s1.Closed - s0.Closed)
		for range len(r.closes) {
			<-r.closes
		}
		b.ReportMetric(n/took.Seconds(), "closes/s")
		b.ReportMetric(float64(s1.RingFull-s0.RingFull), "drops")
		b.ReportMetric(float64(t1-t0)/n, "kernel-ns/conn")
		b.ReportMetric(float64(u1-u0)/n, "reader-ns/conn")
	}
}

// unshape takes the tbf away that newRig put there.
func unshape(b *testing.B) {
	b.Helper()
	lo, err := netlink.LinkByName("lo")
	check(b, err)
	check(b, netlink.QdiscDel(&netlink.Tbf{QdiscAttrs: netlink.QdiscAttrs{LinkIndex: lo.Attrs().Index, Handle: netlink.MakeHandle(1, 0), Parent: netlink.HANDLE_ROOT}}))
}

func cpuNs(t testing.TB) int64 {
	t.Helper()
	var u unix.Rusage
	check(t, unix.Getrusage(unix.RUSAGE_SELF, &u))
	return u.Utime.Nano() + u.Stime.Nano()
}

// storm makes n connections over loopback, both ends here, each closed by reset
// so that no TIME_WAIT piles up.
func storm(b *testing.B, count string) {
	n, err := strconv.Atoi(count)
	check(b, err)
	ln := listen(b, "tcp4", net.JoinHostPort(edge4.String(), "0"))
	go func() {
		for {
			c, err := ln.Accept()
			if errors.Is(err, net.ErrClosed) {
				return
			}
			if err == nil {
				_ = c.(*net.TCPConn).SetLinger(0)
				c.Close()
			}
		}
	}()
	var wg sync.WaitGroup
	for w := range 4 {
		wg.Go(func() {
			for range n / 4 {
				d := net.Dialer{LocalAddr: &net.TCPAddr{IP: []net.IP{clientT.AsSlice(), clientC.AsSlice(), clientOff.AsSlice(), edge4.AsSlice()}[w]}}
				if c, err := d.Dial("tcp4", ln.Addr().String()); err == nil {
					_ = c.(*net.TCPConn).SetLinger(0)
					c.Close()
				}
			}
		})
	}
	wg.Wait()
	time.Sleep(50 * time.Millisecond)
}

// BenchmarkSet puts 500 prefixes in force, as each renewal does.
func BenchmarkSet(b *testing.B) {
	r := newRig(b)
	arms := map[netip.Addr]record.Arm{}
	for i := range 500 {
		arms[netip.AddrFrom4([4]byte{20, byte(i >> 8), byte(i), 1})] = record.ArmTreatment
	}
	for b.Loop() {
		r.set(arms)
	}
}

// BenchmarkDecodeClose is the reader's part without the ring.
func BenchmarkDecodeClose(b *testing.B) {
	buf := make([]byte, abi.CloseSize)
	var c abi.Close
	for b.Loop() {
		check(b, abi.DecodeClose(buf, &c))
	}
}
