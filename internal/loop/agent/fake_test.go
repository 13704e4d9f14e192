package agent

import (
	"context"
	"crypto/ed25519"
	"errors"
	"net/netip"
	"sync"
	"testing"
	"testing/synctest"
	"time"
	"unsafe"

	"github.com/congctl/congctl/internal/loop/plan"
	"github.com/congctl/congctl/internal/tcp/abi"
	"github.com/congctl/congctl/internal/tcp/inetdiag"
	"github.com/congctl/congctl/internal/tcp/record"
)

// host is a Linux host made of variables: one namespace, sockets that a test
// lists, an eBPF side that repeats what it is told. Time is synctest's.
type host struct {
	mu       sync.Mutex
	socks    []inetdiag.Sock
	closes   []abi.Close
	opens    uint64
	seen     uint64
	starved  string
	step     time.Duration // added to the wall clock
	stall    time.Duration // the next dump takes this long
	stripped uint64
	second   bool // a second namespace that is followed and cannot be polled

	programs []plan.Program
	stop     uint32
	outs     []ClosedWindow
	alarms   []string
	cleared  []string
	start    time.Time
}

func (h *host) Namespaces() ([]Namespace, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	spaces := []Namespace{{ID: 1, Name: "own", DefaultCong: inetdiag.CongOf("cubic")}}
	if h.second {
		spaces = append(spaces, Namespace{ID: 2, Name: "second", DefaultCong: inetdiag.CongOf("cubic")})
	}
	return spaces, nil
}

func (h *host) Dump(_ record.NetnsID, each func(*inetdiag.Sock)) (DumpStats, error) {
	h.mu.Lock()
	stall, socks := h.stall, h.socks
	h.stall = 0
	h.mu.Unlock()
	time.Sleep(stall)
	for i := range socks {
		each(&socks[i])
	}
	return DumpStats{Sockets: uint64(len(socks))}, nil
}

func (h *host) Listening(ns record.NetnsID) (func(netip.AddrPort) bool, error) {
	if ns == 2 {
		return nil, errors.New("not yet")
	}
	return func(a netip.AddrPort) bool { return a.Port() == 443 }, nil
}

func (h *host) PassiveOpens(record.NetnsID) (uint64, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.opens, nil
}

func (h *host) SetNetns(map[record.NetnsID]inetdiag.Cong) ([]record.NetnsID, error) { return nil, nil }

func (h *host) Passive(record.NetnsID) (uint64, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.seen, nil
}

func (h *host) ReadCloses(asks <-chan chan<- struct{}, fn func(*abi.Close)) (uint64, error) {
	for done := range asks {
		h.mu.Lock()
		for i := range h.closes {
			fn(&h.closes[i])
		}
		h.closes = nil
		h.mu.Unlock()
		close(done)
	}
	return 0, nil
}

func (h *host) Set(p plan.Program) (int, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.programs = append(h.programs, p)
	return len(p.Entries), nil
}

func (h *host) Stop(bit uint32, on bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if on {
		h.stop |= bit
	} else {
		h.stop &^= bit
	}
}

func (h *host) Stops() uint32 {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.stop
}

func (h *host) Sweep(record.NetnsID, abi.SweepRequest) (abi.Sweep, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return abi.Sweep{Marked: 10, Stripped: h.stripped, Rearmed: h.stripped}, nil
}

func (h *host) Suspects() []string { return []string{"the fake thief"} }

func (h *host) clock() (unix, boot int64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return time.Now().Add(h.step).UnixNano(), int64(time.Since(h.start)) + int64(time.Hour)
}

func (h *host) with(fn func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	fn()
}

var testKey = ed25519.NewKeyFromSeed(make([]byte, ed25519.SeedSize))

// run starts an agent on h inside a synctest bubble and returns the test control;
// the agent is stopped when fn returns.
func run(t *testing.T, fn func(h *host, a *Agent)) {
	t.Helper()
	runIn(t, func(*Deps) {}, fn)
}

