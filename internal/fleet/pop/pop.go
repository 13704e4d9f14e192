// Package pop is one PoP of a fleet at its controller: it makes one window of what the PoP's hosts
// send, has the controller decide on it, and sees that the plan reaches each host.
//
// It decides nothing about networks; that is loop/controller, the same as on one host.
//
// Its trap: what a host sends of a window is whole only with its word that all of it was sent.
// Until then there are only the connections that ended early, so a host without that word is left
// out of the window.
package pop

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/congctl/congctl/internal/answer/foreign"
	"github.com/congctl/congctl/internal/fleet/rollout"
	"github.com/congctl/congctl/internal/loop/agent"
	"github.com/congctl/congctl/internal/loop/plan"
	"github.com/congctl/congctl/internal/loop/window"
	"github.com/congctl/congctl/internal/tcp/record"
)

// Rounds decides. loop/controller is one.
type Rounds interface {
	Round(context.Context, agent.ClosedWindow) error
	Tell(ctx context.Context, kind, text string) error
}

// End is a host's word that it has sent all of a window.
type End struct {
	Host    string
	Unknown string // why the window cannot be trusted there; "": it can
	Starved string // why no new treatment may begin there
	Congs   []string
}

// Inbox holds the windows that are not closed yet, on disk.
type Inbox interface {
	// Oldest returns the start of the oldest window that has something and is not closed; 0 for none.
	Oldest() (int64, error)
	// Ends lists the hosts that have sent all of a window.
	Ends(start int64) ([]End, error)
	// Conns calls row for each record of a window, by boot, sequence and place in its batch: the
	// same records come in the same order however they arrived.
	Conns(start int64, row func(host string, c *record.Conn)) error
	// Close drops a window and all before it; what comes of them later is counted as late.
	Close(start int64) error
}

// Options of a PoP.
type Options struct {
	Name     string
	Key      []byte        // of this process alone, random: canaries and the numbers of clients are drawn by it
	Lateness time.Duration // how long after a window's end hosts may send it

	// As the policy has them.
	Window, Block, Washout time.Duration
	MinBytes               uint64
	MaxPrefixes            int
	Limits                 plan.Limits // what its hosts may treat, as this configuration has it

	// Turns bounds how many PoPs have a window in memory at once, all that share it; nil: no bound.
	Turns chan struct{}
}

// PoP is one PoP. Several goroutines may call its methods.
type PoP struct {
	opt   Options
	in    Inbox
	round Rounds
	plans Plans
	log   *slog.Logger
	now   func() time.Time

	started time.Time
	were    []string      // hosts that were connected when the controller before this one ended
	wake    chan struct{} // something came
	faults  bool          // the last window could not be read

	mu      sync.Mutex // guards all below
	next    int64      // window to close next, Unix seconds
	plan    *plan.Plan // the latest; its arms are those of the one before it
	roll    *rollout.Rollout
	stands  map[string]Standing
	kept    flags // that the store has
	streams map[string]*stream
	todo    []func()
}

type flags struct{ killed, frozen bool }

// Past is what a store has of a PoP.
type Past struct {
	Next    int64  // end of the last window, Unix seconds; 0 for an empty store
	Rollout []byte // what Remember kept of it
}

// New makes a PoP. It becomes the controller's host before Run.
func New(o Options, in Inbox, r Rounds, plans Plans, was Past, log *slog.Logger, now func() time.Time) (*PoP, error) {
	p := &PoP{opt: o, in: in, round: r, plans: plans, log: log, now: now, started: now(), wake: make(chan struct{}, 1), next: was.Next, streams: map[string]*stream{}}
	var state rollout.State
	if len(was.Rollout) > 0 {
		if err := json.Unmarshal(was.Rollout, &state); err != nil {
			return nil, fmt.Errorf("read roll-out of %s: %w", o.Name, err)
		}
	}
	for name, h := range state.Hosts {
		if h.Connected {
			p.were = append(p.were, name)
		}
	}
	p.roll = rollout.New(o.Name, o.Key, rollout.DefaultRules(), state)
	p.kept = flags{state.Killed, state.Frozen}
	p.mu.Lock()
	defer p.mu.Unlock()
	return p, p.step(context.Background(), rollout.Restart{})
}

