package city

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/congctl/congctl/internal/tcp/record"
	"github.com/congctl/congctl/internal/tcp/stat"
)

func TestParseWorld(t *testing.T) {
	if w, err := ParseWorld([]string{"mild", "mobile"}); err != nil || w != Mild|Mobile || strings.Join(w.Names(), ",") != "mild,mobile" {
		t.Errorf("%v, %v", w.Names(), err)
	}
	if _, err := ParseWorld([]string{"fog"}); err == nil || !strings.Contains(err.Error(), "neighbours, video") {
		t.Errorf("got %v", err)
	}
	for _, two := range [][]string{{"mild", "three"}, {"all", "mild"}} {
		if _, err := ParseWorld(two); err == nil {
			t.Errorf("%v: two sources of effects", two)
		}
	}
}

// gains walks a day of a city in which every third place is treated, and returns of each connection what
// treating all would gain, and what it gained, by place.
func gains(w World, place func(c *City, i int) bool) (all, now []float64, c *City) {
	c = New(4, 200, 300, w)
	c.Seen = func(i int, x Conn) {
		if place == nil || place(c, i) {
			all, now = append(all, x.On-x.Off), append(now, x.Now-x.Off)
		}
	}
	for n := range int64(288) {
		c.Window(midnight+300*n, func(i int) Served {
			if i%3 == 0 {
				return Served{Arm: record.ArmTreatment}
			}
			return Served{}
		}, nil)
	}
	return all, now, c
}

// TestWorlds: each nuisance does what its line says, and its draws move no other's.
func TestWorlds(t *testing.T) {
	within := func(what string, got, low, high float64) {
		if !(got >= low && got <= high) {
			t.Errorf("%s: %v, want %v to %v", what, got, low, high)
		}
	}
	lossy := func(c *City, i int) bool { return c.Places[i].Kind.Name == "random loss" }
	_, _, plain := gains(0, nil)
	for _, n := range Worlds {
		all, now, c := gains(n.World, lossy)
		if n.World&(Mild|Three|Measured|Lab) == 0 {
			for i := range c.Places {
				if c.Places[i].Factor != plain.Places[i].Factor || c.Places[i].Prefix != plain.Places[i].Prefix {
					t.Fatalf("%s: place %d is another", n.Name, i)
				}
			}
		}
		low, high := slices.Min(all), slices.Max(all)
		switch n.World {
		case Mild:
			within("mild, lowest", math.Exp(low), 1.3, 1.45)
			within("mild, highest", math.Exp(high), 1.85, 2)
		case Three:
			within("three", math.Exp(low), 1.4999, 1.5001)
			within("three, connections", c.Places[7].Conns, 3, 3)
		case Lab:
			within("lab, highest", math.Exp(high), 4, 7.83)
			for _, p := range c.Places { // rates and losses go together: losses one by one hold CUBIC to few packets
				if flight := p.BytesPerS * p.MinRTTUs / 1e6 / 1448; p.Kind.Name == "random loss" && (flight > 60 || p.Retrans < 0.002 || p.Queue > 0.5) {
					t.Errorf("lab: %+v", p)
				}
			}
		case Measured:
			within("measured, lowest", math.Exp(low), 1, 1.3)
			within("measured, highest", math.Exp(high), 4, 7.83)
		case Hourly: // of 3 to 10
			within("hourly, lowest", low, 0.2*math.Log(3), 0.3*math.Log(3))
		case Level:
			within("level, lowest", low, 0, 0.01)
		case Neighbours:
			within("neighbours, untreated", slices.Min(now), -math.Log(2), -0.3)
			within("neighbours, all treated", crowded(c), -1e-9, 1e-9)
		case Video, Paths:
			within(n.Name+", lowest", low, 0, 1e-9)
			within(n.Name+", share without effect", share(all, func(v float64) bool { return v < 0.1 }), 0.2, 0.7)
		}
	}
}

// crowded is what a line adds where all of it is treated.
func crowded(c *City) float64 {
	push := c.crowding(slices.Repeat([]Served{{Arm: record.ArmTreatment}}, len(c.Places)))
	return push(0)
}

func share(list []float64, of func(float64) bool) float64 {
	n := 0
	for _, v := range list {
		n += one(of(v))
	}
	return float64(n) / float64(len(list))
}

// TestLevelsMove: drift, jumps and load, as variances and elasticity of what the city has.
func TestLevelsMove(t *testing.T) {
	for _, n := range []struct {
		world     World
		low, high float64 // standard deviation of the level, over places and a day
	}{{0, 0.24, 0.31}, {Mobile, 0.33, 0.42}, {Rerouting, 0.65, 0.85}} {
		c := New(2, 300, 300, n.world)
		var m stat.Mean
		for w := range int64(288) {
			c.Window(midnight+300*w, untreated, nil)
			for i := range c.drift {
				m.Add(math.Pow(c.drift[i]+c.jump[i], 2), 1)
			}
		}
		if sd := math.Sqrt(m.Value()); sd < n.low || sd > n.high {
			t.Errorf("%v: level moves by %.2f, want %.2f to %.2f", n.world.Names(), sd, n.low, n.high)
		}
	}
	if a := Load.load(10, -0.5) / Load.load(10, 0.5); math.Abs(a-math.E) > 1e-9 {
		t.Errorf("load moves by %.2f", a)
	}
}
