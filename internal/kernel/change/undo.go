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
	return e.takeAllBack([]*change.Journal{j}, force, why)
}

func (e *Engine) takeAllBack(open []*change.Journal, force bool, why string) (r Report, err error) {
	for _, j := range open {
		if err := e.resume(j); err != nil {
			return r, err
		}
	}
	return e.undoAll(open, force, why)
}

// undoAll takes changes back, the newest first, each value straight to what it was before
// the oldest that has it.
func (e *Engine) undoAll(open []*change.Journal, force bool, why string) (r Report, err error) {
	for i, j := range slices.Backward(open) {
		one := e.undo(j, open[:i], force, why, &r)
		if errors.Is(one, ErrPowerCut) {
			return r, one
		}
		err = errors.Join(err, one)
	}
	return r, errors.Join(err, r.stuck())
}

func (e *Engine) undo(j *change.Journal, older []*change.Journal, force bool, why string, r *Report) error {
	for i := range j.Steps {
		if to := j.Destination(i, older, force); to != j.Marks[i].Back() {
			j.Marks[i].To = &to
		}
	}
	if err := e.add(j, change.Line{Event: change.Undo, Text: why}); err != nil {
		return r.stop(j, len(j.Steps)-1, err)
	}
	for i, s := range slices.Backward(j.Steps) {
		if r.Failed.have(s) {
			continue // in a newer change: to this one it would look like somebody's
		}
		err := e.takeBack(j, i, force, r)
		if errors.Is(err, errJournal) || errors.Is(err, ErrPowerCut) {
			return r.stop(j, i, err)
		}
		if err != nil {
			r.fail(j, i, err)
		}
	}
	if len(j.Refusals()) > 0 || slices.ContainsFunc(j.Steps, r.Failed.have) {
		return nil
	}
	return e.add(j, change.Line{Event: change.Closed, Text: "undone"})
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
	r.note(j, event)
	return e.add(j, event)
}

// restore writes the old value.
func (e *Engine) restore(j *change.Journal, i int, why string, r *Report) (change.Line, error) {
	s := j.Steps[i]
	m := j.Marks[i]
	l := change.Line{Event: change.Back, At: i, Now: m.To, Text: why}
	if err := e.add(j, l); err != nil {
		return l, err
	}
	_, err := e.write(s, m.Back())
	l.Event, l.Now = change.Undone, nil
	if errors.Is(err, ErrInUse) {
		return r.inUse(l, s, err)
	}
	return l, err
}
