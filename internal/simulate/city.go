package simulate

import (
	"cmp"
	"context"
	"encoding/binary"
	"fmt"

	"github.com/congctl/congctl/internal/loop/plan"
	"github.com/congctl/congctl/internal/loop/policy"
	"github.com/congctl/congctl/internal/simulate/city"
	"github.com/congctl/congctl/internal/tcp/record"
)

// CityOptions are a run's numbers.
type CityOptions struct {
	Seed     uint64
	Prefixes int
	Hours    int
	World    city.World // nuisances
	// Rules; of those by level only Trial's blocks and GroupPromoted count of the experiment.
	Rules       policy.Rules
	Holdout, AA int // permille of all prefixes, with an experiment
}

// cityStart is 2026-11-20T00:00:00Z: a day begins, and a block with it.
const cityStart = 1_795_132_800

// City runs the loop on a simulated city and reports how it did, beside two runs of the
// same city: one where no congestion control makes a difference, and one where nothing is
// treated. progress, which may be nil, is called now and then with the share done, 0 to 1.
func City(ctx context.Context, o CityOptions, progress func(float64)) (CityReport, error) {
	if progress == nil {
		progress = func(float64) {}
	}
	idle := o
	idle.Rules.MaxSelected, idle.Rules.MaxNewPerRound, idle.Rules.Always = 0, 0, nil
	if idle.Rules.Select == policy.SelectAll {
		idle.Rules = idle.Rules.ByLevel()
	}
	var walks [3]*tally
	for i, w := range []struct {
		o      CityOptions
		effect bool
	}{{o, true}, {o, false}, {idle, true}} {
		var err error
		walks[i], err = walk(ctx, w.o, w.effect, func(share float64) { progress((float64(i) + share) / float64(len(walks))) })
		if err != nil {
			return CityReport{}, err
		}
	}
	return report(o, walks[0], walks[1], walks[2]), nil
}

// walk runs engine and city window by window.
func walk(ctx context.Context, o CityOptions, effect bool, progress func(float64)) (*tally, error) {
	c := city.New(o.Seed, o.Prefixes, o.Rules.WindowSeconds, o.World)
	if !effect {
		for i := range c.Places {
			c.Places[i].Factor = 1
		}
	}
	w := o.Rules.WindowSeconds
	windows := int64(o.Hours) * 3600 / w
	f := newForce(o, c)
	t := newTally(o, c, f)
	engine := policy.New(o.Rules, f.draws)
	t.truth.builder.Round(cityStart, nil)
	var rows []record.Window
	for n := range windows {
		if err := ctx.Err(); err != nil {
			return nil, fmt.Errorf("walk the city: %w", err)
		}
		f.start = cityStart + n*w
		t.begin(n)
		rows = c.Window(f.start, func(i int) city.Served {
			s := f.served(i)
			t.serve(i, s)
			return s
		}, rows[:0])
		d := engine.Round(policy.Input{Start: f.start, RoundStart: f.start + w, Rows: rows, Stopped: f.stopped})
		t.truth.rows(rows)
		f.take(d)
		t.truth.builder.Round(f.start+w, f.selection(d))
		t.round(n+1, d)
		if n%12 == 0 {
			progress(float64(n) / float64(windows))
		}
	}
	return t, nil
}

// force stands in for plan, agent and kernel: it puts a round's selection in force in the
// next window, with the arms that a plan draws.
type force struct {
	o     CityOptions
	draws *plan.Draws
	at    map[record.Prefix]int // place
	in    []*policy.Selected    // by place; nil is not in the plan by itself
	all   *policy.Selected      // what treats the others; nil for none
	nets  []record.Prefix       // by place
	start int64                 // of the present window

	stopped bool // the brake was pulled: no operator can resume
}

func newForce(o CityOptions, c *city.City) *force {
	salt := binary.BigEndian.AppendUint64([]byte("the city"), o.Seed)
	f := &force{o: o, draws: plan.NewDraws(salt, o.Holdout, o.AA).ByPoP(o.Rules.PoPGroup()), at: map[record.Prefix]int{},
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
	f.all = nil
	if f.stopped = f.stopped || d.Brake != ""; f.stopped {
		return
	}
	for i := range d.Selection {
		s := &d.Selection[i]
		if place, ok := f.at[s.Prefix]; ok { // the operator may list what has no place
			f.in[place] = s
		} else if s.Prefix == record.All {
			f.all = s
		}
	}
}

// of returns what decides about a place; nil is not in the plan.
func (f *force) of(place int) *policy.Selected { return cmp.Or(f.in[place], f.all) }

// selection is what a decision puts in force.
func (f *force) selection(d policy.Decision) []policy.Selected {
	if f.stopped {
		return nil
	}
	return d.Selection
}

// served returns what happens to a place in the present window.
func (f *force) served(place int) city.Served {
	r := f.o.Rules
	block, start, _ := plan.Block(f.start, r.Trial.BlockSeconds)
	served := city.Served{Washed: float64(max(0, min(start+r.Trial.WashoutSeconds-f.start, r.WindowSeconds))) / float64(r.WindowSeconds)}
	switch s := f.of(place); {
	case s == nil:
	case s.Role != record.ArmNone:
		served.Arm = s.Role
	case s.Uncontrolled:
		served.Arm = record.ArmTreatment
	default:
		served.Arm = f.draws.Arm(s.Prefix, r.Trial.GroupLen(s), block)
	}
	return served
}

// treatable reports whether a place may ever be treated.
func (f *force) treatable(place int) bool {
	return !f.o.Rules.Experiment() || f.draws.Role(f.nets[place]) == record.ArmNone
}
