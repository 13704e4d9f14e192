package carry

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"

	"github.com/congctl/congctl/internal/change"
)

// Options of an engine.
type Options struct {
	Disk   Disk
	Dir    string                // of journals; "" is DefaultDir
	Places map[change.Kind]Place // beside files and directories
	Boot   string                // boot id of the running kernel
	// Forgets reports whether a reboot empties what a path is on; nil if nothing is
	// emptied.
	Forgets func(path string) bool
	// Today brings a journal up to date with the links' names of today; nil leaves the names.
	Today func(*change.Journal)
}

// Engine carries out changes. Hold the lock of the journals' directory while it works.
type Engine struct {
	journals
	files  files
	places map[change.Kind]Place
	boot   string

	forgets func(path string) bool
	today   func(*change.Journal)
}

// New makes an engine.
func New(o Options) *Engine {
	if o.Dir == "" {
		o.Dir = DefaultDir
	}
	e := &Engine{journals: journals{o.Disk, o.Dir}, files: files{o.Disk}, places: maps.Clone(o.Places), boot: o.Boot, forgets: o.Forgets, today: o.Today}
	if e.places == nil {
		e.places = map[change.Kind]Place{}
	}
	e.places[change.File], e.places[change.Dir] = e.files, dirs{o.Disk}
	return e
}

// Read returns a target's present value, for a plan.
func (e *Engine) Read(k change.Kind, target string) (change.Value, error) {
	p, ok := e.places[k]
	if !ok {
		return change.Absent, fmt.Errorf("read %s %s: unknown kind", k, target)
	}
	return p.Read(target)
}

