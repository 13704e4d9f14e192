package ledger

import "github.com/congctl/congctl/internal/core/record"

// Which arm does a record carry? The one that was in force when the last response
// crossed the threshold; without a crossing since its window began, the prefix's
// arm in the window. (A final poll that comes late shows crossings of after the
// window's end, maybe in the next block: what was applied was applied there, and
// so the arm must be that block's too, or the record contradicts itself.) The
// kernel tells the former, but for two cases: past the end of its map value it says
// unknown, and it has no entry for prefixes that are never acted on. Both are
// recomputed: arms are a function of (prefix, block, salt).
//
// What was applied belongs to that crossing. Without one since the window began
// nothing was, in this window's arm; but a connection that is on the treatment is,
// whenever it was switched.
//
// Where no eBPF follows connections (Config.Unfollowed) the congestion control
// decides: who is on its namespace's default was not treated, and is in the
// prefix's arm of the window; who is not may be either.

// fillArms sets Assigned, Applied and Carryover.
func (l *Ledger) fillArms(r *record.Conn, e *entry) {
	switch {
	case !e.is(passive): // our own outgoing connections are in no plan
	case e.is(marked):
		r.Assigned, r.Applied = l.assigned(r, e.assigned), e.applied
		if r.CrossedNs/1e9 < r.Window && !e.is(switched) {
			r.Applied = record.AppliedNone
		}
		r.Carryover = e.is(switched) && l.block(r.SwitchedNs/1e9) < l.block(max(r.Window, r.CrossedNs/1e9))
	case e.is(foreign):
		r.Assigned, r.Applied = record.ArmUnknown, record.AppliedUnknown
	case e.is(preStart): // on the default, and eBPF cannot move it: as in no plan
	case l.cfg.Unfollowed && r.DefaultCong:
		r.Assigned = l.armAt(r.Prefix, r.Window)
		if r.Assigned == record.ArmControl {
			r.Applied = record.AppliedControl
		}
	case l.cfg.Unfollowed: // a route's treatment, or its application's own choice
		r.Assigned, r.Applied = record.ArmUnknown, record.AppliedUnknown
	default:
		r.Assigned, r.Applied = l.armAt(r.Prefix, r.Window), record.AppliedUnknown
	}
}

func (l *Ledger) assigned(r *record.Conn, kernel record.Arm) record.Arm {
	at := r.CrossedNs / 1e9
	if at < r.Window {
		return l.armAt(r.Prefix, r.Window)
	}
	if kernel != record.ArmUnknown && kernel != record.ArmNone {
		return kernel
	}
	arm := l.armAt(r.Prefix, at)
	if kernel == record.ArmUnknown || arm == record.ArmHoldout || arm == record.ArmAA {
		return arm
	}
	return kernel
}

func (l *Ledger) armAt(p record.Prefix, unix int64) record.Arm {
	if l.cfg.ArmAt == nil || p == 0 {
		return record.ArmNone
	}
	arm, in := l.cfg.ArmAt(p, unix)
	if !in {
		return record.ArmNone
	}
	return arm
}

func (l *Ledger) block(unix int64) int64 { return unix / l.cfg.BlockSeconds }
