package effect

import (
	"math"
	"slices"
	"strings"
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

// seconds are those of groups of two blocks and of sixteen, of ten minutes each.
var seconds = [kinds]int64{1200, 9600}

// harmOf are the bets on pairs, all at once.
func harmOf(pairs []Pair) Harm { return Harm{}.Next(together(pairs)) }

// pulls reports whether they pull the brake.
func (h Harm) pulls() bool {
	pull, _ := h.Brake(seconds, nil, DefaultNoise)
	return pull
}

// TestHarmByHand: a bet of size 2 is 2 / (1 + 1/4) = 1.6, one of size 6 is 2 / (1 + 1/64) = 1.969;
// with three quarters at stake 1.45 and 1.727. Four networks at half of the rate are one bet an hour. Goodput is not known, and longer groups
// have won nothing: they count as 1. Pairs that come again count once, in whichever order.
func TestHarmByHand(t *testing.T) {
	pairs := halved(4, 5, netOf)
	got := harmOf(pairs)
	want := [len(betSizes)]float64{5 * math.Log(1.45), 5 * math.Log(0.25+0.75*2/(1+1.0/64))}
	for i := range want {
		if math.Abs(got.LogM[0][0][i]-want[i]) > 1e-9 {
			t.Errorf("%+v, want %v", got, want)
		}
	}
	harm, _ := got.Evidence(seconds)
	years := ((math.Exp(want[0])+math.Exp(want[1])+2)/4*1200 + 9600) / 2 / (365 * 86400)
	if math.Abs(harm/years-1) > 1e-9 || got.Until != 5*3600 {
		t.Errorf("evidence %v, want %v, until %d", harm, years, got.Until)
	}
	slices.Reverse(pairs)
	one := Harm{}.Next(pairs[12:]).Next(pairs)
	for i := range want {
		if math.Abs(one.LogM[0][0][i]-want[i]) > 1e-9 {
			t.Errorf("in two parts %+v", one)
		}
	}
	if harmOf(halved(50, 24, netOf)).pulls() {
		t.Error("24 draws pull the brake")
	}
	if !harmOf(halved(50, 28, netOf)).pulls() {
		t.Error("28 draws do not")
	}
}

// TestHarmInOnePlace: one site of three that is harmed for a day, or three of ten for two, do not pull the brake; small networks bet
// little.
func TestHarmInOnePlace(t *testing.T) {
	for _, c := range []struct {
		harmed, others, draws int
		pull                  bool
	}{{1, 2, 60, false}, {3, 7, 60, false}, {2, 0, 36, false}, {10, 0, 30, true}, {6, 4, 60, true}} {
		list := halved(c.harmed, c.draws, netOf)
		for _, p := range halved(c.others, c.draws, func(i int) record.Prefix { return netOf(100 + i) }) {
			p.T[0].MeanLog = 0
			list = append(list, p)
		}
		if h := harmOf(list); h.pulls() != c.pull {
			t.Errorf("%+v: %+v", c, h)
		}
	}
	small := halved(10, 30, netOf)
	for i := range small {
		small[i].T[0].N, small[i].C.N = 1, 1
	}
	if h := harmOf(small); h.pulls() {
		t.Errorf("a connection a block: %+v", h)
	}
}

// TestSiteCountsOnce: 256 networks of one /48 pull no brake, however long they show the harm. Nor do sixteen /24 of one /20 where two
// other sites are treated without harm; alone, as on an edge of one town, each counts for itself.
func TestSiteCountsOnce(t *testing.T) {
	one48 := func(i int) record.Prefix { return record.Prefix(0x2001_0db8_ffff_0000|uint64(i)<<8) | 56 }
	one20 := func(i int) record.Prefix { return record.Prefix(0xcb00_7000|uint64(i)<<8) | 24 }
	if h := harmOf(halved(256, 36, one48)); h.pulls() {
		t.Errorf("a /48: %+v", h)
	}
	town := halved(16, 36, one20)
	if !harmOf(slices.Clone(town)).pulls() {
		t.Error("a town: no brake")
	}
	for i := range 2 {
		for _, p := range halved(1, 36, func(int) record.Prefix { return netOf(i) }) {
			p.T[0].MeanLog = 0
			town = append(town, p)
		}
	}
	if h := harmOf(town); h.pulls() {
		t.Errorf("a /20 and two others: %+v", h)
	}
}

// TestHarmIsFair: shocks that all networks share, heavy-tailed and larger than any effect, are fair bets: the mean of M after n groups is
// at most n, so that of a thousand days of shocks at most one in A reaches 72 A. One bet a network, which takes them for the findings of forty,
// brakes in most.
func TestHarmIsFair(t *testing.T) {
	const days, networks, pairs = 1000, 40, 72
	r := stat.NewRand(1, 0)
	apart, high := 0, 0
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
		for _, p := range list {
			logM = max(0, logM) + math.Log1p(fullStake*(p.bet(6)-1))
			best = max(best, logM)
		}
		if best >= math.Log(2*20*year/1200) {
			apart++
		}
		h := harmOf(list)
		if h.pulls() {
			t.Errorf("a brake: %+v", h)
		}
		if m := mean(h.LogM[0][0][:]); m >= 20*pairs {
			high++
		}
	}
	t.Logf("each network for itself: %d of %d days brake; together M reaches 20 x %d on %d", apart, days, pairs, high)
	if apart < days/2 || high > days/20 {
		t.Errorf("alone %d of %d days, together %d", apart, days, high)
	}
}

// TestHarmAndCostOfAll: groups in which the whole PoP's control block is the faster one pull the brake, and those in which it loses less, if
// that is much and the rate does not pay for it; a treatment that gains, or costs little, does not. Of listed networks beside it none has a say.
func TestHarmAndCostOfAll(t *testing.T) {
	for _, c := range []struct {
		name         string
		rate, resent float64 // treated by control; share sent again under treatment, of 1 % in control blocks
		says         string
	}{
		{"alike", 1, 0.01, ""},
		{"gains", 1.5, 0.01, ""},
		{"half", 0.5, 0.01, "control blocks are faster"},
		{"dear", 1, 0.06, "retransmits 6.0 % instead of 1.0 %"},
		{"dear and worth it", 1.5, 0.06, ""},
		{"a little dear", 1, 0.02, ""},
	} {
		block := func(rate, resent float64) Block {
			return Block{N: 1000, MeanLog: math.Log(1e6 * rate), VarLog: 0.4, SentBytes: 1e9, RetransBytes: uint64(1e9 * resent)}
		}
		var pairs []Pair
		for g := range int64(40) {
			p := Pair{Prefix: record.All, Group: g, End: (g + 1) * 9600, C: block(1, 0.01)}
			for range 15 {
				p.T = append(p.T, block(c.rate, c.resent))
			}
			pairs = append(pairs, p)
		}
		own := slices.Clone(pairs)
		for i := range own {
			own[i].Prefix, own[i].C = netOf(1), block(2, 0)
		}
		pull, why := harmOf(append(own, pairs...)).Brake(seconds, pairs, DefaultNoise)
		if pull != (c.says != "") || !strings.Contains(why, c.says) {
			t.Errorf("%s: %t, %s", c.name, pull, why)
		}
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
