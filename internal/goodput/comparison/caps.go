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
// networks (loop/effect). Before a cap came, and in its first window, uncapped connections are older than it and
// no scouts.

// caps collect both sides.
type caps struct {
	since map[record.Prefix][]capTime
	seen  map[capKey]effect.Beside
}

// capTime is the round from which on a network had a cap that was set at since; 0: none.
type capTime struct{ from, since int64 }

type capKey struct {
	start  int64 // of the window
	prefix record.Prefix
}

func newCaps() caps {
	return caps{since: map[record.Prefix][]capTime{}, seen: map[capKey]effect.Beside{}}
}

// round takes the selection of one round, in the order of time. One that left has no treated rows.
func (c caps) round(start int64, chosen []policy.Selected) {
	for _, s := range chosen {
		list := c.since[s.Prefix]
		if n := len(list); n == 0 && s.Pace.Since > 0 || n > 0 && list[n-1].since != s.Pace.Since {
			c.since[s.Prefix] = append(list, capTime{start, s.Pace.Since})
		}
	}
}

// add takes a row of treated connections.
func (c caps) add(w *record.Window, windowSeconds int64) {
	since := int64(0)
	for _, t := range c.since[w.Prefix] {
		if t.from <= w.Start {
			since = t.since
		}
	}
	side, ok := effect.SideOf(w)
	if !ok || since == 0 || w.Start < since+windowSeconds {
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
