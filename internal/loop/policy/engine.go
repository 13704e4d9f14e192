package policy

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/congctl/congctl/internal/core/effect"
	"github.com/congctl/congctl/internal/core/record"
)

// Engine holds one PoP's prefixes. It is not safe for concurrent use.
type Engine struct {
	rules   Rules
	started bool
	now     uint32   // number of the last window taken
	tracks  []*track // by prefix
	rounds  []round  // oldest first, at most MaxAgeSeconds of them
	hold    hold     // of the last round

	// With the experiment only.
	draws   Draws
	cooling map[record.Prefix]Cooling
	weighed int64         // number of the block at whose start evidence was last weighed
	noise   effect.Noise  // as last estimated
	left    []effect.Pair // of those who left the plan or began again
	fleet   effect.Fleet  // as last weighed
}

// round is what a window was for all prefixes.
type round struct {
	window   uint32
	unknown  string  // why, if the whole window is unknown
	boundary float64 // bytes/s; 0 when it was not drawn
	ranked   int
}

// hold are the reasons of the last round that concern all prefixes.
type hold struct {
	unknown, starved           string
	frozen, isDefault, stopped bool
}

// New makes an engine that knows nobody, without an experiment: the level alone
// decides. It panics on rules that Validate refuses: a policy by wrong numbers must
// not run.
func New(r Rules) *Engine {
	r.Trial.On = false
	return NewExperiment(r, nil)
}

// NewExperiment makes an engine that knows nobody and tries before it trusts. With
// r.Trial off it is New and needs no draws.
func NewExperiment(r Rules, draws Draws) *Engine {
	if !r.Trial.On {
		r.Trial, r.HoldoutPrefixes, r.AAPrefixes = Trial{}, nil, nil
	}
	if err := r.Validate(); err != nil {
		panic(err)
	}
	return &Engine{rules: r, draws: draws, cooling: map[record.Prefix]Cooling{}, weighed: math.MinInt64, noise: effect.DefaultNoise}
}

// Rules are those that the engine decides by.
func (e *Engine) Rules() Rules { return e.rules }

// Input is one window and what is known about the host at its end. The caller
// keeps Rows; they may be in any order.
type Input struct {
	Start      int64           // of the window, Unix seconds, a multiple of WindowSeconds
	RoundStart int64           // its end, Unix seconds
	Rows       []record.Window // all of this Start

	Unknown            string // not empty: why this whole window is unknown for everybody; rows are ignored and nothing is decided
	Starved            string // not empty: the host is short of CPU, in these words; nobody new is selected
	Frozen             bool   // the plan is held as it is: measured, nothing decided
	TreatmentIsDefault bool   // nothing to treat: nobody is selected, who is selected is released
	Stopped            bool   // the kill switch is on: nothing is treated. Without an experiment it changes nothing; with one nothing is decided and every trial begins again
}

// Decision is a round's outcome.
type Decision struct {
	RoundStart int64 `json:"round_start"` // Unix seconds
	Window     int64 `json:"window_start"`

	Tracked  int `json:"tracked"`  // prefixes in memory
	Known    int `json:"known"`    // prefixes whose performance is known in this window
	Ranked   int `json:"ranked"`   // prefixes that drew the boundary: the known ones, and treated ones by their last known performance
	InGroup  int `json:"in_group"` // of the known
	Selected int `json:"selected"` // after the round
	New      int `json:"new"`
	Released int `json:"released"`
	Refused  int `json:"refused"` // slow enough, kept out by a guard

	BoundaryBytesPerS float64    `json:"boundary_bytes_per_s"` // 0: not drawn
	Selection         []Selected `json:"selection"`            // after the round, by prefix
	Cooling           []Cooling  `json:"cooling,omitempty"`    // after the round, by prefix: tried before, and not to be tried before its time
	Stopped           bool       `json:"stopped,omitempty"`    // by the kill switch, with the experiment: nothing was decided
	Brake             string     `json:"brake,omitempty"`      // not empty: pull the kill switch, for this reason
	Events            []Event    `json:"events,omitempty"`
	Note              string     `json:"note,omitempty"`
}

