package simulate

import (
	"context"
	"fmt"

	"github.com/congctl/congctl/internal/core/city"
	"github.com/congctl/congctl/internal/core/policy"
	"github.com/congctl/congctl/internal/core/record"
)

// CityOptions are a run's numbers.
type CityOptions struct {
	Seed     uint64
	Prefixes int
	Hours    int
	// Rules, with Trial.On, try and promote; else level alone decides, and of Trial
	// only the blocks count.
	Rules       policy.Rules
	Holdout, AA int // permille of all prefixes, with Trial.On
}

// cityStart is 2026-11-20T00:00:00Z: a day begins, and a block with it.
const cityStart = 1_795_132_800

// City runs the loop on an imagined city and says how it did, beside two runs of the same
// city: one where no congestion control makes a difference, and one where nobody is
// treated. progress, which may be nil, is called now and then with the share that is
// done, 0 to 1.
func City(ctx context.Context, o CityOptions, progress func(float64)) (CityReport, error) {
	if progress == nil {
		progress = func(float64) {}
	}
	idle := o
	idle.Rules.MaxSelected, idle.Rules.MaxNewPerRound = 0, 0
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
	c := city.New(o.Seed, o.Prefixes, o.Rules.WindowSeconds)
	if !effect {
		for i := range c.Places {
			c.Places[i].Factor = 1
		}
	}
	w := o.Rules.WindowSeconds
	windows := int64(o.Hours) * 3600 / w
	f := newForce(o, c)
	t := newTally(o, c, f)
	engine := policy.NewExperiment(o.Rules, f.draws)
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
		f.take(d)
		t.round(n+1, d)
		if n%12 == 0 {
			progress(float64(n) / float64(windows))
		}
	}
	return t, nil
}
