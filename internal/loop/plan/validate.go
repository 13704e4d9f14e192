package plan

import (
	"bytes"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/congctl/congctl/internal/tcp/ranges"
	"github.com/congctl/congctl/internal/tcp/record"
)

// Limits are one host's conditions for acting on a plan. The zero value refuses every plan: a
// forgotten limit stops, it does not let pass.
type Limits struct {
	PoP   string
	Max   int            // most entries
	Deny  []netip.Prefix // an entry wholly inside one is refused; narrower ones act in the kernel, by address
	Allow []netip.Prefix // exempt from special ranges, not from Deny
	Congs []string       // congestion controls that this kernel has
	Now   int64          // Unix seconds
	// MaxLifeS is the longest time from now to expiry, seconds; 0: no limit. It bounds how long a dead
	// controller's plan can stay.
	MaxLifeS int64

	// The change against the plan in force: see change.
	MaxChange    float64 // share of the entries in force that may change in a round
	MinChange    int     // entries that may always change in a round
	Ramp         int     // new entries that are always allowed in a round
	RoundSeconds int64   // counts the rounds between the two plans' creation; 0: one round
}

const (
	// MaxLifeS is how long a plan may live, seconds: a long weekend without a controller, then the default again.
	MaxLifeS = 7 * 86400
	// MinChange entries may always change in a round, as many as the ramp puts in: what one round put in, one can take out.
	MinChange = 25
)

// Validate reports whether a host may act on p. prev is the plan in force, nil without one; then the
// size of the change is not judged (a host that joins takes the plan as it is). The error joins a
// *LineError for every refusal, with the line of the canonical text, in the order of the lines.
func Validate(p, prev *Plan, l Limits) error {
	var bad refusals
	validateHeader(p, prev, l, &bad)
	if !p.inOrder() && !hasDuplicates(p.sorted()) {
		bad.addf(p.lineEntries(), "entries", "not sorted by prefix in memory; call Sort")
	}
	validateChange(p, prev, l, &bad)
	seen := map[record.Prefix]int{}
	for i, e := range p.sorted() {
		line := p.lineFirst() + i
		if first, ok := seen[e.Prefix]; ok {
			bad.addf(line, "prefix", "%s: duplicate of line %d", e.Prefix, first)
		} else {
			seen[e.Prefix] = line
		}
		validateEntry(e, p, l, line, &bad)
		if i == max(l.Max, 0) {
			bad.addf(line, "prefix", "%s: entry %d of %d; at most %d", e.Prefix, i+1, len(p.Entries), l.Max)
		}
	}
	return bad.err()
}

func validateHeader(p, prev *Plan, l Limits, bad *refusals) {
	for i, f := range p.header() {
		line := i + 2
		if err := f.check(p); err != nil {
			bad.add(line, f.name, err)
			continue
		}
		switch f.name {
		case "pop":
			bad.add(line, f.name, checkThisPoP(p, l))
		case "serial":
			bad.add(line, f.name, checkSerial(p, prev))
		case "created":
			bad.add(line, f.name, checkCreated(p, l))
		case "expires":
			bad.add(line, f.name, checkLife(p, l))
		case "treatment":
			bad.add(line, f.name, checkAvailable(p.Treatment, l.Congs))
		}
	}
	if e, ok := errors.AsType[*LineError](checkHeader(p)); ok {
		bad.add(e.Line, e.Field, e.Err)
	}
}

func checkThisPoP(p *Plan, l Limits) error {
	if p.PoP != l.PoP {
		return fmt.Errorf("%q: wrong PoP; this is %q", p.PoP, l.PoP)
	}
	return nil
}

// CheckHeader reports where p, with other dates and another serial, would not be what its signer writes
// now. The error joins a *LineError for each such line.
func (p *Plan) CheckHeader(now *Plan) error {
	var bad refusals
	if p.format() != now.format() {
		bad.addf(1, "format", "%q: the plans of this controller have format %q; use one of its own", p.format(), now.format())
		return bad.err()
	}
	for i, f := range p.header() {
		has, want := f.write(nil, p), f.write(nil, now)
		switch {
		case f.name == "serial" || f.name == "created" || f.name == "expires" || bytes.Equal(has, want):
		case f.name == "pop":
			bad.addf(i+2, f.name, "%q: wrong PoP; this is %q", has, want)
		default:
			bad.addf(i+2, f.name, "%q: this controller signs %q; leave the line as it is there, or change the configuration", has, want)
		}
	}
	return bad.err()
}

