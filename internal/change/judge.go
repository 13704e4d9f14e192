package change

import (
	"fmt"
	"slices"
)

// Act is what to do about a step.
type Act int

// The acts.
const (
	Nothing Act = iota // the target has the wanted value
	Write
	Leave  // it has another value, and rightly so
	Object // it has another value, and somebody must look
)

// Verdict is an act and its reason.
type Verdict struct {
	Act  Act
	Text string
}

// Forward decides about a step to apply, by the present value of its target.
func (j *Journal) Forward(i int, now Value) Verdict {
	s, m := j.Steps[i], j.Marks[i]
	switch {
	case m.Lost && s.Kind.Same(s.New, now):
		return Verdict{Nothing, "set by the reboot"}
	case m.Lost:
		return Verdict{Act: Write}
	case m.Status == Intended && s.Kind.Same(s.New, now):
		return Verdict{Nothing, "it was written before the interruption"}
	case s.Kind.Same(m.Old, now), m.Status == Intended && s.Kind.midway(s, m.Old, now):
		return Verdict{Act: Write}
	}
	return Verdict{Object, "changed since it was read: " + s.differs(m.Old, now)}
}

// Backward decides about a step to undo, by the present value of its target. A value that is
// neither the old one nor ours is somebody else's: it is refused unless force is set. After
// a reboot a volatile target with a third value has what the files say.
func (j *Journal) Backward(i int, now Value, force bool) Verdict {
	s, m := j.Steps[i], j.Marks[i]
	switch {
	case !j.Open(i) && m.Status != Refused:
		return Verdict{Act: Nothing}
	case s.Kind.Same(m.Old, now), s.Kind.Same(m.Back(), now):
		return Verdict{Act: Nothing}
	case s.Kind.ofLink() && !now.Present:
		return Verdict{Leave, "the interface is gone, and this with it"}
	case m.Lost && !s.Kind.Same(s.New, now):
		return Verdict{Leave, "since the reboot neither the old value nor congctl's: " + Brief(now)}
	case m.Lost, m.ours(s, now):
		return Verdict{Act: Write}
	case force:
		return Verdict{Write, "forced: " + s.differs(m.wrote(s), now)}
	}
	return Verdict{Object, s.differs(m.wrote(s), now)}
}

// ours reports whether now is what this change wrote. If the write was noted, the value read
// back right after it must still be there to the byte; if it was interrupted, in either
// direction, the intended value is enough.
func (m Mark) ours(s Step, now Value) bool {
	if m.Wrote != nil && now == *m.Wrote {
		return true
	}
	return (m.Wrote == nil || m.Status == Taking) && (s.Kind.Same(s.New, now) || s.Kind.midway(s, m.Back(), now))
}

func (m Mark) wrote(s Step) Value {
	if m.Wrote != nil {
		return *m.Wrote
	}
	return s.New
}

func (s Step) differs(want, now Value) string {
	if want.Text == now.Text && want.Present && now.Present {
		return fmt.Sprintf("mode %o, owner %d:%d, not %o, %d:%d", now.Mode, now.UID, now.GID, want.Mode, want.UID, want.GID)
	}
	return fmt.Sprintf("it is %s, not %s", Brief(now), Brief(want))
}

// Destination returns the value that step i goes back to if older changes, the oldest first,
// are undone right after it. It skips a value that one of those would overwrite: perhaps it
// can no longer be restored.
func (j *Journal) Destination(i int, older []*Journal, force bool) Value {
	v := j.Marks[i].Back()
	for _, o := range slices.Backward(older) {
		k := slices.IndexFunc(o.Steps, j.Steps[i].sameTarget)
		if k >= 0 && o.Backward(k, v, force).Act == Write {
			v = o.Marks[k].Back()
		}
	}
	return v
}

func (s Step) sameTarget(o Step) bool { return s.Kind == o.Kind && s.Target == o.Target }
