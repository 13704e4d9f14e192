package effect

import (
	"math"
	"testing"

	"github.com/congctl/congctl/internal/tcp/record"
	"github.com/congctl/congctl/internal/tcp/stat"
)

// together gives pairs one draw.
func together(pairs []Pair) []Pair {
	for i := range pairs {
		pairs[i].Drawn = record.All
	}
	return pairs
}

// TestHarmTogetherByHand: four networks at half of the rate are one bet an hour, of 1.45 and 1.727 as in TestHarmByHand; the other kind of
// groups has won nothing and counts as half.
func TestHarmTogetherByHand(t *testing.T) {
	got := HarmTogether(together(halved(4, 5, netOf)), 0)
	want := math.Log((math.Pow(1.45, 5)+math.Pow(0.25+0.75*2/(1+1.0/64), 5))/4 + 0.5)
	if got.Pairs != 20 || got.Prefixes != 4 || got.Sites != 4 || math.Abs(got.LogM-want) > 1e-9 || math.Abs(got.LogRatio+math.Ln2) > 1e-9 {
		t.Errorf("%+v, want %v", got, want)
	}
	if pull, _ := HarmTogether(together(halved(50, 24, netOf)), 0).Brake(); pull {
		t.Error("24 draws pull the brake")
	}
	if pull, why := HarmTogether(together(halved(50, 30, netOf)), 0).Brake(); !pull {
		t.Errorf("30 draws do not: %s", why)
	}
}

// TestHarmTogetherInOnePlace: one site of three that is harmed for a day, or three of ten for two, do not pull the brake; small networks bet
// little; and of those that were tried half must show it.
func TestHarmTogetherInOnePlace(t *testing.T) {
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
		if pull, why := HarmTogether(together(list), c.share).Brake(); pull != c.pull {
			t.Errorf("%+v: %t %s", c, pull, why)
		}
	}
	small := together(halved(10, 30, netOf))
	for i := range small {
		small[i].T[0].N, small[i].C.N = 1, 1
	}
	if pull, why := HarmTogether(small, 0).Brake(); pull {
		t.Errorf("a connection a block: %s", why)
	}
}

// TestHarmTogetherIsFair: shocks that all networks share, heavy-tailed and larger than any effect, are fair bets: M has a mean of at most 1 from any one
// start, so that of a thousand days of shocks at most one in A reaches A. HarmOf, which takes them for the findings of forty networks,
// brakes in most.
func TestHarmTogetherIsFair(t *testing.T) {
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
		if pull, _ := HarmOf(list, 0).Brake(); pull {
			apart++
		}
		h := HarmTogether(together(list), 0)
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
