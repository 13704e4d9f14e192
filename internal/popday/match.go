package popday

import (
	"cmp"
	"slices"
)

// unit is one response of the schedule with its result under each policy.
type unit struct {
	seed    int // index in table.seeds
	network int
	startUs uint64 // under the reference
	asked   uint64
	fresh   bool
	at      []*Response // by index in table.policies; nil if that run does not exist or is not valid
}

func (u *unit) large() bool { return u.asked >= LargeBytes }

// table aligns all valid runs.
type table struct {
	base, full string // policies: everything on the default, and on the treatment

	policies []string
	seeds    []uint64
	runs     [][]*Run // [seed][policy]; nil: no run, or not valid
	units    []unit   // complete under every policy of their seed
	beside   []unit   // the same of neighbours, whose server is not the edge
	left     int      // not complete
	classOf  []string // by network

	neighbours map[string]bool // classes
}

// newTable matches the valid runs of each seed.
func newTable(in *Input, valid func(*Run) bool) *table {
	t := &table{neighbours: in.neighbours()}
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

// place returns the index of a policy, -1 if there is none.
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
		switch u, all := unitOf(seed, at, count); {
		case !all:
			t.left++
		case t.neighbours[t.classOf[u.network]]:
			t.beside = append(t.beside, u)
		default:
			t.units = append(t.units, u)
		}
	}
	for _, list := range [][]unit{t.units, t.beside} {
		slices.SortFunc(list, func(a, b unit) int {
			return cmp.Or(cmp.Compare(a.seed, b.seed), compareIDs(a.id(), b.id()))
		})
	}
}

// largeOf returns the large responses of a network of a seed, a neighbour or not.
func (t *table) largeOf(seed, network int) (out []*unit) {
	for _, list := range [][]unit{t.units, t.beside} {
		for i := range list {
			if u := &list[i]; u.seed == seed && u.network == network && u.large() {
				out = append(out, u)
			}
		}
	}
	return out
}

func compareIDs(a, b id) int {
	return cmp.Or(cmp.Compare(a.session, b.session), cmp.Compare(a.request, b.request))
}

// first returns the first response that exists.
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

// clusters numbers the units' clusters and draws them within their strata.
func (t *table) clusters(seed uint64, name func(*unit) (cluster, stratum any)) *resampling {
	number, stratum := map[any]int32{}, map[any]int{}
	var strata [][]int32
	b := &resampling{}
	for i := range t.units {
		c, s := name(&t.units[i])
		if _, known := stratum[s]; !known {
			stratum[s] = len(strata)
			strata = append(strata, nil)
		}
		n, known := number[c]
		if !known {
			n = int32(len(number))
			number[c] = n
			strata[stratum[s]] = append(strata[stratum[s]], n)
		}
		b.of = append(b.of, n)
	}
	b.draw(strata, len(number), seed)
	return b
}

// Names of the ways to draw.
const (
	byBlocks   = "single blocks of networks, within each class and over all seeds, so that the mix of classes stays as designed"
	bySeeds    = "whole seeds"
	byNetworks = "whole networks of a seed whatever their class, as for another PoP with other networks of this kind"
)

// blockClusters are the main ones.
func (t *table) blockClusters(blockS int64) (b *resampling, how string) {
	if len(t.seeds) >= nineSeeds {
		return t.clusters(1, func(u *unit) (any, any) { return u.seed, 0 }), bySeeds
	}
	return t.clusters(1, func(u *unit) (any, any) {
		return [3]int64{int64(u.seed), int64(u.network), int64(u.startUs) / 1e6 / max(blockS, 1)}, t.classOf[u.network]
	}), byBlocks
}

func (t *table) networkClusters() *resampling {
	return t.clusters(2, func(u *unit) (any, any) { return [2]int{u.seed, u.network}, u.seed })
}
