package comparison

import (
	"cmp"
	"maps"
	"slices"

	"github.com/congctl/congctl/internal/loop/effect"
	"github.com/congctl/congctl/internal/loop/policy"
	"github.com/congctl/congctl/internal/tcp/record"
)

// The pacing cap's own comparison: capped connections and scouts, in the same windows of the same
// networks (loop/effect). Before a cap came, and in its first block, uncapped connections are older than it and
// no scouts (policy.Pace).

// caps collect both sides.
type caps struct {
	paces map[record.Prefix][]paceFrom
	seen  map[capKey]effect.Beside
}

// paceFrom is the pace that a network had from a round on. Later ones of the same cap are left out.
type paceFrom struct {
	from int64
	policy.Pace
}

type capKey struct {
	start  int64 // of the window
	prefix record.Prefix
}

func newCaps() caps {
	return caps{paces: map[record.Prefix][]paceFrom{}, seen: map[capKey]effect.Beside{}}
}

// round takes the selection of one round, in the order of time. One that left has no treated rows.
func (c caps) round(start int64, chosen []policy.Selected) {
	for _, s := range chosen {
		list := c.paces[s.Prefix]
		if n := len(list); n == 0 && s.Pace.Since > 0 || n > 0 && list[n-1].Since != s.Pace.Since {
			c.paces[s.Prefix] = append(list, paceFrom{start, s.Pace})
		}
	}
}

// add takes a row of treated connections.
func (c caps) add(w *record.Window, blockSeconds int64) {
	var pace policy.Pace
	for _, t := range c.paces[w.Prefix] {
		if t.from <= w.Start {
			pace = t.Pace
		}
	}
	side, ok := effect.SideOf(w)
	if !ok || !pace.HasScouts(w.Start, blockSeconds) {
		return
	}
	k := capKey{w.Start, w.Prefix}
	b := c.seen[k]
	b.Prefix = w.Prefix
	if w.Capped {
		b.Capped = b.Capped.Join(side)
	} else {
		b.Scouts = b.Scouts.Join(side)
	}
	c.seen[k] = b
}

// effect is the same whatever the order of rows, but for the last digits of sums.
func (c caps) effect() effect.CapEffect {
	keys := slices.SortedFunc(maps.Keys(c.seen), func(a, b capKey) int {
		return cmp.Or(cmp.Compare(a.prefix, b.prefix), cmp.Compare(a.start, b.start))
	})
	list := make([]effect.Beside, len(keys))
	for i, k := range keys {
		list[i] = c.seen[k]
	}
	return effect.Capped(list)
}
