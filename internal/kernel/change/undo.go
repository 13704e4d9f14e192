package change

import (
	"errors"
	"fmt"
	"slices"

	"github.com/congctl/congctl/internal/core/change"
)

// Undo takes a change back, in reverse order, value by value. A value that somebody
// changed since is refused unless force is set, one that cannot be written has failed,
// and the others are taken back; the journal then stays open, and the error names those
// that failed. Undo goes on where an earlier one was interrupted.
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
		return r, r.stop(j, len(j.Steps)-1, err)
	}
	for i := range slices.Backward(j.Steps) {
		err := e.takeBack(j, i, force, &r)
		if errors.Is(err, errJournal) || errors.Is(err, ErrPowerCut) {
			return r, r.stop(j, i, err)
		}
		if err != nil {
			r.fail(j, i, err)
		}
	}
	if len(r.Failed)+len(j.Refusals()) > 0 {
		return r, r.stuck()
	}
	return r, e.add(j, change.Line{Event: change.Closed, Text: "undone"})
}

// Abandon closes a change and takes nothing more back: its values stay from here on,
// somebody's who changed them since, or because there is nothing to come back to.
func (e *Engine) Abandon(j *change.Journal, why string) error {
	if err := e.resume(j); err != nil {
		return err
	}
	var lines []change.Line
	if j.Phase != change.Undoing {
		lines = append(lines, change.Line{Event: change.Undo, Text: why})
	}
	for i := range j.Steps {
		if j.Open(i) {
			lines = append(lines, change.Line{Event: change.Left, At: i, Text: why})
		}
	}
	for _, l := range append(lines, change.Line{Event: change.Closed, Text: why}) {
		if err := e.add(j, l); err != nil {
			return err
		}
	}
	return nil
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
		if event, err = e.restore(j, i, v.Text, r); err != nil {
			return err
		}
	}
	r.note(s, event)
	return e.add(j, event)
}

// restore writes the old value.
func (e *Engine) restore(j *change.Journal, i int, why string, r *Report) (change.Line, error) {
	s := j.Steps[i]
	l := change.Line{Event: change.Back, At: i, Text: why}
	if err := e.add(j, l); err != nil {
		return l, err
	}
	_, err := e.write(s, j.Marks[i].Old)
	l.Event = change.Undone
	if errors.Is(err, ErrInUse) {
		return r.inUse(l, s, err)
	}
	return l, err
}
