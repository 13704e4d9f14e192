package rollout

import (
	"cmp"
	"fmt"
)

// A stage passes when every connected host that it waits for has read the plan back, and at least
// one has: a host that leaves without an answer may have crashed of the plan. It fails as a whole:
// the hosts of a PoP serve the same clients, so half a PoP on another plan would mix the arms of the
// experiment.

// enter begins a stage.
func (r *Rollout) enter(s Stage) {
	r.State.Stage, r.State.SinceNs = s, r.nowNs
	for _, h := range r.State.Hosts {
		h.Due = false
		if s == StageSettled || s == StageDirect {
			h.Reached = false
		}
	}
	if s == StageSettled {
		r.State.Next = Plan{}
	}
}

// begin starts a roll-out, or lets a newer plan take the place of one that is at its canary.
func (r *Rollout) begin(p Plan) {
	r.State.Next = p
	r.enter(StageCanary)
	for _, name := range r.names(func(h *Host) bool { return h.Connected }) {
		r.tooNew(name, p)
	}
	reached := r.names(func(h *Host) bool { return h.Connected && h.Reached })
	for _, name := range reached {
		r.State.Hosts[name].Due = true
	}
	if len(reached) == 0 {
		reached = r.reach()
	}
	r.tell(KindStage, "plan %d: canary %s", p.Serial, cmp.Or(list(reached), "is the first host that connects"))
}

// missing lists the connected hosts that have not read p back, of those that the stage waits for.
func (r *Rollout) missing(p Plan) []string {
	return r.names(func(h *Host) bool { return h.Due && h.Connected && !r.has(h, p) })
}

// advance makes one step of the state machine, and reports whether there may be another.
func (r *Rollout) advance() bool {
	s := &r.State
	late := r.elapsed(&s.SinceNs) >= r.rules.Limit
	switch {
	case s.Stage == StageBack && late:
		s.SinceNs = r.nowNs
		r.write()
	case s.Stage == StageDirect:
		return r.advanceDirect(late)
	case s.Stage == StageSettled && s.Waiting != nil:
		next := *s.Waiting
		s.Waiting = nil
		if next.expired(r.nowNs) {
			r.tell(KindReplaced, "plan %d expired while it waited", next.Serial)
			return false
		}
		r.begin(next)
		return true
	case r.rolling():
		return r.advanceRolling(late)
	}
	return false
}

// advanceDirect ends when all hosts have the plan. Those that let the limit pass are astray; one that has just
// come has its own limit, in send.
func (r *Rollout) advanceDirect(late bool) bool {
	base := r.State.Base
	missing := r.missing(base)
	moot := r.State.Killed || base.expired(r.nowNs)
	if len(missing) > 0 && !late && !moot {
		return false
	}
	for _, name := range missing {
		h := r.State.Hosts[name]
		young := h.Sent == base.Serial && r.elapsed(&h.FirstNs) < r.rules.Limit
		if !moot && !young {
			r.astray(name, r.silence(base))
		}
	}
	r.enter(StageSettled)
	return true
}

// advanceRolling ends a stage, one way or the other. A canary that no host can be waits.
func (r *Rollout) advanceRolling(late bool) bool {
	next := r.State.Next
	due := r.names(func(h *Host) bool { return h.Due })
	done := r.names(func(h *Host) bool { return h.Due && h.Connected && h.answered(next) })
	missing := r.missing(next)
	switch {
	case next.expired(r.nowNs):
		r.fail("it expired")
	case len(missing) == 0 && (len(done) > 0 || len(due) == 0 && r.State.Stage != StageCanary):
		r.nextStage()
	case late && len(due) > 0:
		r.fail(fmt.Sprintf("no answer within %.0f s from %s", r.rules.Limit.Seconds(), cmp.Or(list(missing), "any host of its stage")))
	default:
		return false
	}
	return true
}

func hosts(n int) string {
	if n == 1 {
		return "host"
	}
	return "hosts"
}

// nextStage enters the next stage that has another host, or settles.
func (r *Rollout) nextStage() {
	s := &r.State
	for _, stage := range []Stage{StageShare, StageAll} {
		if s.Stage == StageAll || s.Stage == stage {
			continue
		}
		r.enter(stage)
		if added := r.reach(); len(added) > 0 {
			r.tell(KindStage, "plan %d: %s, %d more %s", s.Next.Serial, stage, len(added), hosts(len(added)))
			return
		}
	}
	has := r.names(func(h *Host) bool { return h.Connected && h.answered(s.Next) })
	r.tell(KindSettled, "plan %d is in force on %d %s", s.Next.Serial, len(has), hosts(len(has)))
	s.Base = s.Next
	r.enter(StageSettled)
}

// fail takes Next back. Where no host can hold it, the settled plan is still in force everywhere; a
// controller that is frozen must hold that one all the same.
func (r *Rollout) fail(why string) {
	s := &r.State
	held := r.names(func(h *Host) bool { return h.Reached && !(h.Serial <= s.Base.Serial && h.refusedAll(s.Next)) })
	if s.Waiting != nil { // its round did not know; the next one decides anew
		r.tell(KindReplaced, "plan %d waited for plan %d, and is dropped with it", s.Waiting.Serial, s.Next.Serial)
		s.Waiting = nil
	}
	if len(held) == 0 && !s.Frozen {
		r.tell(KindBack, "plan %d: %s; no host has it", s.Next.Serial, why)
		r.enter(StageSettled)
		return
	}
	r.back(why)
}

// back has the controller write the settled content anew, so that it holds what the hosts have.
func (r *Rollout) back(why string) {
	s := &r.State
	r.tell(KindBack, "plan %d: %s; back to the content of plan %d", s.Next.Serial, why, s.Base.Serial)
	r.enter(StageBack)
	r.write()
}

func (r *Rollout) write() { r.order(Order{Do: OrderWrite, Serial: r.State.Base.Serial}) }

// direct makes p the settled plan and sends it to all hosts at once.
func (r *Rollout) direct(p Plan) {
	s := &r.State
	if s.Next.Serial != 0 {
		r.tell(KindBack, "plan %d: plan %d takes its place on all hosts", s.Next.Serial, p.Serial)
	}
	s.Base, s.Next, s.Waiting = p, Plan{}, nil
	if s.Killed {
		r.enter(StageSettled)
		return
	}
	r.enter(StageDirect)
	for _, h := range s.Hosts {
		h.Due = h.Connected && !h.Astray
	}
}