// Next is the start of the window to be closed next, Unix seconds.
func (p *PoP) Next() int64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.next
}

// Came wakes Run: a batch has arrived for the PoP.
func (p *PoP) Came() {
	select {
	case p.wake <- struct{}{}:
	default:
	}
}

// armAt is [window.Config].ArmAt.
func (p *PoP) armAt(prefix record.Prefix, unix int64) (record.Arm, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.plan == nil {
		return record.ArmNone, false
	}
	return p.plan.ArmWithin(p.opt.Limits, prefix, unix)
}

func (p *PoP) seconds() int64 { return seconds(p.opt.Window) }

func seconds(d time.Duration) int64 { return int64(d / time.Second) }

// tickEvery is how often time passes for a roll-out.
const tickEvery = time.Second

// again is how long to wait after a window could not be read: a database may be away for a while.
const again = 5 * time.Second

// faulty reports whether err is a fault, and logs when one begins.
func (p *PoP) faulty(err error) bool {
	if err != nil && !p.faults {
		p.log.Error("windows wait, and are decided when this is over", "err", err)
	}
	p.faults = p.faults || err != nil
	return err != nil
}

// recover is for an inbox that can be read again. What was sent meanwhile is still on its way there,
// as after a start.
func (p *PoP) recover() {
	if p.faults {
		p.faults, p.started = false, p.now()
		p.log.Info("windows can be read again")
	}
}

// Run closes windows and rolls out until ctx ends. A window ends when all hosts that are there have
// sent it, or when its lateness is over.
func (p *PoP) Run(ctx context.Context) {
	tick := time.NewTicker(tickEvery)
	defer tick.Stop()
	for {
		wait, err := p.closeDue(ctx)
		if p.faulty(err) {
			wait = again
		}
		due := time.NewTimer(wait)
		select {
		case <-ctx.Done():
			due.Stop()
			return
		case <-p.wake:
		case <-due.C:
		case <-tick.C:
			p.mu.Lock()
			_ = p.step(ctx, rollout.Tick{})
			p.mu.Unlock()
		}
		due.Stop()
		p.doLater()
	}
}

func (p *PoP) doLater() {
	p.mu.Lock()
	todo := p.todo
	p.todo = nil
	p.mu.Unlock()
	for _, fn := range todo {
		fn()
	}
}

// closeDue closes all windows that are due and returns the time until the next one.
func (p *PoP) closeDue(ctx context.Context) (time.Duration, error) {
	for ctx.Err() == nil {
		if wait := p.early(); wait > 0 {
			return wait, nil
		}
		start, err := p.open()
		if err != nil {
			return 0, fmt.Errorf("close window of %s: %w", p.opt.Name, err)
		}
		end := time.Unix(start+p.seconds(), 0)
		if wait := end.Sub(p.now()); wait > 0 {
			return wait, nil
		}
		ends, err := p.in.Ends(start)
		if err != nil {
			return 0, fmt.Errorf("close window of %s: %w", p.opt.Name, err)
		}
		missing := p.missing(ends)
		if wait := p.deadline(end).Sub(p.now()); wait > 0 && (len(missing) > 0 || len(ends) == 0) {
			return wait, nil
		}
		if err := p.close(ctx, start, ends, missing); err != nil {
			return 0, err
		}
	}
	return 0, nil
}

// early is how long the window to close next still runs. Until then the inbox need not be asked: a hundred PoPs
// would ask ClickHouse a hundred times a second.
func (p *PoP) early() time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.now()
	if p.faults || p.next > now.Unix() { // of which open knows more
		return 0
	}
	return time.Unix(p.next+p.seconds(), 0).Sub(now)
}

