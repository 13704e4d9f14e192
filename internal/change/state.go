package change

import "fmt"

// Phase is where a change stands as a whole.
type Phase string

// The phases, in order. A journal without a plan has none: it is [ErrTorn].
const (
	Prepared Phase = "prepared" // the plan is written, nothing touched
	Applying Phase = "applying"
	Applied  Phase = "applied" // in force
	Undoing  Phase = "undoing" // begun, or ended with values that somebody changed since
	Gone     Phase = "undone"
)

// Status is where one step stands.
type Status string

// The statuses of a step.
const (
	Untouched Status = "untouched"
	Intended  Status = "intended" // perhaps written
	Written   Status = "written"
	Taking    Status = "taking back" // perhaps restored
	Restored  Status = "restored"
	Kept      Status = "left"
	Refused   Status = "refused"
)

// Mark is a step's status.
type Mark struct {
	Status Status
	// Old is what an undo restores: the plan's, except for a volatile target that was
	// written again after a reboot and had the boot's value.
	Old Value
	// where it goes instead, on the way back over older changes; nil is to Old
	To    *Value
	Wrote *Value // what the target had right after the write, nil until that is noted
	// Lost: the target forgets at a reboot, and there was one since the plan was made.
	Lost bool
}

// Back is what an undo writes.
func (m Mark) Back() Value {
	if m.To != nil {
		return *m.To
	}
	return m.Old
}

// State is what the lines after the plan add up to.
type State struct {
	Phase Phase
	Boot  string // boot id that the last line was written under
	Marks []Mark // of each step
}

// NewState returns the state of a plan before its first step.
func NewState(p Plan) State {
	s := State{Phase: Prepared, Boot: p.Boot, Marks: make([]Mark, len(p.Steps))}
	for i := range s.Marks {
		s.Marks[i].Status, s.Marks[i].Old = Untouched, p.Steps[i].Old
	}
	return s
}

// Take applies a line that follows the plan, or refuses one that cannot come here.
func (j *Journal) Take(l Line) error {
	if j.Phase == Gone {
		return fmt.Errorf("event %q after the end", l.Event)
	}
	switch l.Event {
	case Intend, Done, Back, Undone, Left, Refuse:
		if l.At < 0 || l.At >= len(j.Marks) {
			return fmt.Errorf("step %d: the plan has %d", l.At, len(j.Marks))
		}
		return j.takeStep(l, &j.Marks[l.At])
	case Apply:
		return j.takeApplied()
	case Booted:
		j.reboot(l.Text)
		return nil
	case Undo:
		j.Phase = Undoing
		return nil
	case Closed:
		return j.takeClosed()
	}
	return fmt.Errorf("event %q after the plan", l.Event)
}

func (j *Journal) takeStep(l Line, m *Mark) error {
	forward := l.Event == Intend || l.Event == Done
	if forward != (j.Phase == Prepared || j.Phase == Applying) || !forward && j.Phase != Undoing {
		return fmt.Errorf("event %q while %s", l.Event, j.Phase)
	}
	if l.Event == Done && l.Now == nil {
		return fmt.Errorf("event %q without a value", l.Event)
	}
	switch l.Event {
	case Intend:
		j.Phase, m.Status = Applying, Intended
		if l.Now != nil {
			m.Old = *l.Now
		}
	case Done:
		j.Phase, m.Status, m.Wrote, m.Lost = Applying, Written, l.Now, false
	case Back:
		m.Status = Taking
		if l.Now != nil {
			m.To = l.Now
		}
	case Undone:
		m.Status, m.Lost = Restored, false
	case Left:
		m.Status, m.Lost = Kept, false
	case Refuse:
		m.Status = Refused
	}
	return nil
}

func (j *Journal) takeApplied() error {
	if j.Phase != Applying {
		return fmt.Errorf("event %q while %s", Apply, j.Phase)
	}
	for i, m := range j.Marks {
		if m.Status != Written {
			return fmt.Errorf("event %q, but step %d is %s", Apply, i, m.Status)
		}
	}
	j.Phase = Applied
	return nil
}

func (j *Journal) takeClosed() error {
	if j.Phase != Undoing {
		return fmt.Errorf("event %q while %s", Closed, j.Phase)
	}
	for i := range j.Marks {
		if j.Open(i) {
			return fmt.Errorf("event %q, but step %d is %s", Closed, i, j.Marks[i].Status)
		}
	}
	j.Phase = Gone
	return nil
}

// Open reports whether an undo still has to look at a step. A target that forgets is open
// again after a reboot: a file that could not be undone may have set it.
func (j *Journal) Open(i int) bool {
	switch m := j.Marks[i]; m.Status {
	case Untouched, Restored, Kept:
		return m.Lost
	case Intended, Written, Taking:
		return true
	}
	return false
}

// Refusals returns the steps that somebody changed since.
func (j *Journal) Refusals() (list []int) {
	for i, m := range j.Marks {
		if m.Status == Refused {
			list = append(list, i)
		}
	}
	return list
}

func (j *Journal) reboot(boot string) {
	j.Boot = boot
	for i, s := range j.Steps {
		m := &j.Marks[i]
		if !s.Kind.Volatile() {
			continue
		}
		m.Lost, m.Old = true, s.Kind.afterBoot(m.Old)
		if m.To != nil {
			to := s.Kind.afterBoot(*m.To)
			m.To = &to
		}
	}
}

// afterBoot returns an old value as a later boot has it. What enable put at a root is gone:
// the kernel now has what its settings say, which may no longer be enable's.
func (k Kind) afterBoot(v Value) Value {
	nodes, err := ParseTree(v.Text)
	if k != Egress || err != nil || len(nodes) == 0 || nodes[0].Handle != OwnHandle<<16 {
		return v
	}
	v.Text = Tree(unnamed(nodes)).Text
	return v
}
