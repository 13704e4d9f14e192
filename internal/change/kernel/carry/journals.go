package carry

import (
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/congctl/congctl/internal/change"
	"github.com/congctl/congctl/internal/linux/nsthread"
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

// prepare makes the directory and syncs each level of it into the one above: an existing
// one may be from a process that was killed right before it did that, and a later power
// cut would remove it with all journals.
func (s journals) prepare() error {
	if err := s.disk.Own(s.dir); err != nil {
		return fmt.Errorf("keep a journal: %w", err)
	}
	var levels []string
	for d := s.dir; d != "/" && d != "."; d = path.Dir(d) {
		levels = append(levels, d)
	}
	for _, d := range slices.Backward(levels) {
		if err := s.level(d); err != nil {
			return fmt.Errorf("make journal directory: %w", err)
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

// begin puts the journal of a new plan in place, whole, with the lines after it.
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

// sweepAll removes journals that were never completed, and syncs the others: the writer of
// one's last line may have been killed before its sync. If the new journal reached the
// disk and that line did not, an older change would be finished over a newer one.
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

// errJournal: what is not written to the journal is not done.
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

// mend cuts a torn line off, behind which nothing could be read again, and syncs what
// an interrupted process may have left to chance.
func (s journals) mend(j *change.Journal) error {
	text, err := s.disk.ReadOwn(s.path(j.ID))
	if err == nil {
		err = s.prepare()
	}
	if err != nil || len(text) == j.Whole {
		return errors.Join(err, s.disk.Do(Op{Kind: OpSync, Path: s.path(j.ID)}))
	}
	return inOrder(s.disk,
		Op{Kind: OpCut, Path: s.path(j.ID), Size: int64(j.Whole)},
		Op{Kind: OpSync, Path: s.path(j.ID)})
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
	here, idErr := nsthread.Identity()
	return change.Header{ID: fmt.Sprintf("%06d-%s", last+1, nameOf(subject)), Subject: subject, Netns: here,
		Verb: verb, At: now.UTC().Truncate(time.Second), Boot: e.boot, Machine: machine}, errors.Join(err, idErr)
}

// Machine returns the name of the machine whose files are below a root: its machine id, or the
// host's name without one.
func Machine(root string) string {
	if b, err := os.ReadFile(filepath.Join(root, "/etc/machine-id")); err == nil && len(b) > 1 {
		return strings.TrimSpace(string(b))
	}
	name, err := os.Hostname()
	if err != nil {
		return "unknown"
	}
	return name
}
