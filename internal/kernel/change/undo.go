package change

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/congctl/congctl/internal/core/change"
)

// Report is what an undo did, each in the order of the work.
type Report struct {
	Restored, Left, Refused Notes
}

// Note is one step with a few words about it.
type Note struct {
	Step change.Step
	Text string
}

// Notes of several steps.
type Notes []Note

func (n Notes) String() string {
	var list []string
	for _, x := range n {
		list = append(list, fmt.Sprintf("%s (%s)", x.Step, x.Text))
	}
	return strings.Join(list, ", ")
}

// Undo takes a change back, in reverse order, value by value. A value that somebody
// changed since is refused unless force is set, and the others are taken back; the
// journal then stays open. Undo goes on where an earlier one was interrupted.
func (e *Engine) Undo(j *change.Journal, force bool, why string) (Report, error) {
	if j.Phase == change.Gone {
		return Report{}, fmt.Errorf("undo %s: it is undone", j.ID)
	}
	if err := e.resume(j); err != nil {
		return Report{}, err
	}
	return e.undo(j, force, why)
}

func (e *Engine) undo(j *change.Journal, force bool, why string) (r Report, err error) {
	if err := e.add(j, change.Line{Event: change.Undo, Text: why}); err != nil {
		return r, err
	}
	for i := range slices.Backward(j.Steps) {
		if err := e.takeBack(j, i, force, &r); err != nil {
			return r, fmt.Errorf("take back %s: %w", j.Steps[i], err)
		}
	}
	if len(j.Refusals()) > 0 {
		return r, nil
	}
	return r, e.add(j, change.Line{Event: change.Closed, Text: "undone"})
}

// Abandon closes a change whose remaining values somebody changed since: they are that
// somebody's from here on.
func (e *Engine) Abandon(j *change.Journal, why string) error {
	if err := e.resume(j); err != nil {
		return err
	}
	return e.add(j, change.Line{Event: change.Closed, Text: why})
}

func (e *Engine) takeBack(j *change.Journal, i int, force bool, r *Report) error {
	if !j.Open(i) && j.Marks[i].Status != change.Refused {
		return nil
	}
	s := j.Steps[i]
	now, err := e.look(j, i)
	if err != nil {
		return err
	}
	v := j.Backward(i, now, force)
	event := change.Line{At: i, Text: v.Text}
	switch v.Act {
	case change.Nothing:
		if err := e.keep(s); err != nil {
			return err
		}
		event.Event = change.Undone
	case change.Leave:
		event.Event = change.Left
	case change.Object:
		event.Event = change.Refuse
	case change.Write:
		if event, err = e.restore(j, i, v.Text); err != nil {
			return err
		}
	}
	r.note(s, event)
	return e.add(j, event)
}

// restore writes the old value. What is in use stays, and that is not a failure.
func (e *Engine) restore(j *change.Journal, i int, why string) (change.Line, error) {
	s := j.Steps[i]
	l := change.Line{Event: change.Back, At: i, Text: why}
	if err := e.add(j, l); err != nil {
		return l, err
	}
	_, err := e.write(s, j.Marks[i].Old)
	l.Event = change.Undone
	if errors.Is(err, ErrInUse) {
		l.Event, l.Text, err = change.Left, err.Error(), nil
	}
	return l, err
}

func (r *Report) note(s change.Step, l change.Line) {
	n := Note{s, l.Text}
	switch l.Event {
	case change.Undone:
		r.Restored = append(r.Restored, n)
	case change.Left:
		r.Left = append(r.Left, n)
	case change.Refuse:
		r.Refused = append(r.Refused, n)
	}
}