// Set brings a subject to the state that plan wants, from any state: it finishes an
// interrupted change, ends an interrupted undo, and then plan returns what is still
// missing. For a plan without steps it writes nothing at all.
func (e *Engine) Set(subject string, plan func() (change.Plan, error), verify func() error) (done []*change.Journal, err error) {
	open, err := e.Open(subject)
	if err != nil {
		return nil, err
	}
	if done, err = e.endUndo(open); err != nil {
		return nil, fmt.Errorf("finish the interrupted undo: %w", err)
	}
	for _, j := range open {
		if j.Phase != change.Prepared && j.Phase != change.Applying {
			continue
		}
		if err := e.Finish(j, verify); err != nil {
			return done, fmt.Errorf("finish the interrupted %s: %w", j.ID, err)
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

// Apply carries out a new plan: every step, then verify, which reports whether the whole
// works. On any failure it undoes everything, and the error says so.
func (e *Engine) Apply(p change.Plan, verify func() error) (*change.Journal, error) {
	if err := p.Check(); err != nil {
		return nil, err
	}
	for _, s := range p.Steps {
		if e.places[s.Kind] == nil {
			return nil, fmt.Errorf("apply %s: unknown kind", s)
		}
	}
	if err := e.Lasting(p.Steps); err != nil {
		return nil, err
	}
	j, err := e.begin(p)
	if err != nil {
		return nil, err
	}
	return j, e.finish(j, verify)
}

// Finish goes on with a plan that was interrupted while it was applied.
func (e *Engine) Finish(j *change.Journal, verify func() error) error {
	if j.Phase != change.Prepared && j.Phase != change.Applying {
		return fmt.Errorf("finish %s: it is %s", j.ID, j.Phase)
	}
	if err := e.resume(j); err != nil {
		return err
	}
	return e.finish(j, verify)
}

// resume makes a journal that an earlier process left fit to be written on.
func (e *Engine) resume(j *change.Journal) error {
	if err := e.mend(j); err != nil {
		return fmt.Errorf("repair journal %s: %w", j.ID, err)
	}
	if j.Boot == e.boot {
		return nil
	}
	return e.add(j, change.Line{Event: change.Booted, Text: e.boot})
}

func (e *Engine) finish(j *change.Journal, verify func() error) error {
	err := e.forward(j)
	if err == nil {
		err = e.readBack(j)
	}
	if err == nil && verify != nil {
		err = verify()
	}
	if err == nil {
		return e.add(j, change.Line{Event: change.Apply})
	}
	return e.giveUp(j, err)
}

// ErrUndone means that a plan failed and that the host is as it was before.
var ErrUndone = errors.New("all changes were undone")

func (e *Engine) giveUp(j *change.Journal, why error) error {
	if errors.Is(why, ErrPowerCut) {
		return why
	}
	r, err := e.undoAll([]*change.Journal{j}, false, why.Error())
	switch {
	case err != nil:
		return errors.Join(why, fmt.Errorf("undo the failed change: %w", err))
	case len(r.Refused) > 0:
		return fmt.Errorf("%w; undone, except %s", why, r.Refused)
	}
	return fmt.Errorf("%w; %w", why, ErrUndone)
}

func (e *Engine) forward(j *change.Journal) error {
	for i := range j.Steps {
		if m := j.Marks[i]; m.Status == change.Written && !m.Lost {
			continue
		}
		if err := e.applyStep(j, i); err != nil {
			return fmt.Errorf("%s: %w", j.Steps[i], err)
		}
	}
	return nil
}

func (e *Engine) applyStep(j *change.Journal, i int) error {
	s := j.Steps[i]
	now, err := e.look(j, i)
	if err != nil {
		return err
	}
	switch v := j.Forward(i, now); v.Act {
	case change.Object:
		return errors.New(v.Text)
	case change.Nothing:
		if err := e.keep(s); err != nil {
			return err
		}
		return e.add(j, change.Line{Event: change.Done, At: i, Now: &now, Text: v.Text})
	}
	l := change.Line{Event: change.Intend, At: i}
	if j.Marks[i].Lost {
		l.Now = &now
	}
	if err := e.add(j, l); err != nil {
		return err
	}
	if now, err = e.write(s, s.New); err != nil {
		return err
	}
	return e.add(j, change.Line{Event: change.Done, At: i, Now: &now})
}

// look reads a step's target, without what an interrupted write left beside it.
func (e *Engine) look(j *change.Journal, i int) (change.Value, error) {
	s := j.Steps[i]
	if m := j.Marks[i].Status; s.Kind == change.File && (m == change.Intended || m == change.Taking) {
		if err := e.files.sweep(s.Target); err != nil {
			return change.Absent, err
		}
	}
	return e.places[s.Kind].Read(s.Target)
}

// keep makes an already correct file survive a power cut: the process that renamed it may
// have been killed before it synced the directory.
func (e *Engine) keep(s change.Step) error {
	if s.Kind.Volatile() {
		return nil
	}
	err := e.disk.Do(Op{Kind: OpSync, Path: path.Dir(s.Target)})
	if errors.Is(err, fs.ErrNotExist) {
		return nil // nor is the directory there: it went in a step of its own
	}
	return err
}

// write writes a value and reads back what the target has then.
func (e *Engine) write(s change.Step, v change.Value) (now change.Value, err error) {
	place := e.places[s.Kind]
	if s.Kind.Volatile() {
		if err := e.disk.Do(Op{Kind: OpAnnounce, Path: s.String()}); err != nil {
			return now, err
		}
	}
	if err := place.Write(s.Target, v); err != nil {
		return now, err
	}
	if now, err = place.Read(s.Target); err != nil {
		return now, err
	}
	if !s.Kind.Same(v, now) {
		return now, fmt.Errorf("wrote %s, read back %s", change.Brief(v), change.Brief(now))
	}
	return now, nil
}

// readBack reads all targets again, after the last write.
func (e *Engine) readBack(j *change.Journal) error {
	for i, s := range j.Steps {
		now, err := e.places[s.Kind].Read(s.Target)
		if err != nil {
			return fmt.Errorf("read back %s: %w", s, err)
		}
		if wrote := *j.Marks[i].Wrote; now != wrote {
			return fmt.Errorf("read back %s: is %s, was %s right after the write", s, change.Brief(now), change.Brief(wrote))
		}
	}
	return nil
}

// Adopt takes the present state of a host as a change of ours whose journal was lost: New
// is in place, Old is the target of an undo. It writes only the journal, and that at once:
// if the undo is interrupted, the next one continues towards Old.
func (e *Engine) Adopt(p change.Plan) (*change.Journal, error) {
	if err := p.Check(); err != nil {
		return nil, err
	}
	var lines []change.Line
	for i := range p.Steps {
		lines = append(lines, change.Line{Event: change.Done, At: i, Now: &p.Steps[i].New})
	}
	return e.begin(p, append(lines, change.Line{Event: change.Apply})...)
}
