package popday

import (
	"cmp"
	"slices"
)

// Whether a policy tries the networks that the treatment helps. The truth is from the run of the
// policy switch with the same seed: a network gains if the median goodput of its large responses is
// there more than 1.2 times that on the default. Beside what each loop tried stand two
// rules that need no loop, applied to the run on the default: the slowest fifth of the networks
// by their median, and those that send again more than a 64th (the rule of bpftune).
//
//	precision = tried and gaining / tried,   recall = tried and gaining / gaining

// Signature is how well one policy, or rule, names the networks that gain, over all seeds.
type Signature struct {
	By        string   `json:"by"`
	Networks  int      `json:"networks"` // that can be judged
	Gaining   int      `json:"gaining"`
	Tried     int      `json:"tried"`
	Hits      int      `json:"tried_and_gaining"`
	Precision *float64 `json:"precision,omitempty"`
	Recall    *float64 `json:"recall,omitempty"`
}

const (
	// gains: a smaller ratio of two medians may be luck.
	gains = 1.2
	// mostResent is the share in bpftune's rule.
	mostResent = 1.0 / 64
)

// Names of the rules.
const (
	ruleSlowest = "rule: slowest fifth"
	ruleResent  = "rule: 1/64 resent"
)

// named is a network of a seed.
type named struct {
	seed    uint64
	network int
}

// signatures of each loop, and of the two rules; none without a run of the policy switch.
func signatures(t *table, rep *Report) (out []Signature) {
	gain := map[named]bool{}
	for _, n := range rep.Each {
		if n.Policy == switched && n.Ratio != nil && !t.neighbours[n.Class] {
			gain[named{n.Seed, n.Network}] = n.Ratio.Value > gains
		}
	}
	if len(gain) == 0 {
		return nil
	}
	for _, name := range loopsIn(t) {
		s := Signature{By: name}
		for i := range rep.Stories {
			if st := &rep.Stories[i]; st.Policy == name {
				s.add(st.Seed, gain, st.selected(), st.apart())
			}
		}
		out = append(out, s.done())
	}
	slow, resent := Signature{By: ruleSlowest}, Signature{By: ruleResent}
	for i, seed := range t.seeds {
		if o := t.place(t.base); o >= 0 && t.runs[i][o] != nil {
			base := mediansOf(t.runs[i][o])
			slow.add(seed, gain, slowestOf(base, func(n int) bool { _, judged := gain[named{seed, n}]; return judged }), nil)
			resent.add(seed, gain, resentOf(base), nil)
		}
	}
	return append(out, slow.done(), resent.done())
}

// add counts a seed's networks: those tried, without those that could not be.
func (s *Signature) add(seed uint64, gain map[named]bool, tried, apart []int) {
	for at, gaining := range gain {
		if at.seed != seed || slices.Contains(apart, at.network) {
			continue
		}
		is := slices.Contains(tried, at.network)
		s.Networks++
		count(&s.Gaining, gaining)
		count(&s.Tried, is)
		count(&s.Hits, is && gaining)
	}
}

func count(n *int, is bool) {
	if is {
		*n++
	}
}

func (s Signature) done() Signature {
	of := func(n int) *float64 {
		if n == 0 {
			return nil
		}
		v := float64(s.Hits) / float64(n)
		return &v
	}
	s.Precision, s.Recall = of(s.Tried), of(s.Gaining)
	return s
}

// apart are the networks in the hold-out or in A/A, which no selection can try.
func (s *Story) apart() []int { return s.networks(func(sp *Span) bool { return !sp.counts() }) }

// slowestOf returns the slowest fifth of some networks.
func slowestOf(base []median, of func(network int) bool) (list []int) {
	for n := range base {
		if of(n) {
			list = append(list, n)
		}
	}
	slices.SortStableFunc(list, func(a, b int) int { return cmp.Compare(base[a].rate, base[b].rate) })
	return list[:int(slowestShare*float64(len(list)))]
}

func resentOf(base []median) (list []int) {
	for n := range base {
		if base[n].again > mostResent {
			list = append(list, n)
		}
	}
	return list
}