// Selected is a prefix of the plan, with what spoke for it when it was chosen;
// it does not change while it stays, so that a stable history gives the same plan.
type Selected struct {
	Prefix        record.Prefix `json:"prefix"`
	Since         int64         `json:"since"` // the round that chose it, or put it in its present state, Unix seconds
	Reason        string        `json:"reason"`
	Duty          float64       `json:"duty"`
	Flap          float64       `json:"flap"`
	PerfBytesPerS float64       `json:"performance_bytes_per_s"`

	// With the experiment only.
	State   State      `json:"state,omitempty"`         // trial or promoted
	Role    record.Arm `json:"role,omitempty"`          // hold-out or A/A: never treated; none: treated
	From    int64      `json:"evidence_from,omitempty"` // start of the first block that counts, Unix seconds
	Retired int        `json:"retired,omitempty"`       // times in a row, before this trial
}

// Round takes a window and decides. The last window again, the one before it, and
// one that is not aligned are left out, with an event; so are rows of another
// window or with impossible values. A window that is older than that means that
// the clock was set back: what was seen from it on is dropped, with an event. A
// window that never comes is unknown.
func (e *Engine) Round(in Input) Decision {
	d, ok := e.observe(in)
	switch {
	case !ok:
	case e.hold.stopped:
		e.beginAgain(d.RoundStart)
	case e.pull(&d):
	case !e.held():
		e.decide(&d)
	}
	return e.finish(d)
}

// Replay does the same bookkeeping for a window of the past and then imposes the
// memory that was stored for its round. Fed with the inputs of earlier Rounds
// and their Memories it leaves the state that those Rounds left. What is
// selected but was never seen is tracked from this window on.
func (e *Engine) Replay(in Input, m Memory) {
	in.Stopped = m.Stopped
	d, ok := e.observe(in)
	if !ok {
		return
	}
	e.recallCooling(m.Cooling)
	keep := make(map[record.Prefix]*Selected, len(m.Selected))
	for i := range m.Selected {
		s := e.converted(m.Selected[i], d.RoundStart)
		keep[s.Prefix] = &s
	}
	for _, t := range e.tracks {
		if t.chosen != nil {
			e.put(t, keep[t.prefix])
		}
	}
	if !e.held() {
		e.judgeAll(&d) // for its memory of what was told; where Round does it, between releases and selections
	}
	e.impose(keep)
	if len(keep) == 0 {
		e.afresh()
	}
}

func (e *Engine) impose(keep map[record.Prefix]*Selected) {
	for p, s := range keep {
		t := e.find(p)
		if t == nil {
			t = &track{prefix: p, seen: e.now}
			e.insert([]*track{t})
		}
		e.put(t, s)
		t.refused = ""
	}
}

func (e *Engine) held() bool { return e.hold.frozen || e.hold.stopped || e.hold.unknown != "" }

// observe is all of a round but the decision. ok is false for a window that is left out.
func (e *Engine) observe(in Input) (d Decision, ok bool) {
	d = Decision{RoundStart: in.RoundStart, Window: in.Start}
	number, why := e.admit(in)
	if why != "" {
		d.Events = append(d.Events, Event{RoundStart: in.RoundStart, Kind: EventIgnored, Reason: why})
		d.Note = why
		return d, false
	}
	if why := e.turn(number); why != "" {
		d.Events = append(d.Events, Event{RoundStart: in.RoundStart, Kind: EventReset, Reason: why})
	}
	e.hold = hold{unknown: in.Unknown, starved: in.Starved, frozen: in.Frozen, isDefault: in.TreatmentIsDefault,
		stopped: in.Stopped && e.rules.Trial.On}
	d.Stopped = e.hold.stopped
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
	e.rounds = append(e.rounds, round{window: e.now, unknown: in.Unknown, boundary: d.BoundaryBytesPerS, ranked: d.Ranked})
	return d, true
}

// admit gives the window's number, or why it is left out.
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
		return 0, fmt.Sprintf("window of %s left out: that of %s was taken already", at, timeText(e.start(e.now)))
	}
	return number, ""
}

