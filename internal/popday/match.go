package popday

import (
	"cmp"
	"slices"
)

// unit is one response of the schedule with what became of it under each policy.
type unit struct {
	seed    int // place in table.seeds
	network int
	startUs uint64 // under the reference
	asked   uint64
	fresh   bool
	at      []*Response // by place in table.policies; nil where that run is not there or not valid
}

func (u *unit) large() bool { return u.asked >= LargeBytes }

// table holds all valid runs against each other.
type table struct {
	base, full string // policies: everything on the default, and on the treatment

	policies []string
	seeds    []uint64
	runs     [][]*Run // [seed][policy]; nil: not there, or not valid
	units    []unit   // that came whole under every policy of their seed
	left     int      // that did not
	classOf  []string // by network
}

// newTable matches the valid runs of each seed.
func newTable(in *Input, valid func(*Run) bool) *table {
	t := &table{}
	t.base, t.full = in.arms()
	for i := range in.Runs {
		r := &in.Runs[i]
		if !slices.Contains(t.policies, r.Facts.Policy) {
			t.policies = append(t.policies, r.Facts.Policy)
		}
		if !slices.Contains(t.seeds, r.Facts.Seed) {
			t.seeds = append(t.seeds, r.Facts.Seed)
		}
	}
	slices.SortFunc(t.policies, comparePolicies)
	slices.Sort(t.seeds)
	for _, n := range in.Runs[0].Facts.Networks {
		t.classOf = append(t.classOf, n.Class)
	}
	for _, seed := range t.seeds {
		row := make([]*Run, len(t.policies))
		for i := range in.Runs {
			if r := &in.Runs[i]; r.Facts.Seed == seed && valid(r) {
				row[t.place(r.Facts.Policy)] = r
			}
		}
		t.runs = append(t.runs, row)
		t.match(len(t.runs)-1, row)
	}
	return t
}

// place of a policy, -1 where there is none.
func (t *table) place(name string) int { return slices.Index(t.policies, name) }

// match joins the runs of one seed by session and request.
func (t *table) match(seed int, row []*Run) {
	count := 0
	found := map[id][]*Response{}
	for p, r := range row {
		if r == nil {
			continue
		}
		count++
		for i := range r.Responses {
			x := &r.Responses[i]
			if !x.whole() {
				continue
			}
			if found[x.id()] == nil {
				found[x.id()] = make([]*Response, len(row))
			}
			found[x.id()][p] = x
		}
	}
	for _, at := range found {
		if u, all := unitOf(seed, at, count); all {
			t.units = append(t.units, u)
		} else {
			t.left++
		}
	}
	slices.SortFunc(t.units, func(a, b unit) int {
		return cmp.Or(cmp.Compare(a.seed, b.seed), compareIDs(a.id(), b.id()))
	})
}

func compareIDs(a, b id) int {
	return cmp.Or(cmp.Compare(a.session, b.session), cmp.Compare(a.request, b.request))
}

// first response that is there.
func (u *unit) first() *Response {
	return u.at[slices.IndexFunc(u.at, func(r *Response) bool { return r != nil })]
}

func (u *unit) id() id { return u.first().id() }

func unitOf(seed int, at []*Response, want int) (u unit, all bool) {
	u = unit{seed: seed, at: at}
	have := 0
	for _, r := range at {
		if r != nil {
			have++
		}
	}
	r := u.first() // of the reference where there is one: policies are in its order
	u.network, u.startUs, u.asked, u.fresh = r.Network, r.StartUs, r.Asked, r.Fresh
	return u, have == want
}

// clusters numbers the units' clusters and puts them in their strata.
func (t *table) clusters(name func(*unit) (cluster, stratum any)) (of []int32, b *resampling) {
	number, stratum := map[any]int32{}, map[any]int{}
	b = &resampling{}
	for i := range t.units {
		c, s := name(&t.units[i])
		n, known := number[c]
		if !known {
			n = int32(len(number))
			number[c] = n
			k, met := stratum[s]
			if !met {
				k = len(stratum)
				stratum[s] = k
				b.strata = append(b.strata, nil)
			}
			b.strata[k] = append(b.strata[k], n)
		}
		of = append(of, n)
	}
	b.count = len(number)
	return of, b
}

// Names of the ways to draw.
const (
	byBlocks   = "a network's time of one block, drawn within its class over all seeds: the mix of classes stays as designed"
	bySeeds    = "whole seeds"
	byNetworks = "whole networks of a seed, without regard to class: another PoP with other networks of this kind"
)

// blockClusters are the main ones.
func (t *table) blockClusters(blockS int64) (of []int32, b *resampling, how string) {
	if len(t.seeds) >= nineSeeds {
		of, b = t.clusters(func(u *unit) (any, any) { return u.seed, 0 })
		return of, b, bySeeds
	}
	of, b = t.clusters(func(u *unit) (any, any) {
		return [3]int64{int64(u.seed), int64(u.network), int64(u.startUs) / 1e6 / max(blockS, 1)}, t.classOf[u.network]
	})
	return of, b, byBlocks
}

func (t *table) networkClusters() (of []int32, b *resampling) {
	return t.clusters(func(u *unit) (any, any) { return [2]int{u.seed, u.network}, u.seed })
}
