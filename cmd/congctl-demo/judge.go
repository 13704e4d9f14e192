package main

import (
	"time"

	"github.com/congctl/congctl/internal/core/record"
)

// Which congestion control should a large response have ended with? That follows
// from the plan, the block's arm, which anyone can recompute from the plan's salt,
// and the kill switch. It is asked only of the first large response of a
// connection, and only where nothing changed while it ran.

// phase is what held while a response ran.
type phase uint8

const (
	phaseBefore  phase = iota // not in the plan
	phaseTreat                // in the plan, treatment block
	phaseControl              // in the plan, control block
	phaseStopped              // in the plan, treatment block, but the kill switch is pulled
	phaseResumed              // as phaseTreat, after the kill switch
	phaseChange               // one of these turned into another meanwhile: proves nothing
	phases
)

// How close to a change a response may run and still be judged. A plan bears the
// time of its window's end and reaches the kernel when the round has waited for the
// window's last records, so more room is left behind a change than before one.
const (
	roomBehind = 1500 * time.Millisecond
	roomBefore = 300 * time.Millisecond
)

func (p phase) treats() bool { return p == phaseTreat || p == phaseResumed }

func (b *book) phaseOf(p record.Prefix, r *response) phase {
	from := b.phaseAt(p, r.Start-int64(roomBehind))
	to := b.phaseAt(p, r.End+int64(roomBefore))
	if from != to {
		return phaseChange
	}
	return from
}

func (b *book) phaseAt(p record.Prefix, unixNs int64) phase {
	t := b.termAt(p, unixNs)
	if t == nil {
		return phaseBefore
	}
	arm, _ := t.plan.ArmAt(p, unixNs/int64(time.Second))
	switch {
	case arm != record.ArmTreatment:
		return phaseControl
	case b.stoppedAt(unixNs):
		return phaseStopped
	case len(b.stops) > 0 && unixNs >= b.stops[0].from:
		return phaseResumed
	}
	return phaseTreat
}

func (s span) holds(unixNs int64) bool { return s.from <= unixNs && (s.to == 0 || unixNs < s.to) }

func (b *book) termAt(p record.Prefix, unixNs int64) *term {
	for i, t := range b.terms[p] {
		if t.holds(unixNs) {
			return &b.terms[p][i]
		}
	}
	return nil
}

func (b *book) stoppedAt(unixNs int64) bool {
	for _, s := range b.stops {
		if s.holds(unixNs) {
			return true
		}
	}
	return false
}

// share counts responses that ended with what was due.
type share struct{ right, all int }

func (s *share) add(right bool) {
	s.all++
	if right {
		s.right++
	}
}

// verdict is one network's account.
type verdict struct {
	network
	term          *term         // of its last stay in the plan; nil if it never was
	large         [phases]share // right: on what the phase demands
	small         share         // right: on the default
	other         int           // responses that ran neither default nor treatment
	before, after figures       // under the default before the plan, and in treatment blocks
}

func (b *book) verdictOf(n network) verdict {
	b.mu.Lock()
	defer b.mu.Unlock()
	v := verdict{network: n}
	p, _ := record.PrefixOf(n.prefix.Addr())
	if ts := b.terms[p]; len(ts) > 0 {
		v.term = &ts[len(ts)-1]
	}
	for i := range b.responses[p] {
		r := &b.responses[p][i]
		if !r.first() {
			continue
		}
		if r.After != defaultCong && r.After != treatment {
			v.other++
		}
		if !r.large() {
			v.small.add(r.After == defaultCong)
			continue
		}
		ph := b.phaseOf(p, r)
		v.large[ph].add((r.After == treatment) == ph.treats())
		switch {
		case ph == phaseBefore && r.After == defaultCong:
			v.before.add(r)
		case ph == phaseTreat && r.After == treatment:
			v.after.add(r)
		}
	}
	return v
}
