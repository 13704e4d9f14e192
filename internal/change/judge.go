package change

import "fmt"

// Act is what is to be done about a step.
type Act int

// The acts.
const (
	Nothing Act = iota // the target has what is wanted
	Write
	Leave  // it has something else, which is right so
	Object // it has something else, and somebody must look
)

// Verdict is an act and its reason.
type Verdict struct {
	Act  Act
	Text string
}

// Forward decides about a step that is to be applied, by what its target has now.
func (j *Journal) Forward(i int, now Value) Verdict {
	s, m := j.Steps[i], j.Marks[i]
	switch {
	case m.Lost && s.Kind.Same(s.New, now):
		return Verdict{Nothing, "the reboot has set it"}
	case m.Lost:
		return Verdict{Act: Write}
	case m.Status == Intended && s.Kind.Same(s.New, now):
		return Verdict{Nothing, "it was written before the interruption"}
	case s.Kind.Same(m.Old, now), m.Status == Intended && s.Kind.midway(s, m.Old, now):
		return Verdict{Act: Write}
	}
	return Verdict{Object, "changed since it was read: " + s.differs(m.Old, now)}
}

// Backward decides about a step that is to be taken back, by what its target has now.
// What is neither the old value nor ours is somebody's: it is refused unless force is
// set. After a reboot a volatile target with a third value is as the files have it.
func (j *Journal) Backward(i int, now Value, force bool) Verdict {
	s, m := j.Steps[i], j.Marks[i]
	switch {
	case !j.Open(i) && m.Status != Refused:
		return Verdict{Act: Nothing}
	case s.Kind.Same(m.Old, now), s.Kind.Same(m.Back(), now):
		return Verdict{Act: Nothing}
	case s.Kind.ofLink() && !now.Present:
		return Verdict{Leave, "the interface has gone, and this with it"}
	case m.Lost && !s.Kind.Same(s.New, now):
		return Verdict{Leave, "neither old nor ours since the reboot: " + Brief(now)}
	case m.Lost, m.ours(s, now):
		return Verdict{Act: Write}
	case force:
		return Verdict{Write, "by force: " + s.differs(m.wrote(s), now)}
	}
	return Verdict{Object, s.differs(m.wrote(s), now)}
}

// ours tells whether now is what this change wrote. Where the write was noted, the
// value that was read back right after it must be there to the byte; where it was
// interrupted, in either direction, what it was to become will do.
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