// setBackWindows: the last window may come twice, and one may be late behind it;
// older than that is a clock that was set back. It must not stop the loop until
// the wrong time comes again.
const setBackWindows = 2

// turn makes number the present window and drops what it makes too old or puts
// into the future.
func (e *Engine) turn(number uint32) (reset string) {
	switch {
	case !e.started:
	case number < e.now:
		reset = fmt.Sprintf("history from %s on dropped: the clock was set back from the window of %s",
			timeText(e.start(number)), timeText(e.start(e.now)))
		e.setBack(number)
	case int64(number-e.now) >= e.rules.maxAge():
		reset = fmt.Sprintf("all history dropped: from the window of %s to that of %s is more than %s",
			timeText(e.start(e.now)), timeText(e.start(number)), durationText(e.rules.MaxAgeSeconds))
		for _, t := range e.tracks {
			t.clear()
		}
		e.rounds = nil
	}
	e.now, e.started = number, true
	e.forget()
	old := 0
	for old < len(e.rounds) && int64(e.now-e.rounds[old].window) >= e.rules.maxAge() {
		old++
	}
	e.rounds = slices.Delete(e.rounds, 0, old)
	return reset
}

// setBack drops what was seen in number and later windows.
func (e *Engine) setBack(number uint32) {
	for _, t := range e.tracks {
		t.setBack(number, e.now, e.rules.WindowSeconds, e.rules.Trial.BlockSeconds)
	}
	e.rounds = slices.DeleteFunc(e.rounds, func(r round) bool { return r.window >= number })
	e.weighed = math.MinInt64
}

// take files the rows.
func (e *Engine) take(in Input, d *Decision) {
	all, unsound := e.sightings(in.Rows, in.Start)
	if unsound > 0 {
		d.Events = append(d.Events, Event{RoundStart: in.RoundStart, Kind: EventIgnored,
			Reason: fmt.Sprintf("%d rows left out: of another window, without a client prefix, or with a value that is negative or no number", unsound)})
	}
	if n := e.store(all); n > 0 {
		d.Events = append(d.Events, Event{RoundStart: in.RoundStart, Kind: EventEvicted,
			Reason: fmt.Sprintf("%d prefixes not tracked: more than %d; those with the least bytes went", n, e.rules.MaxTracked)})
	}
}

// finish fills in what is counted after the decision.
func (e *Engine) finish(d Decision) Decision {
	d.Tracked = len(e.tracks)
	d.Selection = []Selected{}
	for _, t := range e.tracks {
		if t.chosen != nil {
			d.Selection = append(d.Selection, *t.chosen)
		}
	}
	if d.Selected = len(d.Selection); d.Selected == 0 {
		e.afresh()
	}
	d.Cooling = e.coolingList(d.RoundStart)
	if d.Note == "" {
		d.Note = e.note(d)
	}
	return d
}

func (e *Engine) note(d Decision) string {
	var n []string
	h := e.hold
	switch {
	case h.unknown != "":
		n = append(n, "window unknown: "+h.unknown)
	case d.Ranked < e.rules.MinRanked:
		n = append(n, fmt.Sprintf("%d prefixes to rank, %d needed: nobody in the group", d.Ranked, e.rules.MinRanked))
	}
	if h.frozen {
		n = append(n, "frozen: plan held as it is")
	}
	if h.isDefault {
		n = append(n, defaultReason)
	}
	if h.stopped {
		n = append(n, "stopped: every trial begins again")
	}
	if d.Brake != "" {
		n = append(n, "brake: "+d.Brake)
	}
	if h.starved != "" {
		n = append(n, "no new selections: "+h.starved)
	}
	return strings.Join(n, "; ")
}

// start gives the Unix seconds at which a window starts.
func (e *Engine) start(window uint32) int64 { return int64(window) * e.rules.WindowSeconds }

// windowOf turns a history entry's short number into the full one.
func (e *Engine) windowOf(h entry) uint32 { return e.now - uint32(h.age(e.now)) }
