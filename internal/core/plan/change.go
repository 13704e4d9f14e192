package plan

import "github.com/congctl/congctl/internal/core/record"

// A plan that differs much from the one in force is more likely a fault
// upstream than a change of the Internet. The limit is per round:
//
//	change  = removed + altered + (added, when more than Ramp x rounds)
//	allowed = max(MinChange, MaxChange x entries in force) x rounds
//
// Additions within the ramp are free, because every plan starts empty and a share
// of nothing is nothing: a plain 20 % refused the first plans of simulated PoPs.
// An empty plan is always allowed: it is the brake. A roll-back (a lower serial)
// is judged as the step forward that it undoes, so that whatever was allowed can
// be taken back.

// change counts entries; altered ones have another congestion control or cap.
type change struct{ added, removed, altered int }

func changeOf(prev, p []Entry) (c change) {
	was := make(map[record.Prefix]Entry, len(prev))
	for _, e := range prev {
		was[e.Prefix] = e
	}
	kept := 0
	for _, e := range p {
		old, ok := was[e.Prefix]
		switch {
		case !ok:
			c.added++
			continue
		case old.Cong != e.Cong || old.CapBytesPerS != e.CapBytesPerS:
			c.altered++
		}
		kept++
		delete(was, e.Prefix) // a duplicate counts as added
	}
	c.removed = len(prev) - kept
	return c
}

func (l Limits) rounds(prev, p *Plan) int {
	if l.RoundSeconds < 1 {
		return 1
	}
	// A hundred rounds already exceed any plan; the bound keeps the products small.
	return int(min(100, max(1, (p.Created-prev.Created)/l.RoundSeconds)))
}

func validateChange(p, prev *Plan, l Limits, bad *refusals) {
	if prev == nil || len(p.Entries) == 0 {
		return
	}
	verb := "against"
	if p.Serial < prev.Serial {
		if len(prev.Entries) == 0 {
			return // back from the brake
		}
		p, prev, verb = prev, p, "in the step to be undone, against"
	}
	rounds := l.rounds(prev, p)
	c := changeOf(prev.Entries, p.Entries)
	counted := c.removed + c.altered
	if c.added > l.Ramp*rounds {
		counted += c.added
	}
	allowed := max(l.MinChange, int(l.MaxChange*float64(len(prev.Entries))+1e-9)) * rounds
	if counted > allowed {
		bad.addf(lineEntries, "entries", "%d added, %d removed, %d altered %s the %d of serial %d, %d round(s) earlier; "+
			"at most %d new, or %d changes; send it in steps",
			c.added, c.removed, c.altered, verb, len(prev.Entries), prev.Serial, rounds, l.Ramp*rounds, allowed)
	}
}
