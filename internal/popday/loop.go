package popday

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/congctl/congctl/internal/loop/policy"
	"github.com/congctl/congctl/internal/tcp/record"
)

// Story is what one run of congctl did. Times are seconds of the day.
type Story struct {
	Policy string `json:"policy"`
	Seed   uint64 `json:"seed"`

	Rounds  []RoundLine `json:"rounds"`
	Spans   []Span      `json:"spans"`
	Events  []EventLine `json:"events"` // of networks, except refusals, which are in refused
	Refused []Refusal   `json:"refused,omitempty"`

	FirstTreatedS *int64         `json:"first_treated_s,omitempty"` // the round that first put a network into the plan to be treated
	BrakeS        *int64         `json:"brake_s,omitempty"`         // the brake was pulled: harm over all
	RampS         int64          `json:"ramp_s"`
	NewAfterRamp  int            `json:"new_after_ramp"`
	Memberships   int            `json:"selected_after_ramp"` // sum over rounds of the selected networks
	NewShare      float64        `json:"new_share_after_ramp"`
	Left          map[string]int `json:"left"`             // how often a network left the plan, by event
	Treated       []int          `json:"treated_networks"` // with a response on a congestion control other than the default
}

// RoundLine is one round's churn.
type RoundLine struct {
	AtS      int64 `json:"at_s"`
	Known    int   `json:"known"`
	InGroup  int   `json:"in_group"`
	Selected int   `json:"selected"`
	New      int   `json:"new"`
	Released int   `json:"released"`
}

// Span is a time in which a network was in the plan in one state.
type Span struct {
	Network int    `json:"network"`
	Class   string `json:"class"`
	State   string `json:"state"` // trial, promoted, selected, hold-out, A/A
	FromS   int64  `json:"from_s"`
	ToS     int64  `json:"to_s"`
	End     string `json:"end"` // the event that ended it, or "day"
}

// EventLine is one event of a network.
type EventLine struct {
	AtS     int64  `json:"at_s"`
	Network int    `json:"network"`
	Class   string `json:"class"`
	Kind    string `json:"kind"`
	Text    string `json:"text"`
}

// Refusal is a network that was slow enough but kept out.
type Refusal struct {
	Network int    `json:"network"`
	Class   string `json:"class"`
	Guards  string `json:"guards"`
}

// dayEnd ends a span that nothing else ended.
const dayEnd = "day"

// teller makes a Story.
type teller struct {
	base    string          // congestion control
	theirs  map[string]bool // classes of neighbours
	run     *Run
	network map[record.Prefix]int
	s       *Story
}

// tell returns the story of a run that has congctl.
func tell(in *Input, r *Run) Story {
	s := Story{Policy: r.Facts.Policy, Seed: r.Facts.Seed, Left: map[string]int{}}
	base, _ := in.arms()
	t := &teller{base, in.neighbours(), r, map[record.Prefix]int{}, &s}
	for i, n := range r.Facts.Networks {
		t.network[n.Prefix] = i
	}
	t.rounds()
	t.events()
	t.spans(int64(in.Day.EndUs / 1e6))
	t.churn(in.Experiment)
	t.treated()
	for p, guards := range r.Loop.Refuse {
		if n, ok := t.network[p]; ok {
			s.Refused = append(s.Refused, Refusal{n, t.class(n), guards})
		}
	}
	slices.SortFunc(s.Refused, func(a, b Refusal) int { return cmp.Compare(a.Network, b.Network) })
	return s
}

func (t *teller) class(n int) string         { return t.run.Facts.Networks[n].Class }
func (t *teller) at(unix int64) int64        { return unix - t.run.Facts.BeganUnixS }
func (t *teller) known(p record.Prefix) bool { _, ok := t.network[p]; return ok }

func (t *teller) rounds() {
	for i := range t.run.Loop.Rounds {
		r := &t.run.Loop.Rounds[i]
		t.s.Rounds = append(t.s.Rounds, RoundLine{t.at(r.RoundStart), r.Known, r.InGroup, r.Selected, r.New, r.Released})
	}
}

// leaving are the events that take a network out of the plan.
var leaving = []string{string(policy.EventReleased), string(policy.EventRetired), string(policy.EventDemoted)}

