package policy

import (
	"fmt"
	"math"
	"slices"

	"github.com/congctl/congctl/internal/core/record"
)

// State is what the policy does with a prefix.
type State string

const (
	StateUntreated State = "untreated"
	StateSelected  State = "selected"
	StateExcluded  State = "excluded" // not selected, and a guard would keep it out
	StateCooling   State = "cooling"  // tried, and not to be tried again for a while

	// With the experiment, in place of selected.
	StateTrial    State = "trial"    // treated and not, in turns, until benefit shows
	StatePromoted State = "promoted" // shown to gain, treated but for control blocks
	StateHoldout  State = "hold-out" // slow enough, and never treated
	StateAA       State = "A/A"      // tried like the others, and never treated
)

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
	// BoundaryOnly: unknown in this window, and being treated and in use it drew
	// the boundary with its last known control performance.
	BoundaryOnly bool `json:"boundary_only,omitempty"`

	Windows    []WindowLine `json:"windows"` // oldest first, from the oldest known one to the present, without a gap; unknown ones in runs
	Pool       Pool         `json:"guard_evidence"`
	Guards     []Guard      `json:"guards"`
	Verdict    []string     `json:"verdict"` // sentences
	Experiment *Experiment  `json:"experiment,omitempty"`
	Thresholds Rules        `json:"thresholds"`
}

// WindowLine is one window of an Explanation, or a run of windows that were unknown
// for the same reason: a prefix that is known three hours of a day has 250 of those.
type WindowLine struct {
	Start int64  `json:"window_start"`      // Unix seconds
	Last  int64  `json:"run_end,omitempty"` // start of the run's last window; 0: a single one
	Known bool   `json:"known"`
	Why   string `json:"why,omitempty"` // of an unknown window

	// Eligible control connections. For an unknown window they are remembered for
	// LookbackSeconds only.
	Own      int `json:"own,omitempty"`
	Borrowed int `json:"borrowed,omitempty"`

	PerfBytesPerS     float64 `json:"performance_bytes_per_s,omitempty"` // to seven digits
	BoundaryBytesPerS float64 `json:"boundary_bytes_per_s,omitempty"`    // 0: not drawn
	Rank              int     `json:"rank,omitempty"`                    // 1 the slowest
	Ranked            int     `json:"ranked,omitempty"`
	InGroup           bool    `json:"in_group"`
}

// Explain gives everything about a prefix as of the last round; ok is false for
// one that is not tracked.
func (e *Engine) Explain(p record.Prefix) (x Explanation, ok bool) {
	t := e.find(p)
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
		BoundaryOnly: e.boundaryOnly(t), Windows: e.windows(t), Pool: p.finite(), Guards: e.guards(t, p), Thresholds: e.rules,
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
	x.Experiment = e.experiment(t)
	return x
}

func (e *Engine) state(t *track, guard string) State {
	switch {
	case t.chosen != nil:
		return t.chosen.state()
	case e.isCooling(t.prefix, e.start(e.now)+e.rules.WindowSeconds):
		return StateCooling
	case guard != "":
		return StateExcluded
	}
	return StateUntreated
}

// state of one in the plan, as people are told.
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
	return since && e.hold.unknown == "" && (t.lastN == 0 || t.lastAt != e.now) && t.ranksOnly(e.now, e.rules)
}

// windows lists what is remembered, from the oldest known window on, and at
// least the lookback.
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

// appendLine lengthens the last line if l is unknown for the same reason.
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
		return "no round ran for it"
	case rounds[0].unknown != "":
		return rounds[0].unknown
	case w == e.now:
		l := t.level(w, e.rules)
		return fmt.Sprintf("%s, %d needed", count(int(l.own+l.borrowed), "eligible control connection")+" in "+
			durationText(e.rules.LookbackSeconds), e.rules.MinSamples)
	}
	return fmt.Sprintf("fewer than %d eligible control connections in %s", e.rules.MinSamples, durationText(e.rules.LookbackSeconds))
}