// checkSerial: records name their plan by serial, so one serial is one plan. A lower serial is no
// error: to roll back is to send an earlier plan.
func checkSerial(p, prev *Plan) error {
	if prev != nil && p.Serial == prev.Serial && p.PoP == prev.PoP && p.Hash() != prev.Hash() {
		return fmt.Errorf("%d: already the serial of another plan; use a new one", p.Serial)
	}
	return nil
}

// checkCreated: the size of a change is judged over the time between two plans, so a creation in the
// future would claim rounds that never ran.
func checkCreated(p *Plan, l Limits) error {
	if ahead := p.Created - l.Now; ahead > max(l.RoundSeconds, 0) {
		return fmt.Errorf("%s: %d s in the future, it is now %s; check both clocks, the controller's and this host's",
			appendTime(nil, p.Created), ahead, appendTime(nil, l.Now))
	}
	return nil
}

func checkLife(p *Plan, l Limits) error {
	switch {
	case p.Expired(l.Now):
		return fmt.Errorf("%s: expired; it is now %s", appendTime(nil, p.Expires), appendTime(nil, l.Now))
	case l.MaxLifeS > 0 && p.Expires-l.Now > l.MaxLifeS:
		return fmt.Errorf("%s: %d s from now; at most %d s", appendTime(nil, p.Expires), p.Expires-l.Now, l.MaxLifeS)
	}
	return nil
}

func checkAvailable(cong string, congs []string) error {
	if slices.Contains(congs, cong) {
		return nil
	}
	return fmt.Errorf("%q: unknown congestion control; available: %s", cong, strings.Join(congs, " "))
}

func validateEntry(e Entry, p *Plan, l Limits, line int, bad *refusals) {
	if field, err := e.check(); err != nil {
		bad.add(line, field, err)
		return
	}
	bad.add(line, "cong", checkAvailable(e.Cong, l.Congs))
	bad.add(line, "state", e.checkState(p))
	if e.Prefix == record.All {
		return // the kernel leaves out by address what may not be treated
	}
	n := e.Prefix.Netip()
	_, allowed := ranges.Covering(l.Allow, n)
	if name, ok := ranges.Special(n); ok && !allowed {
		bad.addf(line, "prefix", "%s: %s; to treat it add it to allow_prefixes", e.Prefix, name)
	}
	if r, ok := ranges.Covering(l.Deny, n); ok {
		bad.addf(line, "prefix", "%s: denied by %s; to treat it take that off treatment.never", e.Prefix, r)
	}
}

// Bars reports whether a prefix may not be treated as a whole, with all others neither.
func (l Limits) Bars(p record.Prefix) bool {
	n := p.Netip()
	_, denied := ranges.Covering(l.Deny, n)
	_, special := ranges.Special(n)
	_, allowed := ranges.Covering(l.Allow, n)
	return denied || special && !allowed
}

func hasDuplicates(sorted []Entry) bool {
	for i := 1; i < len(sorted); i++ {
		if sorted[i].Prefix == sorted[i-1].Prefix {
			return true
		}
	}
	return false
}

// A plan that differs much from the one in force is more likely a fault upstream than a change of
// the Internet. The limit is per round:
//
//	change  = removed + altered + (added, when more than Ramp x rounds)
//	allowed = max(MinChange, MaxChange x entries in force) x rounds
//
// Additions within the ramp are free, because every plan starts empty and a share of nothing is
// nothing: a plain 20 % refused the first plans of simulated PoPs. An empty plan is always
// allowed: it is the brake. A roll-back (a lower serial) is judged as the step forward that it
// undoes, so that whatever was allowed can be taken back.

// A pacing cap is no change: it follows its path, of many networks in one round, and by itself neither treats nor ends a
// treatment.

// change counts entries; altered ones have another congestion control.
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
		case old.Cong != e.Cong:
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
		bad.addf(p.lineEntries(), "entries", "%d added, %d removed, %d altered %s the %d of serial %d, rounds since then: %d; "+
			"at most %d new, or %d changes; send it in steps",
			c.added, c.removed, c.altered, verb, len(prev.Entries), prev.Serial, rounds, l.Ramp*rounds, allowed)
	}
}
