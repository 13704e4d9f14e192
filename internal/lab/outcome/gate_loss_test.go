package outcome

import (
	"math"
	"testing"

	"github.com/congctl/congctl/internal/lab/scenario"
	"github.com/congctl/congctl/internal/tcp/stat"
)

// lose draws a chain of n packets as netem's gemodel does; without g, independently.
func lose(r *stat.Rand, n int, share float64, g *scenario.Gilbert) (lost uint64) {
	bad := false
	for range n {
		p := share
		if g != nil {
			p = float64(g.LossGood) / 1e6
			if bad {
				p = float64(g.LossBad) / 1e6
			}
			turn := float64(g.P) / 1e6
			if bad {
				turn = float64(g.R) / 1e6
			}
			bad = bad != (r.Float64() < turn)
		}
		if r.Float64() < p {
			lost++
		}
	}
	return lost
}

// broken is the share of honest runs whose loss gate is broken by chance.
func broken(c *scenario.Cell, packets, runs int) float64 {
	count := 0
	for seed := range runs {
		lost := lose(stat.NewRand(uint64(seed), 3), packets, c.Path.Loss.MeanPPM()/1e6, c.Path.Loss.Gilbert)
		run := &Run{Hops: []Hop{{Roles: []string{RoleLoss}, Packets: uint64(packets) - lost, Drops: lost}}}
		if !losses(&view{scenarioOf(*c), c, run}).OK {
			count++
		}
	}
	return float64(count) / float64(runs)
}

// TestHonestLosses: one run alone is refused in at most 1 % of cases, give or take
// 3 standard errors of 1000; one of a scenario of 40 runs in none.
func TestHonestLosses(t *testing.T) {
	for _, ppm := range []uint32{1000, 10_000, 160_000} {
		c := cell100()
		c.Path.Loss.PPM = ppm
		c.Seeds = scenario.Seeds{Count: 1, Max: 1}
		if got := broken(&c, 3000, 1000); got > 0.01+3*math.Sqrt(0.01*0.99/1000) {
			t.Errorf("%d ppm: %.1f %% of honest runs refused", ppm, 100*got)
		}
		c.Seeds.Max = 40
		if got := broken(&c, 3000, 500); got > 0.002 {
			t.Errorf("%d ppm, 40 runs: %.1f %% of honest runs refused", ppm, 100*got)
		}
	}
}

// TestHonestClusters: losses in clusters vary more; the gate knows by how much.
func TestHonestClusters(t *testing.T) {
	for name, g := range map[string]scenario.Gilbert{
		"rare long clusters": {P: 1000, R: 50_000, LossBad: 1_000_000},
		"mild":               {P: 20_000, R: 200_000, LossBad: 300_000, LossGood: 1000},
	} {
		c := cell100()
		c.Path.Loss = scenario.Loss{Gilbert: &g, At: scenario.LossAfter}
		c.Seeds = scenario.Seeds{Count: 1, Max: 1}
		if got := broken(&c, 30_000, 300); got > 0.01+3*math.Sqrt(0.01*0.99/300) {
			t.Errorf("%s: %.1f %% of honest runs refused", name, 100*got)
		}
		const n, runs = 30_000, 300
		sum, squares := 0.0, 0.0
		for seed := range runs {
			k := float64(lose(stat.NewRand(uint64(seed), 4), n, 0, &g))
			sum, squares = sum+k, squares+k*k
		}
		m := c.Path.Loss.MeanPPM() / 1e6
		seen := (squares/runs - sum/runs*sum/runs) / (n * m * (1 - m))
		if got := clustering(&g); math.Abs(got/seen-1) > 0.25 { // a variance of 300: 8 % each way, 3 times
			t.Errorf("%s: clustering %.2f, simulated %.2f", name, got, seen)
		}
	}
}

// scheduled is a run of 30 s at an even pace whose losses follow steps; the receiver
// lags 60 ms behind.
func scheduled(c *scenario.Cell, steps []scenario.Step) *Run {
	r := stat.NewRand(8, 8)
	run := &Run{Flows: []FlowRun{{Conns: []Transfer{{}}}}}
	var lost, bytes uint64
	const packets, us = 60_000, 500
	for i := range uint64(packets) {
		loss := float64(c.Path.Loss.PPM) / 1e6
		for _, s := range steps {
			if s.AtUs <= i*us {
				loss = float64(s.LossPPM) / 1e6
			}
		}
		if r.Float64() < loss {
			lost++
			continue
		}
		bytes += mssBytes
		if i%20 == 0 {
			run.Flows[0].Arrived = append(run.Flows[0].Arrived, Mark{i*us + 60_000, bytes})
		}
	}
	run.Hops = []Hop{{Roles: []string{RoleLoss}, Packets: packets - lost, Drops: lost}}
	return run
}

// TestScheduledLosses: the mean over the packets of each step, and not another.
func TestScheduledLosses(t *testing.T) {
	c := cell100()
	c.Path.Loss.PPM, c.Path.BufferPacket = 1000, 100
	c.Path.Schedule = []scenario.Step{
		{AtUs: 6_000_000, RateBitPerS: 50_000_000, RTTUs: 80_000, LossPPM: 60_000},
		{AtUs: 9_000_000, RateBitPerS: 100_000_000, RTTUs: 100_000, LossPPM: 5000},
	}
	s := scenarioOf(c)
	v := &view{s, &c, scheduled(&c, c.Path.Schedule)}
	if g := losses(v); !g.OK {
		t.Errorf("honest: %+v", g)
	}
	want := (0.001*6 + 0.06*3 + 0.005*21) / 30
	if low, high := v.askedLoss(); low > want*1.01 || high < want/1.01 || high-low > want/20 {
		t.Errorf("asked %v to %v, want about %v", low, high, want)
	}
	for name, wrong := range map[string][]scenario.Step{
		"never applied":   nil,
		"first step only": c.Path.Schedule[:1],
		"two s early":     {{AtUs: 4_000_000, LossPPM: 60_000}, c.Path.Schedule[1]},
	} {
		if g := losses(&view{s, &c, scheduled(&c, wrong)}); g.OK {
			t.Errorf("%s: passes: %+v", name, g)
		}
	}
}

// TestLossesBack: those of acknowledgements have a gate too.
func TestLossesBack(t *testing.T) {
	c := cell100()
	c.Path.Loss.BackPPM = 20_000
	run := honest(&c)
	if g := losses(&view{scenarioOf(c), &c, run}); g.OK {
		t.Errorf("no loss on the way back passes: %+v", g)
	}
	run.Hops[3].Drops = run.Hops[3].Packets / 50
	run.Hops[3].Packets -= run.Hops[3].Drops
	if g := losses(&view{scenarioOf(c), &c, run}); !g.OK {
		t.Errorf("honest: %+v", g)
	}
}
