package change

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/congctl/congctl/internal/core/change"
)

// DefaultDir is where the journals of this host are.
const DefaultDir = "/var/lib/congctl/changes"

const suffix = ".journal"

// journals is the directory of journals.
type journals struct {
	disk Disk
	dir  string
}

func (s journals) path(id string) string { return path.Join(s.dir, id+suffix) }

// prepare makes the directory and syncs each level of it into the one above: one that
// exists may be of a process that was killed right before it did that, and a later
// power cut would take it away with all journals.
func (s journals) prepare() error {
	var levels []string
	for d := s.dir; d != "/" && d != "."; d = path.Dir(d) {
		levels = append(levels, d)
	}
	for _, d := range slices.Backward(levels) {
		if err := s.level(d); err != nil {
			return fmt.Errorf("make directory of journals: %w", err)
		}
	}
	return s.disk.Do(Op{Kind: OpSync, Path: s.dir})
}

func (s journals) level(d string) error {
	v, err := s.disk.Read(d)
	if err != nil {
		return err
	}
	if !v.Present {
		return dirs{s.disk}.Write(d, change.Value{Present: true, Mode: 0o700})
	}
	return s.disk.Do(Op{Kind: OpSync, Path: path.Dir(d)})
}

// begin puts the journal of a new plan in place, as a whole, with what came after.
func (s journals) begin(p change.Plan, after ...change.Line) (*change.Journal, error) {
	if err := s.prepare(); err != nil {
		return nil, err
	}
	if v, err := s.disk.Read(s.path(p.ID)); err != nil || v.Present {
		return nil, errors.Join(fmt.Errorf("begin journal: %s exists", p.ID), err)
	}
	if err := s.sweepAll(); err != nil {
		return nil, fmt.Errorf("begin journal: %w", err)
	}
	text := change.Opening(p)
	for _, l := range after {
		text = append(text, l.Bytes()...)
	}
	if err := (files{s.disk}).Write(s.path(p.ID), change.Value{Present: true, Text: string(text), Mode: 0o600}); err != nil {
		return nil, fmt.Errorf("begin journal: %w", err)
	}
	return change.Parse(text)
}

// sweepAll removes journals that never came into being, and syncs the others: who wrote
// the last line of one may have been killed before that, and with the new one on the disk
// and that line lost, an older change would be finished over a newer one.
func (s journals) sweepAll() error {
	names, err := s.disk.List(s.dir)
	for _, name := range names {
		op := Op{Kind: OpSync, Path: path.Join(s.dir, name)}
		if strings.HasPrefix(name, ".") && strings.HasSuffix(name, suffix+".congctl-new") {
			op.Kind = OpRemove
		} else if !strings.HasSuffix(name, suffix) {
			continue
		}
		if err := s.disk.Do(op); err != nil {
			return err
		}
	}
	return err
}

// errJournal: what is not written down is not done.
var errJournal = errors.New("write journal")

// add writes a line behind the intact ones and waits until it is on the disk.
func (s journals) add(j *change.Journal, l change.Line) error {
	if err := j.Take(l); err != nil {
		return fmt.Errorf("%w %s: %w", errJournal, j.ID, err)
	}
	b := l.Bytes()
	whole := Op{Kind: OpCut, Path: s.path(j.ID), Size: int64(j.Whole)}
	err := inOrder(s.disk,
		Op{Kind: OpAppend, Path: s.path(j.ID), Data: b},
		Op{Kind: OpSync, Path: s.path(j.ID)})
	if err != nil {
		if !errors.Is(err, ErrPowerCut) {
			err = errors.Join(err, s.disk.Do(whole)) // half a line of a full disk
		}
		return fmt.Errorf("%w %s: %w", errJournal, j.ID, err)
	}
	j.Whole += len(b)
	return nil
}

// list reads all journals, oldest first. One without its plan is none.
func (s journals) list() (list []*change.Journal, err error) {
	names, err := s.disk.List(s.dir)
	if err != nil {
		return nil, fmt.Errorf("list journals: %w", err)
	}
	slices.Sort(names)
	for _, name := range names {
		id, ok := strings.CutSuffix(name, suffix)
		if !ok || strings.HasPrefix(name, ".") {
			continue
		}
		v, err := s.disk.Read(s.path(id))
		if err != nil {
			return nil, fmt.Errorf("list journals: %w", err)
		}
		j, err := change.Parse([]byte(v.Text))
		if errors.Is(err, change.ErrTorn) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("list journals: %s: %w", s.path(id), err)
		}
		list = append(list, j)
	}
	return list, nil
}

// mend cuts a torn line off, behind which nothing could be read again, and syncs what
// an interrupted process may have left to chance.
func (s journals) mend(j *change.Journal) error {
	v, err := s.disk.Read(s.path(j.ID))
	if err == nil {
		err = s.prepare()
	}
	if err != nil || len(v.Text) == j.Whole {
		return errors.Join(err, s.disk.Do(Op{Kind: OpSync, Path: s.path(j.ID)}))
	}
	return inOrder(s.disk,
		Op{Kind: OpCut, Path: s.path(j.ID), Size: int64(j.Whole)},
		Op{Kind: OpSync, Path: s.path(j.ID)})
}
