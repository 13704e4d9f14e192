package popday

import "slices"

// Where the seed draws the paths, no list of classes can name the networks to treat, so the
// policy static has no run there. The oracle stands in its place: each network of a seed as it was
// under all-CUBIC or under all-BBR, whichever gave its large responses the higher median. It is
// computed, not run, and chooses by the responses that it is judged by: luck favours it, by less
// than a standard error of a network's median.

// oracle is its name among the policies.
const oracle = "oracle"

// oracles returns a run for each seed in which everything on the default and on the treatment has a
// valid one.
func oracles(in *Input, valid map[string]bool) (runs []Run) {
	if !in.Day.Drawn() {
		return nil
	}
	base, full := in.arms()
	for i := range in.Runs {
		b := &in.Runs[i]
		k := slices.IndexFunc(in.Runs, func(r Run) bool { return r.Facts.Policy == full && r.Facts.Seed == b.Facts.Seed })
		if b.Facts.Policy == base && k >= 0 && valid[b.Facts.Name()] && valid[in.Runs[k].Facts.Name()] {
			runs = append(runs, better(in, b, &in.Runs[k]))
		}
	}
	return runs
}

// better returns the run with each network's responses from one of two; a neighbour's are from
// where those of its line are.
func better(in *Input, base, full *Run) Run {
	b, f := mediansOf(base), mediansOf(full)
	world := in.Day.World(base.Facts.Seed).Networks
	takes := func(network int) bool {
		if network < len(world) && world[network].Theirs {
			network = world[network].Behind
		}
		return f[network].rate > b[network].rate
	}
	r := Run{Facts: base.Facts}
	r.Facts.Policy = oracle
	for _, x := range base.Responses {
		if !takes(x.Network) {
			r.Responses = append(r.Responses, x)
		}
	}
	for _, x := range full.Responses {
		if takes(x.Network) {
			r.Responses = append(r.Responses, x)
		}
	}
	r.Facts.Responses = len(r.Responses)
	return r
}