// runIn is run in other deps.
func runIn(t *testing.T, edit func(*Deps), fn func(h *host, a *Agent)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		h := &host{start: time.Now()}
		limits := plan.Limits{PoP: "pop", Max: 500, Congs: []string{"cubic", "bbr"}, MaxLifeS: plan.MaxLifeS,
			MaxChange: 0.2, MinChange: plan.MinChange, Ramp: 25, RoundSeconds: 300}
		o := Options{
			Poll: 10 * time.Second, Window: 5 * time.Minute, Block: 30 * time.Minute, Washout: 5 * time.Minute,
			MinBytes: 100_000, MaxConns: 1000, MaxPrefixes: 1000, PlanTTL: 15 * time.Minute, SweepEvery: 30 * time.Second,
			MaxQueuedCloses: 1000, CoverageLimit: 0.99, PublicKeys: []ed25519.PublicKey{testKey.Public().(ed25519.PublicKey)}, PlanLimits: limits,
		}
		r := Deps{
			Sockets: h, Counters: h, Follower: h, Treater: h, Sweeper: h, Clock: h.clock,
			Starved:      func() (string, error) { h.mu.Lock(); defer h.mu.Unlock(); return h.starved, nil },
			ClientFacing: Clients{}.Facing,
			OnWindow:     func(o ClosedWindow) { h.with(func() { h.outs = append(h.outs, o) }) },
			OnAlarm:      func(kind, text string) { h.with(func() { h.alarms = append(h.alarms, kind+": "+text) }) },
			OnClear:      func(kind string) { h.with(func() { h.cleared = append(h.cleared, kind) }) },
		}
		edit(&r)
		a := New(o, r)
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- a.Run(ctx) }()
		synctest.Wait()
		fn(h, a)
		cancel()
		if err := <-done; err != nil {
			t.Errorf("run: %v", err)
		}
	})
}

// toBoundary sleeps until just after the next window's books are closed.
func toBoundary(h *host) {
	unix, _ := h.clock()
	w := int64(5 * time.Minute)
	time.Sleep(time.Duration(w-unix%w) + time.Second)
	synctest.Wait()
}

// sock is an accepted connection of a client that has moved bytes in all.
func sock(cookie uint64, client string, acked uint64) inetdiag.Sock {
	s := inetdiag.Sock{
		Family: 2, State: 1, Cookie: cookie,
		Local: netip.MustParseAddrPort("192.0.2.1:443"), Remote: netip.AddrPortFrom(netip.MustParseAddr(client), 5000),
		Has: inetdiag.HasInfo | inetdiag.HasCong | inetdiag.HasStorage, Cong: inetdiag.CongOf("cubic"),
	}
	// Followed by eBPF: all of it counts, a rate sample each 50 kB.
	m := abi.Mark{Flags: abi.MarkCounting, RateN: uint32(acked / 50_000), RateSum: acked / 50_000 * 1_000_000}
	s.Storage = unsafe.Slice((*byte)(unsafe.Pointer(&m)), abi.MarkSize)
	s.Info.Len, s.Info.State = 232, 1
	s.Info.BytesAcked, s.Info.BytesSent = acked, acked
	s.Info.DeliveryRate, s.Info.MinRttUs, s.Info.RttUs = 1_000_000, 20_000, 25_000
	s.Info.BusyTimeUs = acked
	return s
}

func signed(serial record.PlanID, now time.Time, life time.Duration, prefixes ...string) []byte {
	p := plan.Plan{
		PoP: "pop", Serial: serial, Created: now.Unix(), Expires: now.Add(life).Unix(), Treatment: "bbr", MinBytes: 100_000,
		BlockSeconds: 1800, WashoutSeconds: 300, Experiment: plan.ExperimentOff, GroupTrial: 2, GroupPromoted: 8,
		Salt: make([]byte, 16), CapRule: plan.CapRuleNone,
	}
	for _, s := range prefixes {
		pfx, err := record.ParsePrefix(s)
		if err != nil {
			panic(err)
		}
		state := plan.StateSelected
		if pfx == record.All {
			state = plan.StateAlways
		}
		p.Entries = append(p.Entries, plan.Entry{Prefix: pfx, Cong: "bbr", State: state, Since: now.Unix(), Reason: "test"})
	}
	p.Sort()
	return p.Sign(testKey)
}
