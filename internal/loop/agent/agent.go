package agent

import (
	"context"
	"crypto/ed25519"
	"fmt"
	"log/slog"
	"math"
	"net/netip"
	"sync"
	"time"

	"github.com/congctl/congctl/internal/core/inetdiag"
	"github.com/congctl/congctl/internal/core/ledger"
	"github.com/congctl/congctl/internal/core/plan"
	"github.com/congctl/congctl/internal/core/record"
	"github.com/congctl/congctl/internal/core/window"
)

// Options are the agent's numbers; app/config has their defaults and reasons.
type Options struct {
	Poll, Window, Block, Washout time.Duration
	MinBytes                     uint64
	MaxConns, MaxPrefixes        int
	PlanTTL                      time.Duration // expiry written into the kernel, renewed at a fifteenth of it
	SweepEvery                   time.Duration // walk for stolen callbacks
	MaxQueuedCloses              int           // close records that may wait while a dump runs
	CoverageLimit                float64       // share of accepted connections below which to alarm
	PublicKey                    ed25519.PublicKey
	PlanLimits                   plan.Limits // what a plan may hold; Now is filled in
}

// Rooms are what the agent works through. Follower, Treater and Sweeper are nil
// where the kernel has no such thing.
type Rooms struct {
	Sockets  Sockets
	Counters Counters
	Follower Follower
	Treater  Treater
	Sweeper  Sweeper
	Clock    Clock
	Starved  Starvation
	// ClientFacing says whether a passive connection's remote is a client.
	ClientFacing func(ns record.NetnsID, local, remote netip.AddrPort, passive bool) bool
	// KernelCounts reads what the eBPF program counts of itself; may be nil.
	KernelCounts func() (KernelCounts, error)
	// Records takes each finished connection record; nil if nobody wants them.
	Records func(*record.Conn)
	// OnWindow takes each finished window.
	OnWindow func(Out)
	// OnAlarm takes each alarm once when it begins.
	OnAlarm func(kind, text string)
	Log     *slog.Logger
}

// Out is one finished window of this host.
type Out struct {
	Start   int64 // Unix seconds
	Rows    []record.Window
	Unknown string // why the window says nothing; "" if it does
	Starved string // why no new treatment may begin; "" if it may
	Stats   window.Stats
}

// Agent is one host's loop.
type Agent struct {
	opt   Options
	rooms Rooms

	ledger *ledger.Ledger
	agg    *window.Aggregator
	closes *closeQueue
	asks   chan chan<- struct{} // to the reader of close records
	gone   chan struct{}        // closed where there is no such reader

	// Owned by the loop's goroutine.
	known       map[record.NetnsID]Namespace     // namespaces polled at least once
	told        map[record.NetnsID]inetdiag.Cong // namespaces that there are, polled or not
	window      int64                            // start of the open window, Unix seconds; 0 before the first poll
	offset      int64                            // Unix minus boot nanoseconds at the last poll
	lastPollNs  int64
	unknown     string // why the open window is unknown
	starved     string // last word on CPU shortage in the open window
	closing     []closing
	lastSweepNs int64
	coverage    coverage
	evict       chan chan eviction

	// mu guards what other goroutines read or bring: the plan and the status.
	mu      sync.Mutex
	plan    *plan.Plan
	setAtNs int64 // boot ns of the last Set
	killed  bool
	status  Status
	alarms  map[string]string
}

// New makes an agent; Run starts it.
func New(o Options, r Rooms) *Agent {
	a := &Agent{
		opt: o, rooms: r,
		known:  map[record.NetnsID]Namespace{},
		closes: newCloseQueue(o.MaxQueuedCloses),
		asks:   make(chan chan<- struct{}),
		gone:   make(chan struct{}),
		evict:  make(chan chan eviction),
		alarms: map[string]string{},
	}
	close(a.gone)
	a.agg = window.New(window.Config{
		WindowSeconds: seconds(o.Window), BlockSeconds: seconds(o.Block), WashoutSeconds: seconds(o.Washout),
		MinBytes: o.MinBytes, MaxPrefixes: o.MaxPrefixes, ArmAt: a.armAt,
	})
	a.ledger = ledger.New(ledger.Config{
		WindowSeconds: seconds(o.Window), BlockSeconds: seconds(o.Block), WashoutSeconds: seconds(o.Washout),
		MinBytes: o.MinBytes, MaxConns: o.MaxConns, ClientFacing: r.ClientFacing, ArmAt: a.armAt, Emit: a.emit,
		Unfollowed: r.Follower == nil,
	})
	return a
}

func seconds(d time.Duration) int64 { return int64(d / time.Second) }

func (a *Agent) emit(c *record.Conn) {
	a.agg.Add(c)
	if a.rooms.Records != nil {
		a.rooms.Records(c)
	}
}

// Run polls until ctx ends. A window that has ended by then goes out whole; the
// open one is lost, since half a window is no window.
func (a *Agent) Run(ctx context.Context) error {
	var reader sync.WaitGroup
	if err := a.poll(); err != nil {
		return fmt.Errorf("poll sockets for the first time: %w", err)
	}
	if a.rooms.Follower != nil {
		a.gone = make(chan struct{})
		reader.Go(func() { a.readCloses(a.gone) })
	}
	err := a.loop(ctx)
	a.drainCloses()
	close(a.asks)
	reader.Wait()
	a.closeUntil(math.MaxInt64)
	return err
}

func (a *Agent) loop(ctx context.Context) error {
	began, _ := a.rooms.Clock()
	next := time.NewTimer(a.untilNextPoll(began))
	defer next.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-a.closes.many:
			a.takeCloses()
		case <-a.settled():
			a.drainCloses()
			_, boot := a.rooms.Clock()
			a.closeUntil(boot)
		case done := <-a.evict:
			done <- a.evictNow()
		case <-next.C:
			began, _ = a.rooms.Clock()
			if err := a.poll(); err != nil {
				a.rooms.Log.Error("poll", "err", err)
			}
			next.Reset(a.untilNextPoll(began))
		}
	}
}

// settled fires when the first of the closing windows is due; nil without any.
func (a *Agent) settled() <-chan time.Time {
	if len(a.closing) == 0 {
		return nil
	}
	_, boot := a.rooms.Clock()
	return time.After(time.Duration(a.closing[0].dueNs - boot))
}

// untilNextPoll aims at the next multiple of the poll interval of the wall
// clock, so that a poll falls on each window's end. It is asked anew each time:
// a step of the clock moves the next poll and nothing else. A window that ended
// while the last poll ran (it began at unixNs) is closed at once, and not an
// interval later.
func (a *Agent) untilNextPoll(unixNs int64) time.Duration {
	now, _ := a.rooms.Clock()
	if a.floor(now) > a.floor(unixNs) {
		return 0
	}
	every := int64(a.opt.Poll)
	return time.Duration(every - now%every)
}
