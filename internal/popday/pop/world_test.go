package pop

import (
	"bytes"
	"encoding/json"
	"math"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

const hour = uint64(3600e6)

func class(name string) Class {
	return Class{Name: name, Count: 1, Path: Path{RateBitPerS: 8e6, RTTUs: 20_000, Buffer: Buffer{Us: 100_000}},
		Vary: Vary{MemoryUs: 60e6, EveryUs: 10e6}, Traffic: defaultTraffic()}
}

func text(t *testing.T, w *World) []byte {
	t.Helper()
	b, err := json.Marshal(w)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestSameSeedSameWorld: and another seed another one.
func TestSameSeedSameWorld(t *testing.T) {
	d := &Day{WindowUs: 120e6, LengthUs: hour, EndUs: hour, Classes: []Class{class("a")}}
	if !bytes.Equal(text(t, d.World(7)), text(t, d.World(7))) {
		t.Error("two worlds of one seed")
	}
	if bytes.Equal(text(t, d.World(7)), text(t, d.World(8))) {
		t.Error("one world of two seeds")
	}
}

// TestNetworksDrawAlone: what others there are changes nothing of a network, and
// breaking the day off leaves its beginning as it was.
func TestNetworksDrawAlone(t *testing.T) {
	few := &Day{WindowUs: 120e6, LengthUs: hour, EndUs: hour, Classes: []Class{class("a")}}
	more := &Day{WindowUs: 120e6, LengthUs: hour, EndUs: hour / 2, Classes: []Class{class("a"), class("b")}}
	first := func(w *World) (out []Session) {
		for _, s := range w.Sessions {
			if s.Network == 0 && s.AtUs < hour/2 {
				out = append(out, s)
			}
		}
		return out
	}
	a, b := first(few.World(1)), first(more.World(1))
	if len(a) < 10 || !slices.EqualFunc(a, b, func(x, y Session) bool { return x.AtUs == y.AtUs && slices.Equal(x.Requests, y.Requests) }) {
		t.Errorf("%d and %d sessions, or others", len(a), len(b))
	}
	for _, s := range more.World(1).Sessions {
		if s.AtUs >= more.EndUs {
			t.Fatalf("a session at %d of a day that ends at %d", s.AtUs, more.EndUs)
		}
	}
}

// TestTrafficIsWhatTheFileSays, within 4 standard errors of 3600 windows.
func TestTrafficIsWhatTheFileSays(t *testing.T) {
	c := class("a")
	c.Traffic.HTTP2PPM, c.Traffic.Larges = 250_000, 2
	d := &Day{WindowUs: 120e6, LengthUs: 120 * hour, EndUs: 120 * hour, Classes: []Class{c}}
	w := d.World(3)
	fetches, pages, two, logs := 0, 0, 0, 0.0
	for _, s := range w.Sessions {
		switch len(s.Requests) {
		case 3:
			fetches++
			logs += math.Log(float64(s.Requests[1].Bytes))
			if n := s.Requests[2].Bytes; n < 150_000 || n > 250_000 || s.Requests[0].Bytes > 60_000 {
				t.Fatalf("%+v", s)
			}
		case 4:
			pages++
		default:
			t.Fatalf("%+v", s)
		}
		if s.HTTP2 {
			two++
		}
	}
	near := func(what string, got, want, sd float64) {
		if math.Abs(got-want) > 4*sd {
			t.Errorf("%s: %g, want %g +- %g", what, got, want, sd)
		}
	}
	near("fetches", float64(fetches), 3600*2.4, math.Sqrt(3600*2.4))
	near("pages", float64(pages), 3600*2, math.Sqrt(3600*2))
	all := float64(fetches + pages)
	near("HTTP/2", float64(two)/all, 0.25, math.Sqrt(0.25*0.75/all))
	// Log-uniform: mean of the log in the middle, sd its width / sqrt 12.
	low, high := math.Log(150_000), math.Log(250_001)
	near("log of bytes", logs/float64(fetches), (low+high)/2, (high-low)/math.Sqrt(12*float64(fetches)))
}

// TestRateWanders: log-normal with the asked spread, alike after a step, and nothing
// left of it after many memories.
func TestRateWanders(t *testing.T) {
	v := Vary{SDPPM: 500_000, MemoryUs: 60e6, EveryUs: 10e6}
	x := wander(v, 500*hour, newDice(1, 0, streamVary))
	var sum, squares, next, far float64
	for i := range x {
		sum += x[i]
		squares += x[i] * x[i]
		next += x[i] * x[(i+1)%len(x)]
		far += x[i] * x[(i+100)%len(x)]
	}
	n := float64(len(x))
	for _, c := range []struct {
		what            string
		got, want, band float64
	}{
		{"mean", sum / n, 0, 0.02},
		{"sd", math.Sqrt(squares / n), 0.5, 0.02},
		{"correlation of neighbours", next / squares, math.Exp(-1.0 / 6), 0.02},
		{"correlation after 1000 s", far / squares, 0, 0.03},
	} {
		if math.Abs(c.got-c.want) > c.band {
			t.Errorf("%s: %.3f, want %.3f", c.what, c.got, c.want)
		}
	}
}

// TestChangesAgainstTheClock: at each second the path is what the whens say then.
func TestChangesAgainstTheClock(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := class("a")
		seconds := func(least, most int, name string) uint64 {
			return uint64(rapid.IntRange(least, most).Draw(t, name)) * 1e6
		}
		for range rapid.IntRange(0, 3).Draw(t, "whens") {
			loss := uint32(rapid.IntRange(1, 9).Draw(t, "loss"))
			w := When{FromUs: seconds(0, 100, "from"), ForUs: seconds(1, 20, "for"), LossPPM: &loss}
			if rapid.Bool().Draw(t, "again") {
				w.EveryUs = w.ForUs + seconds(1, 20, "pause")
			}
			c.Whens = append(c.Whens, w)
		}
		d := &Day{WindowUs: 1e6, LengthUs: 120e6, EndUs: 120e6, Classes: []Class{c}}
		w := d.World(1)
		now, next := w.Networks[0].Path, 0
		for at := uint64(0); at < d.LengthUs; at += 1e6 {
			for next < len(w.Changes) && w.Changes[next].AtUs <= at {
				now = w.Changes[next].Path
				next++
			}
			want := c.Path
			for _, when := range c.Whens {
				last := when.FromUs
				for when.EveryUs > 0 && last+when.EveryUs <= at {
					last += when.EveryUs
				}
				if at >= last && at < last+when.ForUs {
					want.LossPPM = *when.LossPPM
				}
			}
			if now != want {
				t.Fatalf("at %s: %+v, want %+v", time.Duration(at)*time.Microsecond, now, want)
			}
		}
		if next != len(w.Changes) {
			t.Fatalf("%d changes after the day", len(w.Changes)-next)
		}
	})
}

func TestPrefixesAreAllDifferent(t *testing.T) {
	seen := map[string]bool{}
	for i := range maxNetworks {
		for _, site := range []int{0, 1, maxSites} {
			p := PrefixOf(i, site)
			if p != p.Masked() || seen[p.String()] && p.Addr().Is6() {
				t.Fatalf("%d: %s", i, p)
			}
			seen[p.String()] = true
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte("name: a\nabout: x\nwindow: 2m\nlength: 4m\nnetworks:\n- {name: b, path: {rate: 1mbit, rtt: 10ms}}\n"))
	f.Add([]byte("faults:\n- {at: 1m, do: step_clock, by: -10m}\ntraffic: {large: 1kB-2kB}\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		d, err := Parse("a.yml", b)
		if (d == nil) == (err == nil) {
			t.Fatalf("%v and %v", d, err)
		}
		if d != nil && d.EndUs < hour && d.count() < 10 {
			d.World(1)
		}
	})
}
