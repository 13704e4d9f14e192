package agent

import (
	"context"
	"crypto/ed25519"
	"fmt"
	"math"
	"net/netip"
	"sync"
	"time"

	"github.com/congctl/congctl/internal/loop/ledger"
	"github.com/congctl/congctl/internal/loop/plan"
	"github.com/congctl/congctl/internal/loop/window"
	"github.com/congctl/congctl/internal/tcp/inetdiag"
	"github.com/congctl/congctl/internal/tcp/record"
)

// Options are the agent's numbers; loop/config has their defaults and reasons.
type Options struct {
	Poll, Window, Block, Washout time.Duration
	MinBytes                     uint64
	MaxConns, MaxPrefixes        int
	PlanTTL                      time.Duration       // expiry written into the kernel, renewed fifteen times in its life
	SweepEvery                   time.Duration       // walk for stolen callbacks
	MaxQueuedCloses              int                 // close records that may wait while a dump runs
	CoverageLimit                float64             // share of accepted connections below which to alarm
	PublicKeys                   []ed25519.PublicKey // plans signed with one of them are taken
	PlanLimits                   plan.Limits         // what a plan may hold; Now is filled in
}

// Deps are what the agent works with. Follower, Treater and Sweeper are nil if the kernel
// lacks them; a Treater and a Sweeper come with a Follower.
type Deps struct {
	Sockets  Sockets
	Counters Counters
	Follower Follower
	Treater  Treater
	Sweeper  Sweeper
	Clock    Clock
	Starved  Starvation
	// NotTrusted counts the network namespaces that the last listing left out, because another
	// user namespace owns them, and names those that the configuration names; may be nil.
	NotTrusted func() (count int, named []string)
	// Attached attaches the Follower again where its cgroup was removed and made again, and
	// reports that; may be nil.
	Attached func() (again bool, err error)
	// ClientFacing reports whether a passive connection's remote is a client.
	ClientFacing func(ns record.NetnsID, local, remote netip.AddrPort, passive bool) bool
	// KernelCounts reads the eBPF program's own counts; may be nil.
	KernelCounts func() (KernelCounts, error)
	// Records takes each finished connection record; may be nil.
	Records func(*record.Conn)
	// OnWindow takes each finished window.
	OnWindow func(ClosedWindow)
	// OnAlarm takes each alarm once, when it is raised.
	OnAlarm func(kind, text string)
	// OnClear takes each alarm once, when it is cleared.
	OnClear func(kind string)
}

// ClosedWindow is one finished window of this host.
type ClosedWindow struct {
	Start   int64 // Unix seconds
	Rows    []record.Window
	Unknown string // why the window is unknown; "" if it is known
	Starved string // why no new treatment may begin; "" if it may
	// Untreated: no host of a fleet's PoP can treat. One host knows that before its first window.
	Untreated bool
	// BBRVersion is that of most hosts of a fleet's PoP; 0 is unknown. One host knows its own.
	BBRVersion int
	// DefaultCongs has the default of each namespace of the last poll.
	DefaultCongs []string
}

// Agent is one host's loop.
type Agent struct {
	opt  Options
	deps Deps

	ledger *ledger.Ledger
	agg    *window.Aggregator
	closes *closeQueue
	asks   chan chan<- struct{} // to the reader of close records
	gone   chan struct{}        // closed if there is no such reader

	// The loop's goroutine owns these.
	known       map[record.NetnsID]Namespace     // namespaces polled at least once
	told        map[record.NetnsID]inetdiag.Cong // existing namespaces, polled or not
	window      int64                            // start of the open window, Unix seconds; 0 before the first poll
	offset      int64                            // Unix minus boot nanoseconds at the last poll
	unknown     string                           // why the open window is unknown
	starved     string                           // the last reason of a CPU shortage in the open window
	closing     []closing
	lastSweepNs int64
	coverage    coverage
	losses      losses
	asked       chan func() // by other goroutines, for the loop to do

	// mu guards what other goroutines read or set: the plan and the status.
	mu      sync.Mutex
	plan    *plan.Plan
	signed  []byte // its text
	setAtNs int64  // boot ns of the last Set
	killed  bool
	status  Status

	alarms alarms
}

// New makes an agent; Run starts it.
func New(o Options, r Deps) *Agent {
	a := &Agent{
		opt: o, deps: r,
		known:  map[record.NetnsID]Namespace{},
		closes: newCloseQueue(o.MaxQueuedCloses),
		asks:   make(chan chan<- struct{}),
		gone:   make(chan struct{}),
		asked:  make(chan func()),
		alarms: alarms{standing: map[string]string{}},
	}
	close(a.gone)
	a.agg = window.New(window.Config{
		WindowSeconds: seconds(o.Window), BlockSeconds: seconds(o.Block), WashoutSeconds: seconds(o.Washout),
		MinBytes: o.MinBytes, MaxPrefixes: o.MaxPrefixes, ArmAt: a.armAt,
	})
	a.ledger = ledger.New(ledger.Config{
		WindowSeconds: seconds(o.Window), BlockSeconds: seconds(o.Block),
		MaxConns: o.MaxConns, ClientFacing: r.ClientFacing, ArmAt: a.armAt, Emit: a.emit,
		Unfollowed: r.Follower == nil,
	})
	return a
}

func seconds(d time.Duration) int64 { return int64(d / time.Second) }

func (a *Agent) emit(c *record.Conn) {
	a.agg.Add(c)
	if a.deps.Records != nil {
		a.deps.Records(c)
	}
}

// Run polls until ctx ends. It sends a window that has ended by then whole, and drops
// the open one: half a window is not a window.
func (a *Agent) Run(ctx context.Context) error {
	var reader sync.WaitGroup
	if err := a.poll(); err != nil {
		return fmt.Errorf("poll sockets for the first time: %w", err)
	}
	if a.deps.Follower != nil {
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
	began, _ := a.deps.Clock()
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
			_, boot := a.deps.Clock()
			a.closeUntil(boot)
		case do := <-a.asked:
			do()
		case <-next.C:
			began, _ = a.deps.Clock()
			if err := a.poll(); err != nil {
				a.RaiseAlarm("poll", "sockets could not be polled: "+err.Error())
			} else {
				a.ClearAlarm("poll")
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
	_, boot := a.deps.Clock()
	return time.After(time.Duration(a.closing[0].dueNs - boot))
}

// untilNextPoll returns the time to the wall clock's next multiple of the poll interval,
// so that a poll falls on each window's end. It is computed each time: a step of the
// clock moves the next poll and nothing else. A window that ended while the last poll
// ran (it began at unixNs) is closed at once, not an interval later.
func (a *Agent) untilNextPoll(unixNs int64) time.Duration {
	now, _ := a.deps.Clock()
	if a.floor(now) > a.floor(unixNs) {
		return 0
	}
	every := int64(a.opt.Poll)
	return time.Duration(every - now%every)
}
