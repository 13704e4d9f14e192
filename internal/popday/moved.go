package popday

import (
	"cmp"
	"slices"

	"github.com/congctl/congctl/internal/loop/policy"
	"github.com/congctl/congctl/internal/tcp/stat"
)

// Telling is one network of one seed whose responses show what the leading loop, or everything
// treated, is worth: those that the loop moved, from then on; the others that it tried
// or refused, the slowest fifth on the default, and those that everything treated harms, over the whole day.
type Telling struct {
	Kind    string      `json:"kind"` // moved, slow or harmed
	Seed    uint64      `json:"seed"`
	Network int         `json:"network"`
	Class   string      `json:"class"`
	FromS   int64       `json:"from_s"`
	Large   int         `json:"large"` // responses: the same ones under each policy
	Under   []TellUnder `json:"under"`
}

// TellUnder is what the network's large responses were under one policy.
type TellUnder struct {
	Policy       string  `json:"policy"`
	Median       float64 `json:"median_bytes_per_s"`
	RetransShare float64 `json:"retrans_share"` // of what was sent for them
}

// Kinds of Telling.
const (
	Moved  = "moved"
	Slow   = "slow"
	Harmed = wordHarmed
)

var kindOrder = map[string]int{Moved: 0, Slow: 1, Harmed: 2}

// tellings of the day, in the order of its networks: first those that were moved. Each has
// every policy that has a valid run: without one of a seed, its figures are of other seeds.
func (c *comparer) tellings(rep *Report) (out []Telling) {
	if !c.hasReference() || c.place(rep.Lead) < 0 {
		return nil
	}
	for i := range rep.Stories {
		s := &rep.Stories[i]
		if s.Policy != rep.Lead {
			continue
		}
		moved := map[int]bool{}
		others := map[int]string{}
		for k := range s.Spans {
			sp := &s.Spans[k]
			if others[sp.Network] = sp.Class; sp.State == string(policy.StatePromoted) && sp.End == dayEnd {
				moved[sp.Network] = true
				out = append(out, Telling{Kind: Moved, Seed: s.Seed, Network: sp.Network, Class: sp.Class, FromS: sp.FromS})
			}
		}
		for _, f := range s.Refused {
			others[f.Network] = f.Class
		}
		for _, n := range c.slowest(s.Seed) {
			others[n] = c.classOf[n]
		}
		for n, class := range others {
			if !moved[n] {
				out = append(out, Telling{Kind: Slow, Seed: s.Seed, Network: n, Class: class})
			}
		}
	}
	for _, n := range rep.Each {
		if n.Policy == c.full && n.Verdict == wordHarmed {
			out = append(out, Telling{Kind: Harmed, Seed: n.Seed, Network: n.Network, Class: n.Class})
		}
	}
	for i := range out {
		c.tell(&out[i])
	}
	out = slices.DeleteFunc(out, func(t Telling) bool { return t.Large < fewestResponses || len(t.Under) < c.valid() })
	slices.SortFunc(out, func(a, b Telling) int {
		return cmp.Or(cmp.Compare(kindOrder[a.Kind], kindOrder[b.Kind]), cmp.Compare(a.Seed, b.Seed), cmp.Compare(a.Network, b.Network))
	})
	return out
}

// slowest fifth of the edge's own networks in the run on the default.
func (c *comparer) slowest(seed uint64) []int {
	run := c.runs[slices.Index(c.seeds, seed)][c.place(c.base)]
	if run == nil {
		return nil
	}
	base := mediansOf(run)
	return slowestOf(base, func(n int) bool { return base[n].rate > 0 && !c.neighbours[c.classOf[n]] })
}

// valid counts the policies with a valid run.
func (c *comparer) valid() (n int) {
	for p := range c.policies {
		if len(c.seedsOf(p)) > 0 {
			n++
		}
	}
	return n
}

// tell fills in what became of the network's large responses.
func (c *comparer) tell(t *Telling) {
	seed := slices.Index(c.seeds, t.Seed)
	for p, name := range c.policies {
		var rates []float64
		var sent, again uint64
		for _, u := range c.largeOf(seed, t.Network) {
			if int64(u.startUs/1e6) < t.FromS || u.at[p] == nil {
				continue
			}
			rates = append(rates, u.at[p].goodput())
			sent, again = sent+u.at[p].SentBytes, again+u.at[p].RetransBytes
		}
		if len(rates) == 0 {
			continue
		}
		slices.Sort(rates)
		t.Large = len(rates)
		t.Under = append(t.Under, TellUnder{name, stat.Sorted(rates, 0.5), share(again, sent)})
	}
}

// Median of the goodput under a policy, bytes/s; 0 where that has no run.
func (t *Telling) Median(policy string) float64 {
	for _, u := range t.Under {
		if u.Policy == policy {
			return u.Median
		}
	}
	return 0
}
