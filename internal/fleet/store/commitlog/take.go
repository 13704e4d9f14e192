package commitlog

import (
	"context"
	"errors"
	"fmt"

	"github.com/congctl/congctl/internal/loop/journal"
	"github.com/congctl/congctl/internal/loop/store/sqlite"
)

// Taken is what taking a PoP over found.
type Taken struct {
	Generation int64 // of this owner; all later ones have a higher one
	Commits    int   // that the local store did not have
	Missing    int64 // that it did not have and the log has no longer
	Fenced     int   // commits of one that had lost the PoP, left out
}

// Take makes the local store of a PoP what its last owner's was. The log is this controller's from before: nothing
// of another can be appended behind the entry that Take appends, so what is before it is all there is.
func Take(ctx context.Context, local *sqlite.Store, log Log, o Options) (*Store, Taken, error) {
	s := &Store{Store: local, log: log, opt: o}
	t, err := s.take(ctx)
	if err != nil {
		return nil, t, fmt.Errorf("take pop %s over: %w", o.PoP, err)
	}
	return s, t, nil
}

func (s *Store) take(ctx context.Context) (t Taken, err error) {
	settings, err := s.Settings(ctx)
	if err != nil {
		return t, err
	}
	followed := false
	if s.at, followed, err = positionOf(settings); err != nil {
		return t, err
	}
	if n := s.log.Partitions(); followed && s.at.partitions != n {
		return t, fmt.Errorf("the topic of commits had %d partitions and has %d, so the PoP's log is elsewhere: make the topic anew with %[1]d", s.at.partitions, n)
	}
	body, err := (&entry{PoP: s.opt.PoP, By: s.opt.By, At: s.opt.Now().Unix()}).signed(s.opt.Signer)
	if err == nil {
		s.generation, err = s.log.Append(ctx, body)
	}
	if err != nil {
		return t, err
	}
	r := reader{Store: s, ctx: ctx, alone: !followed, found: Taken{Generation: s.generation}}
	if err := s.log.Read(ctx, s.at.offset, s.generation, r.entry); err != nil {
		return r.found, err
	}
	if settings, err = s.Settings(ctx); err != nil {
		return r.found, err
	}
	s.kept = shared(settings)
	if !followed && s.at.sequence == 0 {
		err = s.begin(ctx)
	}
	return r.found, err
}

// reader brings a local store up to the log's end.
type reader struct {
	*Store
	ctx        context.Context
	alone      bool  // the local store never followed a log
	generation int64 // of the owner at this place of the log
	found      Taken
}

func (r *reader) entry(offset int64, body []byte) error {
	e, err := decode(body, r.opt.PoP, r.opt.Signer)
	switch {
	case err != nil: // left out, it might be another controller's stop
		return fmt.Errorf("entry at %d: %w; give all controllers the same fleet.ca, or make the topic of commits anew", offset, err)
	case e.Sequence == 0:
		r.generation = offset
		return nil
	case e.Generation < r.generation:
		r.found.Fenced++
		return nil
	case e.Sequence <= r.at.sequence:
		return nil
	}
	r.generation = e.Generation
	return r.follow(offset, e)
}

// follow does to the local store what e's owner did to its own.
func (r *reader) follow(offset int64, e *entry) error {
	if r.alone && r.at.sequence == 0 {
		if err := r.unused(); err != nil {
			return err
		}
	} else if r.at.sequence > 0 {
		r.found.Missing += e.Sequence - r.at.sequence - 1
	}
	at := position{sequence: e.Sequence, offset: offset, partitions: r.log.Partitions()}
	e.Settings = shared(e.Settings) // no entry replaces this host's keys
	c := here(e.journal(), at)
	err := r.Store.Store.CommitRound(r.ctx, c)
	if errors.Is(err, journal.ErrExists) && c.Closed { // its owner's store had dropped the window before the clock was set back
		err = r.Store.Store.CommitRound(r.ctx, &journal.Commit{Notes: c.Notes, Events: c.Events, Plan: c.Plan, Settings: c.Settings})
	}
	if err != nil {
		return fmt.Errorf("follow commit %d of %s: %w", e.Sequence, e.By, err)
	}
	r.at = at
	r.found.Commits++
	return nil
}

// unused refuses a store with decisions that are not the log's: one serial would be two plans.
func (r *reader) unused() error {
	_, decided, err := r.LastWindow(r.ctx)
	if err == nil && decided {
		err = fmt.Errorf("store %s has windows from before this PoP was shared, and another controller has begun its log: move the store away", r.Path())
	}
	return err
}

// begin writes into an empty log what a store has from before the PoP was shared.
func (s *Store) begin(ctx context.Context) error {
	last, ok, err := s.LastWindow(ctx)
	if err != nil || !ok {
		return err
	}
	plan, ok, err := s.LatestPlan(ctx)
	if err != nil {
		return err
	}
	c := &journal.Commit{Settings: s.kept, Events: []journal.Event{{At: s.opt.Now().Unix(), Kind: KindTaken,
		Text: fmt.Sprintf("shared from now on: the windows up to %d stay with %s", last, s.opt.By)}}}
	if ok {
		c.Plan = &plan
	}
	return errors.Join(s.CommitRound(ctx, c))
}

// KindTaken is the event of a PoP that another controller decides for from now on.
const KindTaken = "taken-over"
