package policy

import "slices"

// What rests on how a client uses its connections wanders: an application that sends
// at 2 Mbit/s keeps a 20 Mbit/s path busy for 31 to 61 % of the time in half hours of
// one simulated day, about the limit of 50 %, and is as slow as a bad path all the
// while. Judged window by window such a prefix is tried in its first odd half hour.
// So these guards remember, as the level does:
//
//	a guard holds a prefix back from the window in which it hits until
//	MinKnown known windows in a row have passed without a hit
//
// The others need no memory: a path's RTT does not wander, and the share of all
// connections is the largest of the lookback already. Windows of a prefix that are
// not known neither hit nor pass: without a level nobody is selected either.

// remembering are the guards with a memory.
var remembering = [...]string{GuardRwnd, GuardBusy, GuardPolicer}

// remember notes which guards hit in the present window, which is a known one.
func (e *Engine) remember(t *track) {
	for _, g := range e.measured(t, t.pool(e.now, e.rules), false) {
		if i := slices.Index(remembering[:], g.Name); i >= 0 && g.State == GuardHit {
			t.hitAt[i] = e.now + 1
		}
	}
}

// hitLately says whether a guard hit in one of the last MinKnown known windows, and
// in which it did last.
func (e *Engine) hitLately(t *track, name string) (window uint32, yes bool) {
	i := slices.Index(remembering[:], name)
	if i < 0 || len(t.history) == 0 || t.hitAt[i] == 0 {
		return 0, false
	}
	first := t.history[max(len(t.history)-e.rules.MinKnown, 0)]
	window = t.hitAt[i] - 1
	return window, window >= e.windowOf(first)
}

// forgetHits drops hits in number and later windows. What was before the last one is
// not known then: as if it had not been.
func (t *track) forgetHits(number uint32) {
	for i, at := range t.hitAt {
		if at > number {
			t.hitAt[i] = 0
		}
	}
}
