package policy

import (
	"fmt"
	"math"

	"github.com/congctl/congctl/internal/answer"
	"github.com/congctl/congctl/internal/loop/effect"
	"github.com/congctl/congctl/internal/tcp/record"
)

// State is what the policy does with a prefix.
type State string

const (
	StateUntreated State = "untreated"
	StateSelected  State = "selected"
	StateExcluded  State = "excluded" // not selected, and a guard would keep it out
	StateAlways    State = "always"   // treated because the operator says so
	StateCooling   State = "cooling"  // tried, and not to be tried again for a while

	// With the experiment, in place of selected.
	StateTrial    State = "trial"    // treated and not, in turns
	StatePromoted State = "promoted" // believed to gain, treated except in the control blocks of all
	StateHoldout  State = "hold-out" // slow enough, and never treated
	StateAA       State = "A/A"      // tried like the others, and never treated
)

// States lists all states, those in the plan first.
var States = []State{StateAlways, StatePromoted, StateTrial, StateSelected, StateHoldout, StateAA, StateCooling, StateExcluded, StateUntreated}

// Explanation is all that the policy knows of a prefix, and what follows from it.
type Explanation struct {
	Prefix     record.Prefix `json:"prefix"`
	RoundStart int64         `json:"round_start"` // of the round that it describes, Unix seconds
	State      State         `json:"state"`
	Chosen     *Selected     `json:"selected,omitempty"`

	Known   int     `json:"known_windows"`
	InGroup int     `json:"in_group_windows"`
	Changes int     `json:"changes"`
	Duty    float64 `json:"duty"`
	Flap    float64 `json:"flap"`

	PerfBytesPerS float64 `json:"performance_bytes_per_s"` // last known control performance; 0: none in MaxAgeSeconds
	PerfStart     int64   `json:"performance_window_start,omitempty"`
	// BoundaryOnly: unknown in this window, but treated and in use, so that its last known
	// control performance took part in drawing the boundary.
	BoundaryOnly bool `json:"boundary_only,omitempty"`

	Windows    []WindowLine `json:"windows"` // oldest first, from the oldest known one to the present, without a gap; unknown ones in runs
	Pool       Pool         `json:"guard_evidence"`
	Signature  *Signature   `json:"signature,omitempty"`
	Guards     []Guard      `json:"guards"`
	Verdict    []string     `json:"verdict"` // sentences
	Experiment *Experiment  `json:"experiment,omitempty"`
	PacingCap  *PacingCap   `json:"pacing_cap,omitempty"`
	Thresholds Rules        `json:"thresholds"`
}

// WindowLine is one window of an Explanation, or a run of windows unknown for the same
// reason: a prefix that is known three hours of a day has 250 of those.
type WindowLine struct {
	Start int64  `json:"window_start"`      // Unix seconds
	Last  int64  `json:"run_end,omitempty"` // start of the run's last window; 0: a single one
	Known bool   `json:"known"`
	Why   string `json:"why,omitempty"` // of an unknown window

	// Eligible control connections. Those of an unknown window are remembered for
	// LookbackSeconds only.
	Own      int `json:"own,omitempty"`
	Borrowed int `json:"borrowed,omitempty"`

	PerfBytesPerS     float64 `json:"performance_bytes_per_s,omitempty"` // to seven digits
	BoundaryBytesPerS float64 `json:"boundary_bytes_per_s,omitempty"`    // 0: not drawn
	Rank              int     `json:"rank,omitempty"`                    // 1 the slowest
	Ranked            int     `json:"ranked,omitempty"`
	InGroup           bool    `json:"in_group"`
}

// Explain returns everything about a prefix as of the last round; ok is false for one that
// is neither tracked nor listed.
func (e *Engine) Explain(p record.Prefix) (x Explanation, ok bool) {
	t, _ := e.find(p)
	if _, listed := e.isAlways(p); listed && t == nil {
		t = &track{plain: plain{prefix: p, seen: e.now}} // waits, and was never seen
	}
	if t == nil {
		return Explanation{Prefix: p}, false
	}
	return e.explain(t), true
}

func (e *Engine) explain(t *track) Explanation {
	s, p := t.standing(), t.pool(e.now, e.rules)
	x := Explanation{
		Prefix: t.prefix, RoundStart: e.start(e.now) + e.rules.WindowSeconds,
		Known: s.known, InGroup: s.in, Changes: s.changes, Duty: s.duty(), Flap: s.flap(),
		BoundaryOnly: e.boundaryOnly(t), Windows: e.windows(t), Pool: p.finite(), Signature: e.signature(t, p), Guards: e.guards(t, p), Thresholds: e.thresholds(t),
	}
	if t.lastN > 0 {
		x.PerfBytesPerS, x.PerfStart = t.last, e.start(t.lastAt)
	}
	if t.chosen != nil {
		c := *t.chosen
		x.Chosen = &c
	}
	for i := range x.Guards {
		x.Guards[i].Text = e.guardText(x.Guards[i], t, p)
	}
	x.State = e.state(t, hits(x.Guards))
	x.Verdict = e.verdict(t, s)
	x.Experiment, x.PacingCap = e.experiment(t), e.pacingCap(t)
	return x
}

