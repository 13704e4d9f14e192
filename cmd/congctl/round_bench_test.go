package main

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/netip"
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/congctl/congctl/internal/fleet/store/batchtest"
	"github.com/congctl/congctl/internal/fleet/store/clickhouse"
	"github.com/congctl/congctl/internal/fleet/store/clickhouse/clickhousetest"
	"github.com/congctl/congctl/internal/loop/agent"
	"github.com/congctl/congctl/internal/loop/config"
	"github.com/congctl/congctl/internal/loop/policy"
	"github.com/congctl/congctl/internal/loop/store/wire"
	"github.com/congctl/congctl/internal/loop/window"
	"github.com/congctl/congctl/internal/tcp/record"
)

const (
	benchPrefixes = 10_000 // of each PoP, with perPrefix records, one of them eligible
	perPrefix     = 2
	// popsEnv is another number of PoPs than 100.
	popsEnv = "CONGCTL_BENCH_POPS"
	// windowsEnv is another number of windows.
	windowsEnv = "CONGCTL_BENCH_WINDOWS"
)

// popConns are the records of a PoP's window.
func popConns(rng *rand.Rand, window int64) (conns []record.Conn) {
	for i := range benchPrefixes {
		remote := netip.AddrFrom4([4]byte{byte(20 + i>>16), byte(i >> 8), byte(i), 0})
		for n := range perPrefix {
			c := batchtest.Client(rng, window)
			for n == 0 && c.RateSource == record.RateNone {
				c = batchtest.Client(rng, window)
			}
			c.Assigned, c.Applied = record.ArmNone, record.AppliedNone // no plan has it yet
			c.Remote = netip.AddrPortFrom(remote, 0)
			c.Prefix, _ = record.PrefixOf(remote)
			conns = append(conns, c)
		}
	}
	rng.Shuffle(len(conns), func(i, j int) { conns[i], conns[j] = conns[j], conns[i] })
	return conns
}

// fillWindow sends a window of each PoP to ClickHouse, each from ten hosts to the end.
func fillWindow(b *testing.B, address string, pops []string, window int64) {
	store, err := clickhouse.Open(b.Context(), address)
	check(b, err)
	defer store.Close()
	w, rng := store.NewWriter(0), rand.New(rand.NewPCG(1, uint64(window)))
	conns := popConns(rng, window)
	for _, pop := range pops {
		for host := range 10 {
			part := conns[host*len(conns)/10 : (host+1)*len(conns)/10]
			h := wire.Header{Boot: record.BootID{1, byte(host)}, Host: fmt.Sprint("edge-", host), PoP: pop, Sequence: uint64(window),
				Ends: []wire.WindowEnd{{Start: window, DefaultCongs: []string{"cubic"}}}}
			check(b, w.Add(batchtest.New(b, h, part...).Body))
		}
		if w.Rows() > 100_000 {
			check(b, w.Insert(b.Context()))
		}
	}
	check(b, w.Insert(b.Context()))
}

// calm waits until the server has merged what it was sent, half a minute at most: in a fleet that is spread over the window.
func calm(server *clickhousetest.Server) {
	for was, n := time.Duration(-1), 0; was != server.CPU() && n < 30; n++ {
		was = server.CPU()
		time.Sleep(time.Second)
	}
}

// benchOffice is a controller of PoPs that have decided on the window before the first, so that the
// next one is due at once.
func benchOffice(b *testing.B, cfg config.Config, before int64) *office {
	rules, err := cfg.Rules()
	check(b, err)
	open := func() *office {
		o := newOffice(cfg, rules, slog.New(slog.DiscardHandler))
		for _, name := range cfg.Fleet.PoPs {
			check(b, o.open(b.Context(), name))
		}
		return o
	}
	o := open()
	for _, p := range o.pops {
		check(b, p.controller.Round(b.Context(), agent.ClosedWindow{Start: before, Unknown: "the first"}))
		check(b, p.shut())
	}
	check(b, o.records.shut())
	return open()
}

// peakHeap looks at the heap until end is called, which returns the most in MB.
func peakHeap() (end func() float64) {
	ctx, stop := context.WithCancel(context.Background())
	peak := make(chan float64)
	go func() {
		heap := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}, {Name: "/memory/classes/heap/unused:bytes"}} // read without stopping the world
		most := uint64(0)
		for ctx.Err() == nil {
			metrics.Read(heap)
			most = max(most, heap[0].Value.Uint64()+heap[1].Value.Uint64())
			time.Sleep(20 * time.Millisecond)
		}
		peak <- float64(most) / 1e6
	}()
	return func() float64 { stop(); return <-peak }
}

// ownCPU is this process's use of processors in seconds.
func ownCPU(b *testing.B) float64 {
	var u unix.Rusage
	check(b, unix.Getrusage(unix.RUSAGE_SELF, &u))
	return time.Duration(u.Utime.Nano() + u.Stime.Nano()).Seconds()
}

