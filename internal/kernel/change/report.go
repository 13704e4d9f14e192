package change

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/congctl/congctl/internal/core/change"
)

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

// have tells whether a step's target is among them.
func (n Notes) have(s change.Step) bool {
	return slices.ContainsFunc(n, func(x Note) bool { return x.Step.String() == s.String() })
}

// add notes a target once: what an older change says of it is the same, or follows.
func (n *Notes) add(s change.Step, text string) {
	if !n.have(s) {
		*n = append(*n, Note{s, text})
	}
}

// Add adds what a later undo did.
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

// stuck names what failed, and what a person can do about each; nil for nothing.
func (r *Report) stuck() error {
	var all []error
	for _, n := range r.Failed {
		hand := n.Step.Command(n.Step.Old)
		if hand == "" {
			hand = "the same again, when it can be written"
		}
		all = append(all, fmt.Errorf("not restored: %s: %s (it was %s; by hand: %s)", n.Step, n.Text, change.Brief(n.Step.Old), hand))
	}
	return errors.Join(all...)
}

// inUse is about a target that somebody uses. It stays, and that is no failure: but where
// the user is a target of ours that did not come back either, both wait for the next undo.
func (r *Report) inUse(l change.Line, s change.Step, why error) (change.Line, error) {
	user := func(n Note) bool { return uses(n.Step, s) }
	if i := slices.IndexFunc(r.Failed, user); i >= 0 {
		return l, fmt.Errorf("%s was not restored", r.Failed[i].Step)
	}
	l.Event, l.Text = change.Left, why.Error()
	if i := slices.IndexFunc(r.Refused, user); i >= 0 && s.Kind == change.Dir {
		l.Event, l.Text = change.Refuse, r.Refused[i].Step.Target+" lies in it"
	}
	return l, nil
}

// uses tells whether a step's target may keep another one from being taken away.
func uses(s, other change.Step) bool {
	if other.Kind == change.Dir {
		return !s.Kind.Volatile() && path.Dir(s.Target) == other.Target
	}
	return other.Kind == change.Module && s.Kind.Volatile()
}
