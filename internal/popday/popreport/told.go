package popreport

import (
	"cmp"
	"fmt"
	"math"
	"strings"

	"github.com/congctl/congctl/internal/popday"
)

// told is one class of networks as a newcomer reads of it: why it is slow, what congctl
// did, and what it was worth. The screen, the first picture and the first table show it.
type told struct {
	name, why, did string
	networks       int
	measured       int              // of them, of the kind
	kind           string           // popday.Moved, Slow or Harmed
	under          map[string]under // of all policies; nil if no network has enough to compare
}

// under is what the class's networks had under a policy: the geometric mean of their
// medians, and the mean of their shares.
type under struct{ bytesPerS, again float64 }

// label is the class with how many networks it stands for.
func (t *told) label() string {
	if t.networks == 1 {
		return t.name
	}
	return fmt.Sprintf("%s (%d)", t.name, t.networks)
}

// stay is what became of one network that was slow, or tried.
type stay struct {
	class string
	did   string
}

// Words of a stay, in the order of a class's line.
const (
	didMove   = "moved to BBR"
	didTry    = "still on trial"
	didReturn = "tried, no gain, back on CUBIC"
	didRise   = "tried, recovered by itself"
	didDemote = "tried, slower, back on CUBIC"
	didRefuse = "left alone"
)

// ended says what became of a network by how its stay ended.
var ended = map[string]string{"day": didMove, "released": didRise, "demoted": didDemote}

// stays of the leading loop's networks, by seed and network.
func stays(r *popday.Report) map[[2]uint64]stay {
	all := map[[2]uint64]stay{}
	for _, t := range r.Tellings {
		if t.Kind == popday.Slow {
			all[[2]uint64{t.Seed, uint64(t.Network)}] = stay{t.Class, didRefuse}
		}
	}
	for i := range r.Stories {
		s := &r.Stories[i]
		if s.Policy != r.Lead {
			continue
		}
		for _, f := range s.Refused {
			all[[2]uint64{s.Seed, uint64(f.Network)}] = stay{f.Class, didRefuse}
		}
		for k := range s.Spans {
			sp := &s.Spans[k]
			if sp.State == "hold-out" || sp.State == "A/A" {
				continue
			}
			did := ended[sp.End]
			if sp.End == "day" && sp.State == "trial" {
				did = didTry
			}
			all[[2]uint64{s.Seed, uint64(sp.Network)}] = stay{sp.Class, cmp.Or(did, didReturn)}
		}
	}
	return all
}

// slow returns the classes that are slow or that congctl tried, those that it moved first.
func slow(r *popday.Report) []told {
	done := map[stay]int{}
	for _, s := range stays(r) {
		done[s]++
	}
	var moved, others []told
	for i := range r.Mix {
		c := &r.Mix[i]
		t := told{name: c.Name, why: why(c)}
		var parts []string
		only := ""
		for _, did := range []string{didMove, didTry, didReturn, didRise, didDemote, didRefuse} {
			if n := done[stay{c.Name, did}]; n > 0 {
				t.networks += n
				only = treated(r, did)
				parts = append(parts, fmt.Sprintf("%d %s", n, only))
			}
		}
		switch t.did = strings.Join(parts, ", "); len(parts) {
		case 0:
			continue
		case 1:
			t.did = only
		}
		if t.measure(r, popday.Moved); t.kind != "" {
			moved = append(moved, t)
			continue
		}
		t.measure(r, popday.Slow)
		others = append(others, t)
	}
	return append(moved, others...)
}

// treated has the day's own congestion controls in it.
func treated(r *popday.Report, did string) string {
	return strings.NewReplacer("BBR", word(r.Comparison.Treatment), "CUBIC", word(r.Comparison.Default)).Replace(did)
}

// harmed returns the classes with networks that everything treated slows down.
func harmed(r *popday.Report) (list []told) {
	for i := range r.Mix {
		t := told{name: r.Mix[i].Name, why: why(&r.Mix[i]), did: didRefuse}
		if t.measure(r, popday.Harmed); t.kind != "" {
			t.networks = t.measured
			list = append(list, t)
		}
	}
	return list
}

// measure adds up the class's tellings of a kind.
func (t *told) measure(r *popday.Report, kind string) {
	sums := map[string]under{}
	for i := range r.Tellings {
		x := &r.Tellings[i]
		if x.Class != t.name || x.Kind != kind {
			continue
		}
		t.measured++
		for _, u := range x.Under {
			s := sums[u.Policy]
			sums[u.Policy] = under{s.bytesPerS + math.Log(u.Median), s.again + u.RetransShare}
		}
	}
	if t.measured == 0 {
		return
	}
	n := float64(t.measured)
	t.kind, t.under = kind, map[string]under{}
	for policy, s := range sums {
		t.under[policy] = under{math.Exp(s.bytesPerS / n), s.again / n}
	}
}

// ratio of the class's goodput under a policy to that under another.
func (t *told) ratio(policy, to string) float64 {
	return t.under[policy].bytesPerS / t.under[to].bytesPerS
}

// packet in bytes, as a queue of some packets has them.
const packet = 1514

// why a class is as slow as it is: what no congestion control changes comes first.
func why(c *popday.Class) string {
	var parts []string
	add := func(is bool, format string, args ...any) {
		if is {
			parts = append(parts, fmt.Sprintf(format, args...))
		}
	}
	bdp := float64(c.RateBitPerS) / 8 * float64(c.RTTUs) / 1e6
	add(c.Behind != "", "clients of another server, on the lines of %s", c.Behind)
	add(c.Shares != "", "on the lines of %s", c.Shares)
	add(c.RcvbufBytes > 0, "its clients' receive window is small")
	add(c.AppBitPerS > 0, "its server sends only %g Mbit/s", float64(c.AppBitPerS)/1e6)
	add(c.Policer && c.Behind == "", "policed to %g Mbit/s", float64(c.RateBitPerS)/1e6)
	add(c.LossPPM > 0, "loses %g %% of its packets", float64(c.LossPPM)/1e4)
	add(!c.Policer && c.Behind == "" && float64(c.BufferBytes) < bdp/4, "a queue of %d packets", c.BufferBytes/packet)
	add(c.Changes > 0, "bad at times")
	switch {
	case c.Upto != nil:
		return "their paths, which the seed drew"
	case len(parts) == 0:
		return fmt.Sprintf("a line of %.1f Mbit/s, %g ms", float64(c.RateBitPerS)/1e6, float64(c.RTTUs)/milli)
	}
	return strings.Join(parts, ", ")
}
