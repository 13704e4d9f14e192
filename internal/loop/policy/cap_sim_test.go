package policy

import (
	"math"
	"math/rand/v2"
	"net/netip"
	"slices"
	"testing"

	"github.com/congctl/congctl/internal/loop/plan"
	"github.com/congctl/congctl/internal/tcp/record"
	"github.com/congctl/congctl/internal/tcp/stat"
)

// fastPath is what the truth of a treated network's path is: clients differ by spread (of ln rate), a
// connection shows its rate but for some noise, and a capped one no more than the cap.
type fastPath struct {
	spread float64
	conns  int                                        // a window
	rate   func(w int) float64                        // of the path in a window, bytes/s
	show   func(rng *rand.Rand, rate float64) float64 // late rate of a connection that gets this rate; nil: 3 % of noise
}

// held is what happened to the cap.
type held struct {
	caps []uint64 // after each round
	kept float64  // of throughput, over treated connections, by the time that their bytes take
}

// capRules treat one network, whatever is measured.
func capRules() Rules {
	r := DefaultRules()
	r.Always = []Listed{{netip.MustParsePrefix("198.18.1.0/24"), "a test"}}
	return r
}

// run plays windows in a closed loop: what the engine says caps the connections of the next window.
func (f fastPath) run(t *testing.T, seed uint64, windows int) (h held) {
	rng := rand.New(rand.NewPCG(seed, 0))
	rules := capRules()
	e, prefix := New(rules, firstBlock{}), letter(t, "a")
	var limit uint64
	var free, took float64
	for w := range windows {
		start := int64(noon + 300*w)
		in := Input{Start: start, RoundStart: start + 300}
		var sides [2][]float64
		for range f.conns {
			rate := f.rate(w) * math.Exp(f.spread*rng.NormFloat64())
			got, side := rate, 0
			if limit > 0 && rng.IntN(plan.Scouts) > 0 {
				side, got = 1, min(rate, float64(limit))
			}
			free, took = free+1/rate, took+1/got
			shown := got * math.Exp(0.03*rng.NormFloat64())
			switch {
			case side == 1 && rate > float64(limit):
				shown = float64(limit) * (0.88 + 0.06*rng.Float64()) // headers and what is lost are paced too
			case f.show != nil:
				shown = f.show(rng, got)
			}
			sides[side] = append(sides[side], shown)
		}
		if (firstBlock{}).Arm(prefix, rules.Trial.GroupPromoted, start/rules.Trial.BlockSeconds) == record.ArmTreatment && w > 0 {
			for side, rates := range sides {
				if len(rates) > 0 {
					row := lateRow(rates, side == 1)
					row.Start, row.Prefix, row.Conns, row.Eligible = start, prefix, uint32(len(rates)), uint32(len(rates))
					in.Rows = append(in.Rows, row)
				}
			}
		}
		d := e.Round(in)
		limit = d.Selection[0].Pace.Cap
		h.caps = append(h.caps, limit)
	}
	h.kept = free / took
	return h
}

const hour = 12 // windows

func steadily(rate float64) func(int) float64 { return func(int) float64 { return rate } }

// TestCapKeepsThroughput: over all treated connections of a day, and no cap where clients differ much.
func TestCapKeepsThroughput(t *testing.T) {
	const days = 100 // of 0.9 % of windows with a cap: in 20 of them one long cap more or less is half of it
	for _, c := range []struct {
		spread float64
		conns  int
	}{{0.05, 1}, {0.05, 15}, {0.1, 4}, {0.2, 1}, {0.2, 4}, {0.2, 15}, {0.35, 4}, {0.5, 4}, {0.5, 15}} {
		least, capped, over := 1.0, 0, 0.0
		for seed := range uint64(days) {
			h := fastPath{spread: c.spread, conns: c.conns, rate: steadily(1e6)}.run(t, seed, 24*hour)
			least = min(least, h.kept)
			for _, limit := range h.caps {
				if limit > 0 {
					capped, over = capped+1, over+float64(limit)/1e6
				}
			}
		}
		t.Logf("spread %.2f, %2d connections a window: kept at least %.4f, a cap in %.0f %% of the windows, %.2f of the path on average", c.spread, c.conns, least,
			float64(capped)/(days*24*hour)*100, over/float64(max(capped, 1)))
		if least < 0.99 || c.spread <= 0.2 && capped < days*20*hour || c.spread == 0.5 && c.conns == 15 && capped > days*24*hour/100 {
			t.Errorf("spread %v, %d connections a window: kept %.4f, a cap in %d windows", c.spread, c.conns, least, capped)
		}
	}
}