func (t *teller) events() {
	for _, e := range t.run.Loop.Events {
		if at := t.at(e.At); e.Kind == string(policy.EventBrake) && t.s.BrakeS == nil {
			t.s.BrakeS = &at
		}
		if !t.known(e.Prefix) || e.Kind == string(policy.EventRefused) {
			continue
		}
		n := t.network[e.Prefix]
		t.s.Events = append(t.s.Events, EventLine{t.at(e.At), n, t.class(n), e.Kind, e.Text})
		if slices.Contains(leaving, e.Kind) {
			t.s.Left[e.Kind]++
		}
	}
}

// spans follows the selection of each round. Events name how one ended.
func (t *teller) spans(end int64) {
	open := map[record.Prefix]*Span{}
	finish := func(p record.Prefix, at int64) {
		s := open[p]
		s.ToS, s.End = at, t.ending(s.Network, at)
		t.s.Spans = append(t.s.Spans, *s)
		delete(open, p)
	}
	for i := range t.run.Loop.Rounds {
		r := &t.run.Loop.Rounds[i]
		at, still := t.at(r.RoundStart), map[record.Prefix]bool{}
		for j := range r.Chosen {
			c := &r.Chosen[j]
			if !t.known(c.Prefix) {
				continue
			}
			still[c.Prefix] = true
			if s := open[c.Prefix]; s != nil && s.State != stateOf(c) {
				finish(c.Prefix, at)
			}
			if open[c.Prefix] == nil {
				n := t.network[c.Prefix]
				open[c.Prefix] = &Span{Network: n, Class: t.class(n), State: stateOf(c), FromS: at}
				if c.Role == record.ArmNone && t.s.FirstTreatedS == nil {
					t.s.FirstTreatedS = &at
				}
			}
		}
		for p := range open {
			if !still[p] {
				finish(p, at)
			}
		}
	}
	for p := range open {
		finish(p, max(end, open[p].FromS))
	}
	slices.SortFunc(t.s.Spans, func(a, b Span) int {
		return cmp.Or(cmp.Compare(a.FromS, b.FromS), cmp.Compare(a.Network, b.Network))
	})
}

// ending returns the event of a network at a time.
func (t *teller) ending(network int, at int64) string {
	for _, e := range t.s.Events {
		if e.Network == network && e.AtS == at && e.Kind != string(policy.EventSelected) {
			return e.Kind
		}
	}
	return dayEnd
}

func stateOf(c *policy.Selected) string {
	switch {
	case c.Role != record.ArmNone:
		return c.Role.String()
	case c.State != "":
		return string(c.State)
	}
	return string(policy.StateSelected)
}

// churn sums the rounds after the ramp: before twice MinKnown windows no network can be
// chosen, or all at once.
func (t *teller) churn(e Experiment) {
	s := t.s
	s.RampS = 2 * int64(e.MinKnown) * e.WindowS
	for _, r := range s.Rounds {
		if r.AtS > s.RampS {
			s.NewAfterRamp += r.New
			s.Memberships += r.Selected
		}
	}
	if s.Memberships > 0 {
		s.NewShare = float64(s.NewAfterRamp) / float64(s.Memberships)
	}
}

func (t *teller) treated() {
	for i := range t.run.Responses {
		r := &t.run.Responses[i]
		if r.Cong != "" && r.Cong != t.base && !t.theirs[t.class(r.Network)] && !slices.Contains(t.s.Treated, r.Network) {
			t.s.Treated = append(t.s.Treated, r.Network)
		}
	}
	slices.Sort(t.s.Treated)
}

// counts reports whether the network is in the plan to be treated: neither hold-out nor A/A.
func (s *Span) counts() bool {
	return s.State != record.ArmHoldout.String() && s.State != record.ArmAA.String()
}

// selected networks, each once: those that were in the plan to be treated.
func (s *Story) selected() []int { return s.networks((*Span).counts) }

func (s *Story) promoted() []int {
	return s.networks(func(sp *Span) bool { return sp.State == string(policy.StatePromoted) })
}

func (s *Story) networks(keep func(*Span) bool) (list []int) {
	for i := range s.Spans {
		if sp := &s.Spans[i]; keep(sp) && !slices.Contains(list, sp.Network) {
			list = append(list, sp.Network)
		}
	}
	return list
}

// Clock returns a time of the day as 1:05:30.
func Clock(s int64) string { return fmt.Sprintf("%d:%02d:%02d", s/3600, s/60%60, s%60) }