// thresholds are the rules with those entries of the operator's lists that concern t:
// the lists can be long, and evidence is kept for each event.
func (e *Engine) thresholds(t *track) Rules {
	r := e.rules
	r.Guards.Never, r.Always = e.never(t), nil
	if reason, ok := e.isAlways(t.prefix); ok && t.prefix != record.All {
		r.Always = []Listed{{t.prefix.Netip(), reason}}
	}
	return r
}

func (e *Engine) state(t *track, guard string) State {
	switch {
	case t.chosen != nil:
		return t.chosen.state()
	case e.withAll(t) != nil:
		return StateAlways
	case e.isCooling(t.prefix, e.start(e.now)+e.rules.WindowSeconds):
		return StateCooling
	case guard != "":
		return StateExcluded
	}
	return StateUntreated
}

// state of a prefix in the plan, as people see it.
func (s *Selected) state() State {
	switch {
	case s.Role == record.ArmHoldout:
		return StateHoldout
	case s.Role == record.ArmAA:
		return StateAA
	case s.State != "":
		return s.State
	}
	return StateSelected
}

// boundaryOnly: see level.go.
func (e *Engine) boundaryOnly(t *track) bool {
	since := t.chosen != nil && t.chosen.Since <= e.start(e.now) // chosen in an earlier round
	return since && e.in.Unknown == "" && (t.lastN == 0 || t.lastAt != e.now) && t.ranksOnly(e.now, e.rules)
}

// windows lists what is remembered, from the oldest known window on, and at least the
// lookback.
func (e *Engine) windows(t *track) []WindowLine {
	if !e.started {
		return nil
	}
	first := int64(e.now) - e.rules.lookback() + 1
	if len(e.rounds) > 0 {
		first = max(first, int64(e.rounds[0].window))
	}
	if len(t.history) > 0 {
		first = min(first, int64(e.windowOf(t.history[0])))
	}
	first = max(first, 0)
	list := make([]WindowLine, 0, len(t.history)+int(e.rules.lookback()))
	history, rounds := t.history, e.rounds
	for w := uint32(first); w <= e.now; w++ {
		for len(rounds) > 0 && rounds[0].window < w {
			rounds = rounds[1:]
		}
		l := WindowLine{Start: e.start(w)}
		if len(history) > 0 && e.windowOf(history[0]) == w {
			l.fill(history[0], rounds[0])
			history = history[1:]
		} else {
			l.Why = e.whyUnknown(t, w, rounds)
			if s := t.at(w); s != nil {
				l.Own = int(s.eligible)
			}
		}
		list = appendLine(list, l)
	}
	return list
}

// appendLine extends the last line if l is unknown for the same reason.
func appendLine(list []WindowLine, l WindowLine) []WindowLine {
	if n := len(list); n > 0 && !l.Known && !list[n-1].Known && l.Own == 0 && list[n-1].Own == 0 && l.Why == list[n-1].Why {
		list[n-1].Last = l.Start
		return list
	}
	return append(list, l)
}

func (l *WindowLine) fill(h entry, r round) {
	l.Known, l.Own, l.Borrowed = true, h.own(), h.borrowed()
	l.PerfBytesPerS, l.BoundaryBytesPerS = math.Round(float64(h.perf)), r.boundary
	l.Rank, l.Ranked, l.InGroup = h.rank(), r.ranked, h.in()
}

func (e *Engine) whyUnknown(t *track, w uint32, rounds []round) string {
	switch {
	case len(rounds) == 0 || rounds[0].window != w:
		return "no round ran"
	case rounds[0].unknown != "":
		return rounds[0].unknown
	case w == e.now:
		l := t.level(w, e.rules)
		return fmt.Sprintf("%s, %d needed", answer.Count(int(l.own+l.borrowed), "eligible control connection")+" in "+
			durationText(e.rules.LookbackSeconds), e.rules.MinSamples)
	}
	return fmt.Sprintf("fewer than %d eligible control connections in %s", e.rules.MinSamples, durationText(e.rules.LookbackSeconds))
}