// BenchmarkRound is a round of a controller over 100 PoPs of 10,000 networks each, from ClickHouse
// over windows and policy to plans that are signed and in its stores.
func BenchmarkRound(b *testing.B) {
	loopbackUp(b)
	server := clickhousetest.Start(b)
	_, err := clickhouse.Init(b.Context(), server.Address())
	check(b, err)
	cfg := config.Default()
	cfg.StateDir, cfg.Fleet.ClickHouse = b.TempDir(), server.Address()
	pops, err := strconv.Atoi(cmp.Or(os.Getenv(popsEnv), "100"))
	check(b, err)
	for i := range pops {
		cfg.Fleet.PoPs = append(cfg.Fleet.PoPs, fmt.Sprintf("pop%02d", i))
	}
	const step = 300
	window := time.Now().Unix()/step*step - step
	fillWindow(b, server.Address(), cfg.Fleet.PoPs, window)
	heaps, resident, cpus, serverCPUs, rows := 0., 0., 0., 0., 0
	for n := 0; b.Loop(); n++ {
		b.StopTimer()
		cfg.StateDir = b.TempDir()
		o := benchOffice(b, cfg, window-step)
		calm(server)
		forgetResident(b)
		peak, cpu, serverCPU := peakHeap(), ownCPU(b), server.CPU()
		ctx, stop := context.WithCancel(b.Context())
		var all sync.WaitGroup
		b.StartTimer()
		for _, p := range o.pops {
			all.Go(func() { p.Run(ctx) })
		}
		for _, p := range o.pops {
			for last := int64(0); last != window; time.Sleep(10 * time.Millisecond) {
				last, err = lastWindow(ctx, p.store)
				check(b, err)
			}
		}
		b.StopTimer()
		heaps, cpus, serverCPUs = max(heaps, peak()), cpus+ownCPU(b)-cpu, serverCPUs+(server.CPU()-serverCPU).Seconds()
		resident = max(resident, residentMB(b))
		stop()
		all.Wait()
		check(b, o.records.shut())
		for _, p := range o.pops {
			check(b, p.store.Windows(b.Context(), window, window+1, func(*record.Window) error { rows++; return nil }))
			check(b, p.shut())
		}
		b.StartTimer()
	}
	b.ReportMetric(b.Elapsed().Seconds()/float64(b.N), "s/round")
	b.ReportMetric(float64(rows)/float64(b.N), "rows/round")
	b.ReportMetric(heaps, "MB-heap")
	b.ReportMetric(resident, "MB-resident")
	b.ReportMetric(cpus/float64(b.N), "cpu_s/round")
	b.ReportMetric(serverCPUs/float64(b.N), "server_cpu_s/round")
}

// BenchmarkMemory is what a controller holds of PoPs of 10,000 networks each that are all seen in each of so
// many windows: their history is full after three hours, and so is the plan.
func BenchmarkMemory(b *testing.B) {
	cfg := config.Default()
	cfg.Policy.Select, cfg.Policy.Cap = policy.SelectSlowest, false
	count := func(env, otherwise string) int {
		n, err := strconv.Atoi(cmp.Or(os.Getenv(env), otherwise))
		check(b, err)
		return n
	}
	windows := count(windowsEnv, "40")
	for i := range count(popsEnv, "10") {
		cfg.Fleet.PoPs = append(cfg.Fleet.PoPs, fmt.Sprintf("pop%02d", i))
	}
	const step = 300
	first := time.Now().Unix()/step*step - int64(windows+1)*step
	a := window.New(window.Config{WindowSeconds: step, BlockSeconds: 1800, WashoutSeconds: 300, MinBytes: 100_000, MaxPrefixes: 200_000})
	for _, c := range popConns(rand.New(rand.NewPCG(1, 1)), 0) {
		a.Add(&c)
	}
	rows, _ := a.Flush(0)
	for i := range rows {
		rows[i].BusyShare, rows[i].RwndShare, rows[i].MinRTTUs = 0.9, 0, 30_000 // no guard keeps it out
	}
	for b.Loop() {
		cfg.StateDir = b.TempDir()
		o := benchOffice(b, cfg, first)
		forgetResident(b)
		peak, cpu := peakHeap(), ownCPU(b)
		for n := range windows {
			w := agent.ClosedWindow{Start: first + int64(n+1)*step, Rows: rows}
			for i := range rows {
				rows[i].Start = w.Start
			}
			for _, name := range cfg.Fleet.PoPs {
				check(b, o.pops[name].Round(b.Context(), w))
			}
		}
		b.ReportMetric((ownCPU(b)-cpu)/float64(windows*len(cfg.Fleet.PoPs)), "cpu_s/round")
		b.ReportMetric(peak(), "MB-heap")
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		b.ReportMetric(float64(m.HeapAlloc)/1e6, "MB-live")
		b.ReportMetric(residentMB(b), "MB-resident")
		selected := 0
		for _, p := range o.pops {
			selected += p.rounds.get().Round.Selected
			check(b, p.shut())
		}
		b.ReportMetric(float64(selected), "networks-selected")
	}
}

// forgetResident begins a measurement of residentMB.
func forgetResident(b *testing.B) {
	debug.FreeOSMemory()
	check(b, os.WriteFile("/proc/self/clear_refs", []byte("5"), 0)) // VmHWM, since Linux 4.0
}

// residentMB is the most memory that this process has had since.
func residentMB(b *testing.B) float64 {
	text, err := os.ReadFile("/proc/self/status")
	check(b, err)
	_, rest, _ := strings.Cut(string(text), "VmHWM:")
	var kB float64
	_, err = fmt.Sscan(rest, &kB)
	check(b, err)
	return kB * 1024 / 1e6
}
