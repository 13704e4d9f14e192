package change

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/congctl/congctl/internal/core/change"
)

// Open gives the changes of a subject that are in force or unfinished, oldest first.
// Each but the last is applied; there are several where a later plan found that the
// host had changed and wrote what was missing.
func (e *Engine) Open(subject string) (open []*change.Journal, err error) {
	list, err := e.list()
	for _, j := range list {
		if j.Subject == subject && j.Phase != change.Gone {
			open = append(open, j)
		}
	}
	return open, err
}

// Header makes the header of a new plan. Journals are counted and not named by the
// time: a device without a battery starts each boot in 1970.
func (e *Engine) Header(subject, verb, machine string, now time.Time) (h change.Header, err error) {
	names, err := e.disk.List(e.dir)
	last := 0
	for _, name := range names {
		var n int
		if _, err := fmt.Sscanf(strings.TrimPrefix(name, "."), "%d-", &n); err == nil {
			last = max(last, n)
		}
	}
	return change.Header{ID: fmt.Sprintf("%06d-%s", last+1, strings.ReplaceAll(subject, " ", "-")), Subject: subject,
		Verb: verb, At: now.UTC().Truncate(time.Second), Boot: e.boot, Machine: machine}, err
}

// Set brings a subject to where plan wants it, from any state: an interrupted change
// is finished, an interrupted undo is ended, and then plan says what is still missing.
// A plan without steps is not carried out: then nothing is written at all.
func (e *Engine) Set(subject string, plan func() (change.Plan, error), verify func() error) (done []*change.Journal, err error) {
	open, err := e.Open(subject)
	if err != nil {
		return nil, err
	}
	if done, err = e.endUndo(open); err != nil {
		return nil, fmt.Errorf("end the interrupted undo: %w", err)
	}
	for _, j := range open {
		if j.Phase != change.Prepared && j.Phase != change.Applying {
			continue
		}
		if err := e.Finish(j, verify); err != nil {
			return done, fmt.Errorf("end the interrupted %s: %w", j.ID, err)
		}
		done = append(done, j)
	}
	p, err := plan()
	if err != nil || len(p.Steps) == 0 {
		return done, err
	}
	j, err := e.Apply(p, verify)
	if err != nil {
		return done, err
	}
	return append(done, j), nil
}

// endUndo ends what is being taken back. What an undo had to refuse belongs to whoever
// changed it. The newest ends first, as in an undo: by force it would bring back what an
// older one, ended already, had made.
func (e *Engine) endUndo(open []*change.Journal) (done []*change.Journal, err error) {
	for _, j := range open {
		if j.Phase == change.Undoing {
			done = append(done, j)
		}
	}
	r, err := e.takeAllBack(done, false, "an undo was interrupted")
	for _, j := range slices.Backward(done) {
		if err == nil && j.Phase != change.Gone {
			err = e.Abandon(j, "left to whoever changed "+r.Refused.String())
		}
	}
	return done, err
}

// ErrNothing says that no change of a subject is in force.
var ErrNothing = errors.New("nothing to undo: no change of congctl is in force")

// Clear takes all changes of a subject back, the newest first. Older ones are tried
// though a newer one could not restore a value, but for that value.
func (e *Engine) Clear(subject string, force bool, why string) (r Report, err error) {
	open, err := e.Open(subject)
	if err != nil {
		return r, err
	}
	if len(open) == 0 {
		return r, ErrNothing
	}
	return e.takeAllBack(open, force, why)
}