// verdict says in sentences what follows, by the same tests as the decision.
func (e *Engine) verdict(t *track, s standing) []string {
	if t.chosen != nil {
		return e.verdictSelected(t, s)
	}
	r := e.rules
	in := fmt.Sprintf("in the slowest %s in %d of %d known windows", percent(r.GroupShare, 0), s.in, s.known)
	switch {
	case s.known < r.MinKnown:
		return []string{fmt.Sprintf("Not treated: %s, and below %d nothing is decided.", count(s.known, "known window"), r.MinKnown)}
	case s.duty() < r.SelectDuty:
		return []string{fmt.Sprintf("Not treated: %s, a duty cycle of %.2f; at least %.2f is needed.", in, s.duty(), r.SelectDuty)}
	case s.flap() > r.SelectFlap:
		return []string{fmt.Sprintf("Not treated: %s, but %d times in or out of it, a flap rate of %.2f; at most %.2f is allowed.",
			in, s.changes, s.flap(), r.SelectFlap)}
	}
	slow := fmt.Sprintf("Slow enough to be treated: %s, a duty cycle of %.2f.", in, s.duty())
	if c, round := e.cooling[t.prefix], e.start(e.now)+r.WindowSeconds; round < c.Until {
		return []string{slow, fmt.Sprintf("Not treated: tried before, cools down until %s.", timeText(c.Until))}
	}
	return []string{slow, e.obstacle(t)}
}

// obstacle says why a prefix that is slow enough is not selected.
func (e *Engine) obstacle(t *track) string {
	c, _ := e.candidate(t)
	switch {
	case e.hold.isDefault:
		return "Not treated: " + defaultReason + "."
	case c.guard != "":
		return "Not treated: " + e.refusal(t, c.guard) + "."
	case c.blind:
		return "Waits: no eligible control connection in the last " + durationText(e.rules.LookbackSeconds) + " to judge the guards by."
	case e.hold.frozen:
		return "Waits: the plan is frozen."
	case e.hold.unknown != "":
		return "Waits: this window is unknown, so nothing is decided: " + e.hold.unknown + "."
	}
	return fmt.Sprintf("Waits for room: at most %d new prefixes in a round and %d in all.", e.rules.MaxNewPerRound, e.rules.MaxSelected)
}

func (e *Engine) verdictSelected(t *track, s standing) []string {
	v := []string{fmt.Sprintf("Treated since %s: %s.", timeText(t.chosen.Since), t.chosen.Reason)}
	if t.trial != nil {
		v = e.verdictTried(t)
	}
	switch reason, _ := e.leave(t); {
	case reason != "": // only a held plan keeps it
		v = append(v, "To be released: "+reason+".")
	case t.chosen.State == StatePromoted: // the level does not matter
	case s.known < e.rules.MinKnown:
		v = append(v, fmt.Sprintf("Stays: %s, and below %d nothing is decided.", count(s.known, "known window"), e.rules.MinKnown))
	default:
		v = append(v, fmt.Sprintf("Stays: its duty cycle of %.2f under the default congestion control is not below %.2f.", s.duty(), e.rules.ReleaseDuty))
	}
	if e.boundaryOnly(t) {
		v = append(v, "Treated connections say nothing about its level: in this window it drew the boundary with its last known control performance.")
	}
	return v
}

// refusal is the guards' reasons in one line.
func (e *Engine) refusal(t *track, names string) string {
	if names == GuardStarved {
		return "no new selections: " + e.hold.starved
	}
	p := t.pool(e.now, e.rules)
	text := ""
	for _, g := range e.guards(t, p) {
		if g.holds() {
			if text != "" {
				text += "; "
			}
			text += e.guardText(g, t, p)
		}
	}
	return text
}

// barredText is refusal for the guards that end a treatment.
func (e *Engine) barredText(t *track) string {
	text := ""
	for _, g := range e.guards(t, t.pool(e.now, e.rules)) {
		if g.State == GuardHit && slices.Contains([]string{GuardDeny, GuardRange}, g.Name) {
			if text != "" {
				text += "; "
			}
			text += e.guardText(g, t, Pool{})
		}
	}
	return text
}
