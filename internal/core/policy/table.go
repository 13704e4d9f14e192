package policy

import (
	"cmp"
	"slices"

	"github.com/congctl/congctl/internal/core/record"
)

// find gives the track of a prefix, nil if it is not known.
func (e *Engine) find(p record.Prefix) *track {
	i, ok := slices.BinarySearchFunc(e.tracks, p, func(t *track, p record.Prefix) int { return cmp.Compare(t.prefix, p) })
	if !ok {
		return nil
	}
	return e.tracks[i]
}

// forget drops what was silent for too long. A selected prefix stays until it
// is released.
func (e *Engine) forget() {
	e.tracks = slices.DeleteFunc(e.tracks, func(t *track) bool { return t.chosen == nil && e.silent(t) })
}

func (e *Engine) silent(t *track) bool { return int64(e.now-t.seen) >= e.rules.maxAge() }

// store files one window's sightings (sorted by prefix) and gives the number of
// prefixes that found no room.
func (e *Engine) store(all []sighting) (dropped int) {
	fresh := make([]*track, 0)
	e.merge(all, func(t *track, s *sighting) {
		if t == nil {
			t = &track{prefix: s.prefix}
			fresh = append(fresh, t)
		}
		t.bytes += s.bytes
		t.put(s.slot, e.rules.lookback())
		e.file(t, s.rows)
	})
	if over := len(e.tracks) + len(fresh) - e.rules.MaxTracked; over > 0 {
		out := e.least(fresh, over)
		gone := func(t *track) bool { return out[t.prefix] }
		e.tracks, fresh = slices.DeleteFunc(e.tracks, gone), slices.DeleteFunc(fresh, gone)
		dropped = len(out)
	}
	e.insert(fresh)
	return dropped
}

// insert adds tracks, sorted by prefix and none of them known yet.
func (e *Engine) insert(fresh []*track) {
	if len(fresh) == 0 {
		return
	}
	merged := make([]*track, 0, len(e.tracks)+len(fresh))
	old := e.tracks
	for _, t := range fresh {
		for len(old) > 0 && old[0].prefix < t.prefix {
			merged, old = append(merged, old[0]), old[1:]
		}
		merged = append(merged, t)
	}
	e.tracks = append(merged, old...)
}

// merge walks sightings beside tracks; t is nil for a prefix that is not tracked.
func (e *Engine) merge(all []sighting, f func(t *track, s *sighting)) {
	i := 0
	for j := range all {
		for i < len(e.tracks) && e.tracks[i].prefix < all[j].prefix {
			i++
		}
		if i < len(e.tracks) && e.tracks[i].prefix == all[j].prefix {
			f(e.tracks[i], &all[j])
		} else {
			f(nil, &all[j])
		}
	}
}

// least picks the n prefixes, tracked or fresh, that moved the fewest bytes since
// they are tracked; selected ones are never among them. Equals go by prefix, the
// highest first, so that the order of input does not matter.
func (e *Engine) least(fresh []*track, n int) map[record.Prefix]bool {
	some := slices.DeleteFunc(slices.Concat(e.tracks, fresh), func(t *track) bool { return t.chosen != nil })
	slices.SortFunc(some, func(a, b *track) int {
		return cmp.Or(cmp.Compare(a.bytes, b.bytes), cmp.Compare(b.prefix, a.prefix))
	})
	out := make(map[record.Prefix]bool, n)
	for _, t := range some[:min(n, len(some))] {
		out[t.prefix] = true
	}
	return out
}
