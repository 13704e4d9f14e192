package pop

import (
	"cmp"
	"math"
	"slices"
)

// World expands the day with a seed.
func (d *Day) World(seed uint64) *World {
	w := &World{}
	for i := range d.Classes {
		for n := range d.Classes[i].Count {
			if c := &d.Classes[i]; c.Behind != "" {
				w.addNeighbour(d, c, n, seed)
			} else {
				w.add(d, c, n, seed)
			}
		}
	}
	w.Changes = slices.DeleteFunc(w.Changes, func(c Change) bool { return c.AtUs >= d.EndUs })
	w.Sessions = slices.DeleteFunc(w.Sessions, func(s Session) bool { return s.AtUs >= d.EndUs })
	slices.SortStableFunc(w.Changes, func(a, b Change) int { return cmp.Compare(a.AtUs, b.AtUs) })
	slices.SortStableFunc(w.Sessions, func(a, b Session) int { return cmp.Compare(a.AtUs, b.AtUs) })
	return w
}

func (w *World) add(d *Day, c *Class, n int, seed uint64) {
	i := len(w.Networks)
	path := c.drawn(newDice(seed, i, streamPath))
	path.Buffer = path.Buffer.At(path.RTTUs)
	path.RateBitPerS = scaled(path.RateBitPerS, newDice(seed, i, streamSpread).normal()*float64(c.SpreadPPM)/1e6)
	changes := changesOf(c, path, i, d.LengthUs, newDice(seed, i, streamVary))
	if len(changes) > 0 && changes[0].AtUs == 0 {
		path, changes = changes[0].Path, changes[1:]
	}
	w.Networks = append(w.Networks, Network{Class: c.Name, Number: n + 1, Prefix: PrefixOf(i, d.site(c, n)), Path: path, Traffic: c.Traffic, Behind: -1})
	w.Changes = append(w.Changes, changes...)
	w.Sessions = append(w.Sessions, sessionsOf(d, &c.Traffic, i, i, seed)...)
}

// site returns the number of the site that has the n-th network of a class; 0: none of its own.
func (d *Day) site(c *Class, n int) int {
	if c.Sites == 0 {
		return 0
	}
	before := 0
	for i := range d.Classes {
		if d.Classes[i].Name == c.Name {
			break
		}
		before += d.Classes[i].Sites
	}
	return before + 1 + n%c.Sites
}

// addNeighbour adds the n-th network of a class behind another one's line. Its clients ask
// when those of the line do, so that the two meet there.
func (w *World) addNeighbour(d *Day, c *Class, n int, seed uint64) {
	i := len(w.Networks)
	line := slices.IndexFunc(w.Networks, func(o Network) bool { return o.Class == c.Behind && o.Number == n+1 })
	path := w.Networks[line].Path
	if !c.Theirs() {
		path.LossPPM, path.LossBurst = c.Path.LossPPM, c.Path.LossBurst
	}
	w.Networks = append(w.Networks, Network{Class: c.Name, Number: n + 1, Prefix: PrefixOf(i, d.site(c, n)), Path: path, Traffic: c.Traffic, Behind: line, Theirs: c.Theirs()})
	w.Sessions = append(w.Sessions, sessionsOf(d, &c.Traffic, i, line, seed)...)
}

// scaled returns a rate times e^x, a multiple of 8 bit/s as in tc.
func scaled(bitPerS uint64, x float64) uint64 {
	return max(uint64(float64(bitPerS)*math.Exp(x))/8*8, minRate)
}
