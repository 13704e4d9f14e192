package policy

import (
	"fmt"
	"math"
	"net/netip"
	"slices"
	"strings"

	"github.com/congctl/congctl/internal/answer"
	"github.com/congctl/congctl/internal/loop/effect"
	"github.com/congctl/congctl/internal/tcp/record"
)

// Engine holds one PoP's prefixes. It is not safe for concurrent use.
type Engine struct {
	rules     Rules
	started   bool
	now       uint32                   // number of the last window taken
	tracks    []*track                 // by prefix
	laid      *laid                    // where they are at rest, if no round came since
	rounds    []round                  // oldest first, at most MaxAgeSeconds of them
	siteShare float64                  // share that one site may have, in this window
	in        Input                    // of the last round, without rows
	always    map[record.Prefix]string // the reasons of Rules.Always

	// With the experiment only.
	draws   Draws
	cooling map[record.Prefix]Cooling
	gone    []effect.Pair // of trials that ended, as long as evidence counts
	weighed int64         // number of the block at whose start evidence was last weighed
	noise   effect.Noise  // as last estimated
	goodput effect.Noise  // the same of goodput
	loss    effect.Loss   // the same

	pooled   pooling     // what trials say, with selection by benefit
	networks Networks    // nil: none has a name
	turns    Turns       // with one draw for all
	harm     effect.Harm // on the whole
}

// round is what a window was for all prefixes.
type round struct {
	window   uint32
	unknown  string  // why, if the whole window is unknown
	boundary float64 // bytes/s; 0 if it was not drawn
	ranked   int
}

// New makes an engine that knows no prefix. Without an experiment draws may be nil. It panics on rules that
// Validate refuses: a policy with wrong numbers must not run.
func New(r Rules, draws Draws) *Engine {
	if !r.Experiment() {
		r.Trial, r.HoldoutPrefixes, r.AAPrefixes = Trial{}, nil, nil
	}
	if err := r.Validate(); err != nil {
		panic(err)
	}
	r.Guards.Allow = append([]netip.Prefix{}, r.Guards.Allow...) // never null in evidence
	always := map[record.Prefix]string{}
	for _, l := range r.Always {
		p, _ := record.PrefixOf(l.Net.Addr()) // valid
		always[p] = l.Reason
	}
	if r.Select == SelectAll {
		always[record.All] = allReason
	}
	return &Engine{rules: r, always: always, draws: draws, pooled: pool(priorsOf(r), nil), cooling: map[record.Prefix]Cooling{}, weighed: math.MinInt64, noise: effect.DefaultNoise, goodput: effect.DefaultNoise, loss: effect.DefaultLoss}
}

// Rules returns the rules by which the engine decides.
func (e *Engine) Rules() Rules { return e.rules }

// Round takes a window and decides. It ignores, with an event, the last window again, the
// one before it, and one that is not aligned; likewise rows of another window or with
// impossible values. An even older window means that the clock was set back: what was
// seen from it on is dropped, with an event. A window that never comes is unknown.
func (e *Engine) Round(in Input) Decision {
	d, ok := e.observe(in)
	switch {
	case !ok:
	case e.in.Stopped:
		e.beginAgain(d.RoundStart)
	default:
		if !e.holds() {
			e.release(&d)
		}
		if !e.pull(&d) && !e.holds() {
			e.decide(&d)
			e.paceAll(&d)
		}
	}
	return e.finish(d)
}

// Replay does the same bookkeeping for a window of the past and then imposes the memory
// that was stored for its round. Given the inputs of earlier Rounds and their Memories
// it reaches the state that those Rounds left. A selected prefix that was never seen is
// tracked from this window on.
func (e *Engine) Replay(in Input, m Memory) {
	in.Stopped = m.Stopped
	d, ok := e.observe(in)
	if !ok {
		return
	}
	e.recallCooling(m.Cooling)
	e.turns, e.harm = m.Turns, m.Harm
	keep := make(map[record.Prefix]*Selected, len(m.Selected))
	for i := range m.Selected {
		if m.Selected[i].Role != record.ArmNone && !e.rules.Experiment() {
			continue // never treated, and nothing would say so any more
		}
		s := e.converted(m.Selected[i], d.RoundStart)
		keep[s.Prefix] = &s
	}
	for _, t := range e.tracks {
		if t.chosen != nil {
			e.put(t, keep[t.prefix])
		}
	}
	if !e.holds() {
		e.judgeAll(&d) // for its memory of what was told, at the same place as in Round: between releases and selections
	}
	for p, s := range keep {
		t, _ := e.find(p)
		if t == nil {
			t = e.insert(p)
		}
		e.put(t, s)
		t.refused = ""
	}
	for _, t := range e.tracks {
		if t.chosen == nil {
			t.paced = nil
		}
	}
	if e.in.Stopped {
		e.gone = nil
	}
}

func (e *Engine) holds() bool { return e.in.Frozen || e.in.Stopped || e.in.Unknown != "" }

// observe is a round without the decision. ok is false for a window that is left out.
func (e *Engine) observe(in Input) (d Decision, ok bool) {
	if e.Resting() {
		panic("policy: a round of an engine at rest: Wake it")
	}
	d.RoundStart, d.Window = in.RoundStart, in.Start
	number, why := e.admit(in)
	if why != "" {
		d.Events = append(d.Events, Event{RoundStart: in.RoundStart, Kind: EventIgnored, Reason: why})
		d.Note = why
		return d, false
	}
	if why := e.turn(number); why != "" {
		d.Events = append(d.Events, Event{RoundStart: in.RoundStart, Kind: EventReset, Reason: why})
	}
	e.in, e.in.Rows, e.in.Stopped = in, nil, in.Stopped && e.rules.Experiment()
	d.Stopped = e.in.Stopped
	if in.Unknown == "" {
		e.take(in, &d)
	}
	for _, t := range e.tracks {
		t.age(e.now, e.rules)
	}
	if in.Unknown == "" {
		e.levels(&d)
	}
	e.weigh(d.RoundStart)
	e.learn()
	e.rounds = append(e.rounds, round{window: e.now, unknown: in.Unknown, boundary: d.BoundaryBytesPerS, ranked: d.Ranked})
	return d, true
}

