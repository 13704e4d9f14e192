package pop

import (
	"math"
	"slices"
	"testing"
)

// drawnClass has ranges in each quantity.
func drawnClass() Class {
	c := class("a")
	c.Count = maxNetworks
	c.Path = Path{RateBitPerS: 3e6, RTTUs: 10_000, Buffer: Buffer{BDPPPM: 100_000}}
	c.Most = Path{RateBitPerS: 60e6, RTTUs: 180_000, LossPPM: 40_000, Buffer: Buffer{BDPPPM: 4_000_000}}
	return c
}

func networksOf(c Class) []Network {
	d := &Day{WindowUs: 120e6, LengthUs: 120e6, EndUs: 120e6, Classes: []Class{c}}
	return d.World(5).Networks
}

// TestPathsAreDrawn: log-uniform between positive ends, uniform from 0, within 4 standard errors of
// 500 networks; and never outside.
func TestPathsAreDrawn(t *testing.T) {
	networks := networksOf(drawnClass())
	for what, q := range map[string]struct {
		of          func(Path) float64
		least, most float64
	}{
		"log of the rate":       {func(p Path) float64 { return math.Log(float64(p.RateBitPerS)) }, math.Log(3e6), math.Log(60e6)},
		"log of the round trip": {func(p Path) float64 { return math.Log(float64(p.RTTUs)) }, math.Log(10_000), math.Log(180_000)},
		"loss":                  {func(p Path) float64 { return float64(p.LossPPM) }, 0, 40_000},
		"log of the queue": {func(p Path) float64 { return math.Log(float64(p.Buffer.Us) / float64(p.RTTUs)) },
			math.Log(0.1), math.Log(4)},
	} {
		sum, wide := 0.0, (q.most-q.least)*1e-3
		for _, n := range networks {
			v := q.of(n.Path)
			if v < q.least-wide || v > q.most+wide {
				t.Fatalf("%s: %g, not within %g and %g", what, v, q.least, q.most)
			}
			sum += v
		}
		mean, se := sum/float64(len(networks)), (q.most-q.least)/math.Sqrt(12*float64(len(networks)))
		if math.Abs(mean-(q.least+q.most)/2) > 4*se {
			t.Errorf("%s: mean %g, want %g +- %g", what, mean, (q.least+q.most)/2, se)
		}
	}
}

// TestQuantitiesDrawAlone: a range of one quantity changes no other, and no request.
func TestQuantitiesDrawAlone(t *testing.T) {
	all, one := drawnClass(), drawnClass()
	one.Most.RateBitPerS = 0
	a, b := networksOf(all), networksOf(one)
	for i := range a {
		x, y := a[i].Path, b[i].Path
		if y.RateBitPerS != 3e6 {
			t.Fatalf("network %d: a rate of %d that was not to be drawn", i, y.RateBitPerS)
		}
		if x.RateBitPerS = y.RateBitPerS; x != y {
			t.Fatalf("network %d: %+v, with the range %+v", i, y, x)
		}
	}
	fixed := class("a")
	fixed.Count = maxNetworks
	day := func(c Class) []Session {
		return (&Day{WindowUs: 120e6, LengthUs: 240e6, EndUs: 240e6, Classes: []Class{c}}).World(5).Sessions
	}
	if !slices.EqualFunc(day(all), day(fixed), func(x, y Session) bool {
		return x.AtUs == y.AtUs && x.Network == y.Network && slices.Equal(x.Requests, y.Requests)
	}) {
		t.Error("other requests on drawn paths")
	}
}

// TestFlowsBeginTogether: of one client, and when those of the line's clients do.
func TestFlowsBeginTogether(t *testing.T) {
	c := class("a")
	c.Traffic.Flows, c.Traffic.PagesPPM = 3, 0
	beside := class("b")
	beside.Behind, beside.Traffic = "a", c.Traffic
	d := &Day{WindowUs: 120e6, LengthUs: hour, EndUs: hour, Classes: []Class{c, beside}}
	at := map[uint64][]Session{}
	for _, s := range d.World(1).Sessions {
		at[s.AtUs] = append(at[s.AtUs], s)
	}
	if len(at) < 10 {
		t.Fatalf("%d times", len(at))
	}
	for us, list := range at {
		if len(list) != 6 {
			t.Fatalf("at %d: %d sessions", us, len(list))
		}
		for _, s := range list {
			if s.Host != list[0].Host {
				t.Errorf("at %d: clients %d and %d", us, s.Host, list[0].Host)
			}
		}
	}
}
