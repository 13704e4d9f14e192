package simulate

import (
	"encoding/binary"

	"github.com/congctl/congctl/internal/core/city"
	"github.com/congctl/congctl/internal/core/plan"
	"github.com/congctl/congctl/internal/core/policy"
	"github.com/congctl/congctl/internal/core/record"
)

// force stands for plan, agent and kernel: it puts a round's selection in force in
// the next window, with the arms that a plan draws.
type force struct {
	o     CityOptions
	draws *plan.Draws
	at    map[record.Prefix]int // place
	in    []*policy.Selected    // by place; nil is not in the plan
	nets  []record.Prefix       // by place
	start int64                 // of the present window

	stopped bool // the brake was pulled: nobody is there to resume
}

func newForce(o CityOptions, c *city.City) *force {
	salt := binary.BigEndian.AppendUint64([]byte("the city"), o.Seed)
	f := &force{o: o, draws: plan.NewDraws(salt, o.Holdout, o.AA), at: map[record.Prefix]int{},
		in: make([]*policy.Selected, len(c.Places))}
	for i := range c.Places {
		f.at[c.Places[i].Prefix] = i
		f.nets = append(f.nets, c.Places[i].Prefix)
	}
	return f
}

// take puts a decision in force from the next window on.
func (f *force) take(d policy.Decision) {
	clear(f.in)
	if f.stopped = f.stopped || d.Brake != ""; f.stopped {
		return
	}
	for i := range d.Selection {
		s := &d.Selection[i]
		f.in[f.at[s.Prefix]] = s
	}
}

// served is what a place gets in the present window.
func (f *force) served(place int) city.Served {
	s := f.in[place]
	switch {
	case s == nil:
		return city.Served{}
	case s.Role != record.ArmNone:
		return city.Served{Arm: s.Role}
	}
	block, start, _ := plan.Block(f.start, f.o.Rules.Trial.BlockSeconds)
	return city.Served{
		Arm:     f.draws.Arm(f.nets[place], f.groupLen(s), block),
		Washout: f.start-start < f.o.Rules.Trial.WashoutSeconds,
	}
}

func (f *force) groupLen(s *policy.Selected) int {
	t := f.o.Rules.Trial
	if t.On && s.State != policy.StatePromoted {
		return t.GroupTrial
	}
	return t.GroupPromoted
}

// treatable says whether a place may ever be treated.
func (f *force) treatable(place int) bool {
	return !f.o.Rules.Trial.On || f.draws.Role(f.nets[place]) == record.ArmNone
}