// admit returns the window's number, or why it is left out.
func (e *Engine) admit(in Input) (number uint32, why string) {
	w := e.rules.WindowSeconds
	at := timeText(in.Start)
	switch {
	case in.Start < 0 || in.Start%w != 0 || in.Start/w >= none:
		return 0, fmt.Sprintf("window of %s left out: it does not start at a multiple of %d s", at, w)
	case in.RoundStart != in.Start+w:
		return 0, fmt.Sprintf("window of %s left out: its round is at %s, not at its end", at, timeText(in.RoundStart))
	}
	number = uint32(in.Start / w)
	if e.started && number <= e.now && e.now-number < setBackWindows {
		return 0, fmt.Sprintf("window of %s left out: the window of %s was already processed", at, timeText(e.start(e.now)))
	}
	return number, ""
}

// setBackWindows: the last window may come twice, and one may be late behind it; an older
// one means a clock that was set back. It must not stop the loop until the wrong time
// comes again.
const setBackWindows = 2

// turn makes number the present window and drops what is now too old or in the future.
func (e *Engine) turn(number uint32) (reset string) {
	switch {
	case !e.started:
	case number < e.now:
		reset = fmt.Sprintf("history from %s dropped: the clock was set back from the window of %s",
			timeText(e.start(number)), timeText(e.start(e.now)))
		e.setBack(number)
	case int64(number-e.now) >= e.rules.maxAge():
		reset = fmt.Sprintf("all history dropped: the windows of %s and %s are more than %s apart",
			timeText(e.start(e.now)), timeText(e.start(number)), durationText(e.rules.MaxAgeSeconds))
		for _, t := range e.tracks {
			t.clear()
		}
		e.rounds = nil
	}
	e.now, e.started, e.laid = number, true, nil
	e.forget()
	e.rounds = slices.DeleteFunc(e.rounds, func(r round) bool { return int64(e.now-r.window) >= e.rules.maxAge() })
	return reset
}

// setBack drops what was seen in number and later windows.
func (e *Engine) setBack(number uint32) {
	for _, t := range e.tracks {
		t.setBack(number, e.now, e.rules)
	}
	e.rounds = slices.DeleteFunc(e.rounds, func(r round) bool { return r.window >= number })
	e.gone = slices.DeleteFunc(e.gone, func(p effect.Pair) bool { return p.End > e.start(number) })
	e.weighed = math.MinInt64
	e.turns.Until, e.harm.Until = min(e.turns.Until, e.start(number)), min(e.harm.Until, e.start(number))
}

func (e *Engine) take(in Input, d *Decision) {
	all, unsound := e.sightings(in.Rows, in.Start)
	if unsound > 0 {
		d.Events = append(d.Events, Event{RoundStart: in.RoundStart, Kind: EventIgnored,
			Reason: answer.Count(unsound, "row") + " left out: from another window, without a client prefix, or with a negative or invalid value"})
	}
	e.fileAll(all)
	if n := e.store(all); n > 0 {
		d.Events = append(d.Events, Event{RoundStart: in.RoundStart, Kind: EventEvicted,
			Reason: fmt.Sprintf("%d prefixes no longer tracked: over the limit of %d; those with the fewest bytes were dropped", n, e.rules.MaxTracked)})
	}
}

// finish fills in what is counted after the decision.
func (e *Engine) finish(d Decision) Decision {
	d.Tracked = len(e.tracks)
	d.Selection = []Selected{}
	for _, t := range e.tracks {
		if t.chosen != nil {
			e.regroup(t)
			d.Selection = append(d.Selection, *t.chosen)
		} else {
			t.paced = nil // here and not in put: a prefix may leave and come back in one round, which a replay does not see
		}
	}
	d.Selected = len(d.Selection)
	d.Cooling, d.Turns, d.Harm = e.coolingList(d.RoundStart), e.turns, e.harm
	if d.Note == "" {
		d.Note = e.note(d)
	}
	return d
}

func (e *Engine) note(d Decision) string {
	var n []string
	switch {
	case e.in.Unknown != "":
		n = append(n, "window unknown: "+e.in.Unknown)
	case d.Ranked < e.rules.MinRanked:
		n = append(n, fmt.Sprintf("%d prefixes to rank, %d needed: the group is empty", d.Ranked, e.rules.MinRanked))
	}
	if e.in.Frozen {
		n = append(n, "frozen: the plan stays as it is")
	}
	if e.in.TreatmentIsDefault {
		n = append(n, defaultReason)
	}
	if e.in.Stopped {
		n = append(n, "nothing is treated: every trial restarts")
	}
	if d.Brake != "" {
		n = append(n, "brake: "+d.Brake)
	}
	if e.in.Starved != "" {
		n = append(n, "no new selections: "+e.in.Starved)
	}
	return strings.Join(n, "; ")
}

// start returns the Unix seconds at which a window starts.
func (e *Engine) start(window uint32) int64 { return int64(window) * e.rules.WindowSeconds }

// windowOf turns a history entry's short number into the full one.
func (e *Engine) windowOf(h entry) uint32 { return e.now - uint32(h.age(e.now)) }
