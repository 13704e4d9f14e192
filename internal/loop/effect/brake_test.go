package effect

import (
	"math"
	"slices"
	"testing"

	"github.com/congctl/congctl/internal/tcp/record"
	"github.com/congctl/congctl/internal/tcp/stat"
)

// netOf is network i, of a /48 of its own.
func netOf(i int) record.Prefix { return record.Prefix(0x2001_0db8_0000_0000|uint64(i)<<16) | 56 }

// halved are hourly pairs at 0.5 x of so many networks, with 10 connections a block.
func halved(networks, hours int, net func(int) record.Prefix) (list []Pair) {
	for i := range networks * hours {
		h := int64(i / networks)
		list = append(list, Pair{Prefix: net(i % networks), Group: h, End: (h + 1) * 3600, T: []Block{block(10, -math.Ln2)}, C: block(10, 0)})
	}
	return list
}

// together gives pairs one draw.
func together(pairs []Pair) []Pair {
	for i := range pairs {
		pairs[i].Drawn = record.All
	}
	return pairs
}

// TestHarmByHand: a bet of size 2 is 2 / (1 + 1/4) = 1.6, one of size 6 is 2 / (1 + 1/64) = 1.969;
// with three quarters at stake 1.45 and 1.727. Four networks at half of the rate are one bet an hour; the other kind of
// groups has won nothing and counts as half.
func TestHarmByHand(t *testing.T) {
	got := HarmOf(together(halved(4, 5, netOf)), 0)
	want := math.Log((math.Pow(1.45, 5)+math.Pow(0.25+0.75*2/(1+1.0/64), 5))/4 + 0.5)
	if got.Pairs != 20 || got.Prefixes != 4 || got.Sites != 4 || math.Abs(got.LogM-want) > 1e-9 || math.Abs(got.LogRatio+math.Ln2) > 1e-9 {
		t.Errorf("%+v, want %v", got, want)
	}
	if pull, _ := HarmOf(together(halved(50, 24, netOf)), 0).Brake(); pull {
		t.Error("24 draws pull the brake")
	}
	if pull, why := HarmOf(together(halved(50, 30, netOf)), 0).Brake(); !pull {
		t.Errorf("30 draws do not: %s", why)
	}
}

// TestHarmInOnePlace: one site of three that is harmed for a day, or three of ten for two, do not pull the brake; small networks bet
// little; and of those that were tried half must show it.
func TestHarmInOnePlace(t *testing.T) {
	for _, c := range []struct {
		harmed, others, draws int
		share                 float64
		pull                  bool
	}{{1, 2, 60, 0, false}, {3, 7, 60, 0, false}, {2, 0, 36, 0, false}, {10, 0, 30, 0, true}, {6, 4, 60, 0, true}, {10, 0, 30, 0.5, true}} {
		list := halved(c.harmed, c.draws, netOf)
		for _, p := range halved(c.others, c.draws, func(i int) record.Prefix { return netOf(100 + i) }) {
			p.T[0].MeanLog = 0
			list = append(list, p)
		}
		if pull, why := HarmOf(together(list), c.share).Brake(); pull != c.pull {
			t.Errorf("%+v: %t %s", c, pull, why)
		}
	}
	small := together(halved(10, 30, netOf))
	for i := range small {
		small[i].T[0].N, small[i].C.N = 1, 1
	}
	if pull, why := HarmOf(small, 0).Brake(); pull {
		t.Errorf("a connection a block: %s", why)
	}
}

// TestSiteCountsOnce: 256 networks of one /48 pull no brake, however long they show the harm. Nor do sixteen /24 of one /20 where two
// other sites are treated without harm; alone, as on an edge of one town, each counts for itself.
func TestSiteCountsOnce(t *testing.T) {
	one48 := func(i int) record.Prefix { return record.Prefix(0x2001_0db8_ffff_0000|uint64(i)<<8) | 56 }
	one20 := func(i int) record.Prefix { return record.Prefix(0xcb00_7000|uint64(i)<<8) | 24 }
	h := HarmOf(together(halved(256, 36, one48)), 0)
	if pull, why := h.Brake(); pull || h.Sites != 1 {
		t.Errorf("a /48: %+v %s", h, why)
	}
	town := halved(16, 36, one20)
	if pull, _ := HarmOf(together(slices.Clone(town)), 0).Brake(); !pull {
		t.Error("a town: no brake")
	}
	for i := range 2 {
		for _, p := range halved(1, 36, func(int) record.Prefix { return netOf(i) }) {
			p.T[0].MeanLog = 0
			town = append(town, p)
		}
	}
	h = HarmOf(together(town), 0)
	if pull, why := h.Brake(); pull || h.Sites != 3 {
		t.Errorf("a /20 and two others: %+v %s", h, why)
	}
}

// TestHarmIsFair: shocks that all networks share, heavy-tailed and larger than any effect, are fair bets: M has a mean of at most 1 from any one
// start, so that of a thousand days of shocks at most one in A reaches A. One bet a network, which takes them for the findings of forty,
// brakes in most.
func TestHarmIsFair(t *testing.T) {
	const days, networks, pairs = 1000, 40, 72
	r := stat.NewRand(1, 0)
	apart, sum := 0, 0.0
	for range days {
		var list []Pair
		for g := range int64(pairs) {
			shock := 0.7 * gauss(r) / math.Sqrt(-math.Log(r.Float64()))
			for i := range networks {
				own := 0.2 * gauss(r)
				list = append(list, Pair{Prefix: netOf(i), Group: g, End: (g + 1) * 1200, T: []Block{block(10, shock+own)}, C: block(10, 0)})
			}
		}
		logM, best := 0.0, 0.0
		for _, p := range slices.Backward(list) {
			logM += math.Log1p(fullStake * (p.bet(6) - 1))
			best = max(best, logM)
		}
		if best >= neededToBrake {
			apart++
		}
		h := HarmOf(together(list), 0)
		if pull, why := h.Brake(); pull {
			t.Errorf("a brake: %s", why)
		}
		if h.LogM >= math.Log(20) {
			sum++
		}
	}
	t.Logf("each network for itself: %d of %d days brake; together the best of %d starts reaches 20 in %.0f", apart, days, pairs, sum)
	if apart < days/2 {
		t.Errorf("shocks are no enemy: %d of %d days", apart, days)
	}
}