// TestCapIsLifted where the path becomes faster.
func TestCapIsLifted(t *testing.T) {
	const change = 10*hour + 12 // soon after the control block of a group
	for _, c := range []struct {
		times float64
		conns int
		most  int // windows
	}{{2, 15, 3}, {2, 4, 6}, {2, 1, 8}, {4, 15, 3}, {4, 4, 6}, {4, 1, 8}} {
		var waits []float64
		for seed := range uint64(20) {
			h := fastPath{spread: 0.1, conns: c.conns, rate: func(w int) float64 {
				if w >= change {
					return c.times * 1e6
				}
				return 1e6
			}}.run(t, seed, 24*hour)
			if h.caps[change-1] == 0 {
				t.Fatal("no cap before the change")
			}
			waits = append(waits, float64(1+slices.Index(h.caps[change:], 0)))
			if last := float64(h.caps[len(h.caps)-1]); last < 1.1*c.times*1e6 || last > 1.6*c.times*1e6 {
				t.Errorf("x %v, %d connections: 1 MB/s before, a cap of %.0f at the end", c.times, c.conns, last)
			}
		}
		slices.Sort(waits)
		t.Logf("x %v, %2d connections a window: lifted after %.0f min, at most %.0f", c.times, c.conns, 5*stat.Median(waits), 5*waits[19])
		if waits[0] < 1 || waits[19] > float64(c.most) {
			t.Errorf("x %v, %d connections: lifted after %v windows", c.times, c.conns, waits)
		}
	}
}

// TestCapFollowsDown: on a path that becomes slower nothing is lost, and the cap falls by 5 % a window at most,
// or goes and comes again where the prefix seems to mix speeds meanwhile.
func TestCapFollowsDown(t *testing.T) {
	const change = 10 * hour
	for _, times := range []float64{0.8, 0.5} {
		for seed := range uint64(20) {
			h := fastPath{spread: 0.1, conns: 4, rate: func(w int) float64 {
				if w >= change {
					return times * 1e6
				}
				return 1e6
			}}.run(t, seed, 24*hour)
			for w := change; w < len(h.caps); w++ {
				if was, is := float64(h.caps[w-1]), float64(h.caps[w]); was > 0 && is > 0 && is < 0.95*was-1 {
					t.Errorf("x %v: %.0f after %.0f", times, is, was)
				}
			}
			if last := float64(h.caps[len(h.caps)-1]); h.kept < 0.99 || last < 1.1*times*1e6 || last > 1.6*times*1e6 {
				t.Errorf("x %v: kept %.4f, a cap of %.0f at the end", times, h.kept, last)
			}
		}
	}
}

// TestCapBehindPolicer: a bucket lets bursts through, and single samples of 1.4 to 1.7 of the rate. The late rate is a median,
// and the cap knows nothing of those. In one window of 200 at most it is lifted by chance, which 20 days are too few to tell, for the time that it takes to learn it anew.
func TestCapBehindPolicer(t *testing.T) {
	none, all := 0, 0
	for seed := range uint64(100) {
		h := fastPath{spread: 0.05, conns: 4, rate: steadily(1e6), show: func(rng *rand.Rand, rate float64) float64 {
			samples := make([]float64, 9)
			for i := range samples {
				samples[i] = rate * math.Exp(0.03*rng.NormFloat64())
			}
			samples[rng.IntN(9)] = rate * (1.4 + 0.3*rng.Float64())
			samples[rng.IntN(9)] = rate * (1.4 + 0.3*rng.Float64())
			return stat.Median(samples)
		}}.run(t, seed, 24*hour)
		for w, limit := range h.caps[2*hour:] {
			all++
			switch {
			case limit == 0:
				none++
			case limit < 1_100_000 || limit > 1_350_000:
				t.Errorf("seed %d, window %d: a cap of %d on a path of 1,000,000", seed, w, limit)
			}
		}
	}
	if none > all/200 {
		t.Errorf("no cap in %d of %d windows", none, all)
	}
}
