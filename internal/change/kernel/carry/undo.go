package carry

import (
	"cmp"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/congctl/congctl/internal/change"
)

// Undo undoes a change, in reverse order, value by value. It refuses a value that somebody
// changed since unless force is set; one that cannot be written has failed. It restores
// the others; the journal then stays open, and the error names those that failed. Undo
// continues where an earlier one was interrupted.
func (e *Engine) Undo(j *change.Journal, force bool, why string) (Report, error) {
	if j.Phase == change.Gone {
		return Report{}, fmt.Errorf("undo %s: already undone", j.ID)
	}
	return e.takeAllBack([]*change.Journal{j}, force, why)
}

// endUndo ends interrupted undos. It leaves what an undo refused to the one that changed
// it. The newest ends first, as in an undo: with force it would otherwise restore what an
// older one, already ended, had made.
func (e *Engine) endUndo(open []*change.Journal) (done []*change.Journal, err error) {
	for _, j := range open {
		if j.Phase == change.Undoing {
			done = append(done, j)
		}
	}
	r, err := e.takeAllBack(done, false, "an undo was interrupted")
	for _, j := range slices.Backward(done) {
		if err == nil && j.Phase != change.Gone {
			err = e.abandon(j, "left, since others changed "+r.Refused.String())
		}
	}
	return done, err
}

// ErrNothing means that no change of a subject is in force.
var ErrNothing = errors.New("nothing to undo: no change of congctl is in force")

// Clear undoes all changes of a subject, the newest first. It tries older ones even if a
// newer one could not restore a value, except for that value; and the others if the journal
// of one is damaged.
func (e *Engine) Clear(subject string, force bool, why string) (r Report, err error) {
	open, err := e.Open(subject)
	if err != nil && !errors.As(err, new(DamagedError)) {
		return r, err
	}
	if len(open) == 0 {
		return r, cmp.Or(err, ErrNothing)
	}
	r, undo := e.takeAllBack(open, force, why)
	return r, errors.Join(undo, err)
}

func (e *Engine) takeAllBack(open []*change.Journal, force bool, why string) (r Report, err error) {
	for _, j := range open {
		if err := e.resume(j); err != nil {
			return r, err
		}
	}
	return e.undoAll(open, force, why)
}

// undoAll undoes changes, the newest first, each value straight to what it was before the
// oldest that has it.
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

// abandon closes an interrupted undo and restores nothing more: the values that are left stay
// from here on, because somebody changed them since.
func (e *Engine) abandon(j *change.Journal, why string) error {
	for i := range j.Steps {
		if j.Open(i) {
			if err := e.add(j, change.Line{Event: change.Left, At: i, Text: why}); err != nil {
				return err
			}
		}
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
		if event, err = e.restore(j, i, v.Text, r); err != nil {
			return err
		}
	}
	r.note(j, event)
	return e.add(j, event)
}

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

// Report is what an undo did, each in the order of the work.
type Report struct {
	Restored, Left, Refused Notes
	// Failed could not be written: their steps have the old values, which they lack.
	Failed Notes
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

func (n Notes) have(s change.Step) bool {
	return slices.ContainsFunc(n, func(x Note) bool { return x.Step.String() == s.String() })
}

// add notes a target once: an older change's note on it is the same, or follows.
func (n *Notes) add(s change.Step, text string) {
	if !n.have(s) {
		*n = append(*n, Note{s, text})
	}
}

// Add adds the report of a later undo.
func (r *Report) Add(o Report) {
	for to, from := range map[*Notes]Notes{&r.Restored: o.Restored, &r.Left: o.Left, &r.Refused: o.Refused, &r.Failed: o.Failed} {
		for _, n := range from {
			to.add(n.Step, n.Text)
		}
	}
}

func (r *Report) note(j *change.Journal, l change.Line) {
	s := j.Steps[l.At]
	s.Old = j.Marks[l.At].Back()
	switch l.Event {
	case change.Undone:
		r.Restored.add(s, l.Text)
	case change.Left:
		r.Left.add(s, l.Text)
	case change.Refuse:
		r.Refused.add(s, l.Text)
	}
}

func (r *Report) fail(j *change.Journal, i int, why error) {
	s := j.Steps[i]
	s.Old = j.Marks[i].Back()
	r.Failed.add(s, why.Error())
}

// stop ends an undo whose journal cannot be written: nothing is done that was not
// announced, so step i and those before it have failed.
func (r *Report) stop(j *change.Journal, i int, why error) error {
	if errors.Is(why, ErrPowerCut) {
		return why
	}
	for ; i >= 0; i-- {
		if j.Open(i) {
			r.fail(j, i, errJournal)
		}
	}
	return why
}

// stuck returns what failed, and what a person can do about each; nil for nothing.
func (r *Report) stuck() error {
	var all []error
	for _, n := range r.Failed {
		hand := n.Step.Command(n.Step.Old)
		if hand == "" {
			hand = "run the command again when it can be written"
		}
		all = append(all, fmt.Errorf("not restored: %s: %s (it was %s; by hand: %s)", n.Step, n.Text, change.Brief(n.Step.Old), hand))
	}
	return errors.Join(all...)
}

// inUse is about a target in use. It stays, and that is no failure; but if its user is a
// target of ours that did not come back either, both wait for the next undo.
func (r *Report) inUse(l change.Line, s change.Step, why error) (change.Line, error) {
	user := func(n Note) bool { return uses(n.Step, s) }
	if i := slices.IndexFunc(r.Failed, user); i >= 0 {
		return l, fmt.Errorf("%s was not restored", r.Failed[i].Step)
	}
	l.Event, l.Text = change.Left, why.Error()
	if i := slices.IndexFunc(r.Refused, user); i >= 0 && s.Kind == change.Dir {
		l.Event, l.Text = change.Refuse, r.Refused[i].Step.Target+" is in it"
	}
	return l, nil
}

// uses reports whether a step's target may keep another one from being removed.
func uses(s, other change.Step) bool {
	if other.Kind == change.Dir {
		return !s.Kind.Volatile() && path.Dir(s.Target) == other.Target
	}
	return other.Kind == change.Module && s.Kind.Volatile()
}