// TestFleetOfOneDraw: a hundred networks in forty groups of one draw are forty terms, and shocks that they share are in the bounds.
func TestFleetOfOneDraw(t *testing.T) {
	r := stat.NewRand(2, 0)
	const days = 300
	missed := [2]int{}
	for range days {
		var list []Pair
		for g := range int64(40) {
			shock := 0.3 * gauss(r)
			for i := range 100 {
				list = append(list, Pair{Prefix: netOf(i), Group: g, End: (g + 1) * 1200, T: []Block{block(10, 0.3+shock+0.2*gauss(r))}, C: block(10, 0)})
			}
		}
		if f := WholeFleet(list); f.Low > 0.3 || f.High < 0.3 {
			missed[0]++
		}
		f := WholeFleet(together(list))
		if f.Low > 0.3 || f.High < 0.3 {
			missed[1]++
		}
		if f.Pairs != 4000 || math.Abs(f.Worth-40) > 1e-9 || f.Prefixes != 100 {
			t.Fatalf("%+v", f)
		}
	}
	knows := Block{N: 1, Goodput: Moments{N: 1, Mean: 1}}
	if g := ByGoodput(together([]Pair{{Prefix: netOf(1), T: []Block{knows}, C: knows}})); len(g) != 1 || g[0].Drawn != record.All {
		t.Errorf("by goodput: %+v", g)
	}
	if missed[0] < days/4 || missed[1] > days*5/100 {
		t.Errorf("missed the truth in %d of %d days apart, %d together", missed[0], days, missed[1])
	}
}

// TestFewDraws: five networks share each draw and its shock, normal or heavy-tailed; from the eighth draw to the 48th someone looks after
// each, and the truth is once outside the bounds on at most one day in twenty.
func TestFewDraws(t *testing.T) {
	var r *stat.Rand
	const days = 400
	for name, shock := range map[string]func() float64{
		"normal":       func() float64 { return 0.3 * gauss(r) },
		"heavy-tailed": func() float64 { return 0.3 * gauss(r) / math.Sqrt(-math.Log(r.Float64())) },
	} {
		r = stat.NewRand(3, 0)
		missed, first := 0, 0.0
		for range days {
			var list []Pair
			outside := false
			for g := range int64(48) {
				all := shock()
				for i := range 5 {
					list = append(list, Pair{Prefix: netOf(i), Group: g, End: (g + 1) * 1200, T: []Block{block(10, 0.3+all+0.2*gauss(r))}, C: block(10, 0)})
				}
				f := WholeFleet(together(list))
				if f.Known != (g >= fewestFleetPairs-1) {
					t.Fatalf("%d draws: %+v", g+1, f)
				}
				if g == fewestFleetPairs-1 {
					first += (f.High - f.Low) / 2 / days
				}
				outside = outside || f.Known && (f.Low > 0.3 || f.High < 0.3)
			}
			if outside {
				missed++
			}
		}
		t.Logf("%s: the truth was outside on %d of %d days; at %d draws the bounds are +- %.2f", name, missed, days, fewestFleetPairs, first)
		if float64(missed) > days*(Alpha+slack(Alpha, days)) {
			t.Errorf("%s: the truth was outside on %d of %d days", name, missed, days)
		}
	}
}

// TestBetIsFair: averaged over the draw of the control block a bet is 1, whatever the blocks are.
func TestBetIsFair(t *testing.T) {
	r := stat.NewRand(1, 3)
	for _, k := range []int{2, 3, 8} {
		blocks := make([]Block, k)
		for i := range blocks {
			blocks[i] = block(10, 3*gauss(r))
		}
		for _, m := range betSizes {
			mean := 0.0
			for c := range blocks {
				mean += pairOf(blocks[c], slices.Delete(slices.Clone(blocks), c, c+1)...).bet(m) / float64(k)
			}
			if math.Abs(mean-1) > 1e-9 {
				t.Errorf("%d blocks, size %v: %v", k, m, mean)
			}
		}
	}
}

// TestWhatAgesOutPullsNoBrake: leaving out the oldest pairs never raises the evidence, whatever they
// said; and the order of the pairs does not matter.
func TestWhatAgesOutPullsNoBrake(t *testing.T) {
	r := stat.NewRand(2, 3)
	var pairs []Pair
	for i := range 20 {
		pairs = append(pairs, mobile.with(math.Exp(0.5*gauss(r)), 3, 2).pairs(r, netOf(i), 24)...)
	}
	last := math.Inf(1)
	for hour := range int64(18) {
		now := HarmOf(slices.DeleteFunc(slices.Clone(pairs), func(p Pair) bool { return p.End <= hour*3600 }), 0)
		if now.LogM > last {
			t.Errorf("without the first %d h: %v after %v", hour, now.LogM, last)
		}
		last = now.LogM
	}
	all := HarmOf(pairs, 0)
	for i := range pairs {
		j := r.Index(i + 1)
		pairs[i], pairs[j] = pairs[j], pairs[i]
	}
	if again := HarmOf(pairs, 0); again != all {
		t.Errorf("in another order %+v, not %+v", again, all)
	}
}