// Experiment is the part of an Explanation for a prefix that is or was tried.
type Experiment struct {
	Since   int64      `json:"since,omitempty"`         // in its present state, Unix seconds
	From    int64      `json:"evidence_from,omitempty"` // start of the first block that counts
	Role    record.Arm `json:"role,omitempty"`          // hold-out or A/A
	Retired int        `json:"retired_in_a_row,omitempty"`
	Until   int64      `json:"cooling_until,omitempty"` // Unix seconds; 0: not cooling down

	Pairs []PairLine `json:"pairs,omitempty"` // as weighed at the last end of a block, oldest first

	// Rate under treatment / under control; the bounds hold at all times at once with 95 %.
	// 0 below two pairs; a bound that is not yet known is 0 too.
	Rate float64 `json:"rate_ratio,omitempty"`
	Low  float64 `json:"rate_ratio_low,omitempty"`
	High float64 `json:"rate_ratio_high,omitempty"`

	// The same of goodput over busy time, the second outcome, from two pairs that know it.
	Goodput     float64 `json:"goodput_ratio,omitempty"`
	GoodputLow  float64 `json:"goodput_ratio_low,omitempty"`
	GoodputHigh float64 `json:"goodput_ratio_high,omitempty"`

	// log10 of the evidence of a benefit, by the draw alone (effect.LogBenefit), of that of harm in either outcome, and of what
	// shows harm.
	Benefit float64 `json:"log10_evidence_of_benefit,omitempty"`
	Harm    float64 `json:"log10_evidence_of_harm,omitempty"`
	Needed  float64 `json:"log10_evidence_needed,omitempty"`

	NoiseBlock float64 `json:"noise_block,omitempty"` // standard deviations of ln rate, as estimated over all pairs
	NoiseConn  float64 `json:"noise_connection,omitempty"`
}

// PairLine is one pair of an Experiment.
type PairLine struct {
	Start  int64 `json:"start"` // of the group, Unix seconds
	End    int64 `json:"end"`
	TConns int   `json:"treatment_connections"`
	CConns int   `json:"control_connections"`

	Rate             float64 `json:"rate_ratio"`
	Goodput          float64 `json:"goodput_ratio,omitempty"`    // 0: not known
	TBytesPerS       float64 `json:"treatment_rate_bytes_per_s"` // geometric means
	CBytesPerS       float64 `json:"control_rate_bytes_per_s"`
	TRetransShare    float64 `json:"treatment_retrans_share"`
	CRetransShare    float64 `json:"control_retrans_share"`
	ShareOfTreatment float64 `json:"share_of_treatment"` // of the blocks
}

// experiment returns nil if there is nothing to say.
func (e *Engine) experiment(t *track) *Experiment {
	c, tried := e.cooling[t.prefix]
	round := e.start(e.now) + e.rules.WindowSeconds
	switch {
	case t.trial != nil:
		return e.ofTrial(t)
	case tried && round < c.Until:
		return &Experiment{Retired: c.Row, Until: c.Until}
	case tried:
		return &Experiment{Retired: c.Row}
	}
	return nil
}

func (e *Engine) ofTrial(t *track) *Experiment {
	s := t.chosen
	x := &Experiment{Since: s.Since, Role: s.Role, Retired: s.Retired}
	if s.Role == record.ArmHoldout {
		return x
	}
	x.From, x.Needed = s.From, needed/math.Ln10
	x.NoiseBlock, x.NoiseConn = e.noise.Block, e.noise.Conn
	for _, p := range t.trial.pairs {
		x.Pairs = append(x.Pairs, e.pairLine(p))
	}
	x.Rate, x.Low, x.High = ratioOf(t.trial.evidence)
	x.Goodput, x.GoodputLow, x.GoodputHigh = ratioOf(t.trial.goodput)
	if x.Rate > 0 {
		x.Benefit, x.Harm = t.trial.benefit/math.Ln10, t.trial.shown().LogEHarm()/math.Ln10
	}
	return x
}

// ratioOf returns an estimate with its bounds; zeros below two pairs, and for a bound that is not yet known.
func ratioOf(v effect.Evidence) (ratio, low, high float64) {
	if v.Pairs < 2 {
		return 0, 0, 0
	}
	return math.Exp(v.LogRatio), math.Exp(v.Low), finite(math.Exp(v.High))
}

func (e *Engine) pairLine(p effect.Pair) PairLine {
	treated := p.Treated()
	again, againC := p.RetransShares()
	l := PairLine{Start: p.Begin(), End: p.End, TConns: treated.N, CConns: p.C.N,
		Rate: math.Exp(p.LogRatio()), TBytesPerS: math.Round(math.Exp(treated.MeanLog)), CBytesPerS: math.Round(math.Exp(p.C.MeanLog)),
		TRetransShare: again, CRetransShare: againC, ShareOfTreatment: p.Share()}
	if g := effect.ByGoodput([]effect.Pair{p}); len(g) > 0 {
		l.Goodput = math.Exp(g[0].LogRatio())
	}
	return l
}