// open returns the window to close next. After a time without a controller that is the oldest one
// of which something is there, or comes while hosts are expected back; windows of which there is
// nothing are left out, as those of a host that was down.
func (p *PoP) open() (int64, error) {
	oldest, err := p.in.Oldest()
	if err != nil {
		return 0, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.recover()
	now := p.now()
	present := now.Unix() - now.Unix()%p.seconds()
	switch {
	case p.next == 0 || p.next > present: // an empty store, or a clock that was set back
		p.next = present
	case oldest >= p.next:
		p.next = min(oldest, max(p.next, present-p.seconds()))
	case now.Sub(p.started) > returns:
		p.next = max(p.next, present-p.seconds())
	}
	return p.next, nil
}

// returns is how long a controller that has just started waits for hosts: their back-off is at
// most 10 s.
const returns = 15 * time.Second

// deadline is until when hosts may send a window.
func (p *PoP) deadline(end time.Time) time.Time {
	if back := p.started.Add(returns); end.Add(p.opt.Lateness).Before(back) {
		return back
	}
	return end.Add(p.opt.Lateness)
}

func (p *PoP) close(ctx context.Context, start int64, ends []End, missing []string) error {
	if p.opt.Turns != nil {
		select {
		case p.opt.Turns <- struct{}{}:
			defer func() { <-p.opt.Turns }()
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	w, err := p.gather(start, ends)
	if err != nil {
		return fmt.Errorf("close window of %s: %w", p.opt.Name, err)
	}
	if len(missing) > 0 {
		p.log.Warn(fmt.Sprintf("window of %s left out %s: not all of it came within %s of its end",
			time.Unix(start, 0).UTC().Format(time.RFC3339), strings.Join(missing, ", "), p.opt.Lateness))
	}
	if err := p.round.Round(ctx, w); err != nil {
		// As on one host: the window is lost, and the next one is decided.
		p.log.Error("decide", "err", errors.Join(err, p.round.Tell(ctx, "alarm round", err.Error())))
	}
	p.mu.Lock()
	p.next = start + p.seconds()
	p.mu.Unlock()
	return p.in.Close(start)
}

// gather makes one window of what the hosts sent. A host that cannot trust its own is left out;
// the window is unknown if that leaves none. Treatment may begin unless every host is starved: each
// starved host's kernel begins none by itself.
func (p *PoP) gather(start int64, ends []End) (w agent.ClosedWindow, err error) {
	w.Start = start
	counts := map[string]bool{}
	starved := 0
	for _, e := range ends {
		if e.Unknown != "" {
			w.Unknown = foreign.Cut(e.Host+": "+e.Unknown, foreign.MaxText)
			continue
		}
		counts[e.Host] = true
		w.DefaultCongs = append(w.DefaultCongs, e.Congs...)
		if e.Starved != "" {
			starved++
			w.Starved = foreign.Cut(e.Host+": "+e.Starved, foreign.MaxText)
		}
	}
	switch {
	case len(counts) > 0:
		w.Unknown = ""
	case w.Unknown == "":
		w.Unknown = "no host sent all of it"
	}
	if starved < len(counts) {
		w.Starved = ""
	}
	w.Untreated, w.BBRVersion = p.untreated(), p.bbrVersion()
	slices.Sort(w.DefaultCongs)
	w.DefaultCongs = slices.Compact(w.DefaultCongs)
	w.Rows, err = p.rows(start, counts)
	return w, err
}

// rows adds up what the hosts that count sent. Where one sent more than it may decide, all is read a second time.
func (p *PoP) rows(start int64, counts map[string]bool) ([]record.Window, error) {
	t, rows := newTally(p.opt.MaxPrefixes, p.opt.MinBytes), p.newRows()
	err := p.in.Conns(start, func(host string, c *record.Conn) {
		if counts[host] && t.add(host, c) {
			rows.Add(c)
		}
	})
	b := t.bounds()
	if err == nil && b != nil {
		rows = p.newRows()
		var less record.Conn
		err = p.in.Conns(start, func(host string, c *record.Conn) {
			if !counts[host] {
				return
			}
			if n := b.take(host, c); n > 0 {
				less = *c
				less.Weight = float64(n)
				rows.Add(&less)
			}
		})
	}
	if err != nil {
		return nil, err
	}
	p.tell(t.standing(b))
	out, _ := rows.Flush(start)
	return out, nil
}

func (p *PoP) newRows() *window.Aggregator {
	return window.New(window.Config{
		WindowSeconds: seconds(p.opt.Window), BlockSeconds: seconds(p.opt.Block), WashoutSeconds: seconds(p.opt.Washout),
		MinBytes: p.opt.MinBytes, MaxPrefixes: p.opt.MaxPrefixes, ArmAt: p.armAt,
	})
}
