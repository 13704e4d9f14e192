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

// TestHarmByHand: a bet of size 2 is 2 / (1 + 1/4) = 1.6, one of size 6 is 2 / (1 + 1/64) = 1.969;
// with three quarters at stake 1.45 and 1.727. Four networks and five hours are twenty pairs.
func TestHarmByHand(t *testing.T) {
	got := HarmOf(halved(4, 5, netOf), 0)
	want := math.Log((math.Pow(1.45, 20) + math.Pow(0.25+0.75*2/(1+1.0/64), 20)) / 2)
	if got.Pairs != 20 || got.Prefixes != 4 || got.Sites != 4 || math.Abs(got.LogM-want) > 1e-9 || math.Abs(got.LogRatio+math.Ln2) > 1e-9 {
		t.Errorf("%+v, want %v", got, want)
	}
	if pull, _ := got.Brake(); pull {
		t.Error("27,000 pulls the brake")
	}
	pull, why := HarmOf(halved(6, 5, netOf), 0).Brake()
	if want := "treatment is x 0.50 over 6 prefixes of 6 sites and 30 pairs (evidence of harm 6.6e+06, needed 2.1e+06)"; !pull || why != want {
		t.Errorf("%v, %q; want %q", pull, why, want)
	}
	for _, few := range [][]Pair{nil, halved(100, 2, netOf)} { // two pairs each: their own evidence comes first
		if h := HarmOf(few, 0); h != (Harm{}) {
			t.Errorf("%d pairs: %+v", len(few), h)
		}
	}
}

// TestMostOfTheSites: where half of the sites must show the harm, three sites of ten do not pull the brake however
// long they show it, and each network's first pair counts: it may have no other.
func TestMostOfTheSites(t *testing.T) {
	for _, c := range []struct {
		harmed, hours, others int
		any, most             bool
	}{{3, 24, 7, true, false}, {6, 24, 5, true, true}, {12, 2, 0, false, false}, {14, 2, 0, false, true}} {
		pairs := halved(c.harmed, c.hours, netOf)
		for _, p := range halved(c.others, c.hours, func(i int) record.Prefix { return netOf(100 + i) }) {
			p.T[0].MeanLog = 0
			pairs = append(pairs, p)
		}
		any, _ := HarmOf(pairs, 0).Brake()
		most, _ := HarmOf(pairs, 0.5).Brake()
		if any != c.any || most != c.most {
			t.Errorf("%+v: %t, %t", c, any, most)
		}
	}
}

// TestSiteCountsOnce: 256 networks of one /48 say no more than a third of what is needed, however
// long they say it. So do sixteen /24 of one /20 where others are treated too; alone, as on an edge
// of one town, each counts for itself.
func TestSiteCountsOnce(t *testing.T) {
	one48 := func(i int) record.Prefix { return record.Prefix(0x2001_0db8_ffff_0000|uint64(i)<<8) | 56 }
	one20 := func(i int) record.Prefix { return record.Prefix(0xcb00_7000|uint64(i)<<8) | 24 }
	third := math.Log(2*365*144/0.05) / 3
	if h := HarmOf(halved(256, 24, one48), 0); h.Sites != 1 || math.Abs(h.LogM-third) > 1e-9 {
		t.Errorf("a /48: %+v, want %v", h, third)
	}
	town := halved(16, 24, one20)
	if pull, _ := HarmOf(town, 0).Brake(); !pull {
		t.Error("a town: no brake")
	}
	for i := range 2 {
		for _, p := range halved(1, 24, func(int) record.Prefix { return netOf(i) }) {
			p.T[0].MeanLog = 0
			town = append(town, p)
		}
	}
	if h := HarmOf(town, 0); h.Sites != 3 || h.LogM > third+1e-9 {
		t.Errorf("a /20 and two others: %+v", h)
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

// TestBrakeHours: when the brake is pulled if no network is demoted, all of them on trial; the
// first three pairs of each are three hours. The median of some fleets.
func TestBrakeHours(t *testing.T) {
	for _, k := range []struct {
		networks          int
		share, harm, rest float64
		latest            int // hours; 25: some time or never, 0: never
	}{
		{12, 1, 0.5, 1, 5}, {12, 0.3, 0.5, 1, 25}, {40, 0.3, 0.5, 1, 8}, {60, 1, 0.5, 1, 3}, {60, 0.3, 0.5, 1, 6},
		{120, 0.3, 0.5, 1, 4}, {60, 0.3, 0.5, 2, 0}, {60, 1, 0.8, 1, 5}, {60, 1, 0.9, 1, 10}, {60, 0, 1, 1, 0},
	} {
		var hours []int
		for seed := range replicates(t, 3) {
			var pairs []Pair
			r := stat.NewRand(uint64(seed), 4)
			for i := range k.networks {
				effect := k.rest
				if float64(i) < k.share*float64(k.networks) {
					effect = k.harm
				}
				pairs = append(pairs, city.with(effect, 3*math.Exp(gauss(r)), 2).pairs(r, netOf(i), 24)...)
			}
			hours = append(hours, hourOfBrake(pairs))
		}
		slices.Sort(hours)
		median := hours[len(hours)/2]
		t.Logf("%d networks, %v x for %v, %v x for the rest: brake after %d h (%d to %d)", k.networks, k.harm, k.share, k.rest, median, hours[0], hours[len(hours)-1])
		if k.latest == 0 && hours[0] < 25 || k.latest > 0 && (median < 3 || median > k.latest) {
			t.Errorf("want at most %d (0: never)", k.latest)
		}
	}
}

// hourOfBrake looks each hour of a day; 25 is never.
func hourOfBrake(pairs []Pair) int {
	for hour := 1; hour <= 24; hour++ {
		if pull, _ := HarmOf(slices.DeleteFunc(slices.Clone(pairs), func(p Pair) bool { return p.End > int64(hour)*3600 }), 0).Brake(); pull {
			return hour
		}
	}
	return 25
}
