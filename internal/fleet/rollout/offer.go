package rollout

import "github.com/congctl/congctl/internal/tcp/record"

// apply takes a plan. Content that is in force already, or treats nothing, goes to all hosts at once:
// a canary for a renewal would only let treatment expire.
func (o Offer) apply(r *Rollout) {
	s, p := &r.State, o.Plan
	if p == s.Base || p == s.Next || s.Waiting != nil && p == *s.Waiting {
		return // offered again, after a crash
	}
	switch {
	case p.Hash == "" || p.Content == "":
		r.refuse("take plan %d: no hash", p.Serial)
	case p.Serial <= s.top():
		r.refuse("take plan %d: not newer than plan %d", p.Serial, s.top())
	case p.expired(r.nowNs):
		r.refuse("take plan %d: expired", p.Serial)
	case p.Content == s.Base.Content || p.Prefixes == 0 || o.Held && s.Stage == StageBack:
		s.Frozen = s.Frozen || o.By != ""
		r.direct(p)
	case s.Killed:
		r.refuse("take plan %d: treatment is stopped", p.Serial)
	case s.Frozen && o.By == "" && !o.Held:
		r.refuse("take plan %d: the plan is frozen", p.Serial)
	case s.Stage == StageBack:
		r.refuse("take plan %d: plan %d is being taken back", p.Serial, s.Next.Serial)
	default:
		s.Frozen = s.Frozen || o.By != ""
		r.place(p)
	}
}

// place puts new content in its place: at once where nothing rolls out or only the canary may have
// something; else behind what rolls out, since beside the settled plan that would be a third content.
func (r *Rollout) place(p Plan) {
	s := &r.State
	switch {
	case s.Stage == StageSettled:
		r.begin(p)
	case r.rolling() && p.Content == s.Next.Content:
		r.supersede()
		s.Next, s.SinceNs, s.Waiting = p, r.nowNs, nil // what waits is older than this
	case s.Stage == StageCanary:
		r.tell(KindReplaced, "plan %d: plan %d takes its place", s.Next.Serial, p.Serial)
		r.supersede()
		r.begin(p)
	default:
		if s.Waiting != nil {
			r.tell(KindReplaced, "plan %d: plan %d waits in its place", s.Waiting.Serial, p.Serial)
		} else {
			r.tell(KindReplaced, "plan %d waits for what rolls out", p.Serial)
		}
		s.Waiting = &p
	}
}

// supersede notes that a reached host may have Next, though it has not said so: it is not as
// before Next if it refuses what comes now.
func (r *Rollout) supersede() {
	for _, h := range r.State.Hosts {
		if next := r.State.Next; h.Reached && h.Refused != next.Serial && h.Serial < next.Serial {
			h.Serial, h.Hash = next.Serial, ""
		}
	}
}

func (k Kill) apply(r *Rollout) {
	s := &r.State
	if k.On == s.Killed {
		return
	}
	s.Killed = k.On
	for _, h := range s.Hosts {
		h.StopKnown, h.StopNs, h.Sent = false, 0, 0 // an answer may be on its way, and old
	}
	switch {
	case k.On:
		r.halt("treatment was stopped")
	case s.Stage == StageSettled && s.Base.Serial != 0:
		r.direct(s.Base)
	}
}

// apply changes nothing where the flag is as it was: what an operator pushed rolls out frozen.
func (f Freeze) apply(r *Rollout) {
	was := r.State.Frozen
	if r.State.Frozen = f.On; f.On && !was {
		r.halt("the plan was frozen by " + f.By)
	}
}

// halt leaves nothing on its way that would change content; what is half out is taken back.
func (r *Rollout) halt(why string) {
	r.State.Waiting = nil
	if r.rolling() {
		r.back(why)
	}
}

func (a Abort) apply(r *Rollout) {
	if !r.rolling() {
		r.refuse("abort: nothing rolls out")
		return
	}
	r.back("aborted by " + a.By)
}

func (Tick) apply(*Rollout) {}

func (Restart) apply(r *Rollout) {
	for _, h := range r.State.Hosts {
		if h.Connected {
			h.leave(r.nowNs)
		}
	}
	r.State.SinceNs = r.nowNs // hosts need time to come back
	if r.State.Stage == StageBack {
		r.write()
	}
}

// top is the highest serial known here: a new plan is above it.
func (s *State) top() record.PlanID {
	top := max(s.Base.Serial, s.Next.Serial)
	if s.Waiting != nil {
		top = max(top, s.Waiting.Serial)
	}
	return top
}
