package shape

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/congctl/congctl/internal/core/change"
	carry "github.com/congctl/congctl/internal/kernel/change"
	"github.com/congctl/congctl/internal/kernel/clock"
	"github.com/congctl/congctl/internal/kernel/instance"
)

// Host is where limits are set: links of the calling thread's namespace, files below a
// root directory.
type Host struct {
	Root   string // "/", or a tree of files for a test
	disk   carry.Disk
	dir    string // of journals and of what waits to be confirmed, below the root
	engine *carry.Engine
	boot   string
	clock  func() time.Duration // since the boot
}

// NewHost makes a host with its journals in a directory below the root.
func NewHost(root, journals string) (*Host, error) {
	boot, err := clock.BootText()
	if err != nil {
		return nil, err
	}
	disk := carry.HostDisk{Root: root}
	return &Host{root, disk, journals, carry.New(carry.Options{Disk: disk, Dir: journals, Places: places(), Boot: boot, Forgets: disk.Forgets}), boot, sinceBoot}, nil
}

func places() map[change.Kind]carry.Place {
	all := map[change.Kind]carry.Place{}
	for _, k := range Kinds {
		all[change.Kind(k)] = place(k)
	}
	return all
}

// place is a kind of setting as the engine of changes wants it.
type place string

func (p place) Read(link string) (change.Value, error) {
	v, err := Get(string(p), link)
	if errors.Is(err, ErrNoLink) || errors.Is(err, unix.ENODEV) {
		return change.Absent, nil
	}
	return change.Text(v), err
}

func (p place) Write(link string, v change.Value) error {
	err := Set(string(p), link, v.Text)
	if errors.Is(err, ErrNoLink) || errors.Is(err, unix.ENODEV) {
		return fmt.Errorf("%w: the interface has gone", carry.ErrInUse)
	}
	return err
}

func subject(link string) string { return "shape " + link }

// locked runs fn while no other congctl changes this host.
func (h *Host) locked(fn func() error) error {
	lock, err := instance.Acquire(filepath.Join(h.Root, h.dir))
	if err != nil {
		return err
	}
	return errors.Join(fn(), lock.Release())
}

// Guard is called with the name of a journal before anything is written under it. On an
// error nothing is.
type Guard func(id string) error

// Set carries a request out, under a journal; on any failure all is as before.
func (h *Host) Set(r Request, verb string, now time.Time, guard Guard) (p Proposal, err error) {
	if p, err = h.Propose(r); err != nil {
		return p, err // nothing is made on the disk for what cannot be
	}
	err = h.locked(func() error { p, err = h.set(r, verb, now, guard); return err })
	return p, err
}

func (h *Host) set(r Request, verb string, now time.Time, guard Guard) (p Proposal, err error) {
	if err := h.free(r.Link); err != nil {
		return p, err
	}
	if guard != nil {
		if err := h.endBroken(r.Link); err != nil {
			return p, err
		}
	}
	guarded, id := false, ""
	_, err = h.engine.Set(subject(r.Link), func() (change.Plan, error) {
		if p, err = h.Propose(r); err != nil {
			return change.Plan{}, err
		}
		head, err := h.header(r.Link, verb, now)
		if guarded = err == nil && guard != nil && len(p.Steps) > 0; guarded {
			id = head.ID
			err = guard(id)
		}
		return change.Plan{Header: head, Steps: p.Steps}, err
	}, nil)
	if err != nil && guarded && h.isAsBefore(r.Link, id) || err == nil && guard == nil {
		h.take(r.Link) // one that is left has had its time: who still tries to revert that may stop
	}
	return p, err
}

// endBroken takes back what was interrupted before it was whole: to finish it, as is done
// elsewhere, would set a limit that nobody has confirmed, and that nothing guards.
func (h *Host) endBroken(link string) error {
	open, err := h.engine.Open(subject(link))
	for _, j := range slices.Backward(open) {
		if j.Phase == change.Prepared || j.Phase == change.Applying {
			_, undo := h.engine.Undo(j, false, "was interrupted, and waited to be confirmed")
			err = errors.Join(err, undo)
		}
	}
	return err
}

// isAsBefore tells whether nothing is left of a change that failed. If something is, the
// process that takes an unconfirmed limit back has still to try.
func (h *Host) isAsBefore(link, id string) bool {
	open, err := h.engine.Open(subject(link))
	return err == nil && !slices.ContainsFunc(open, func(j *change.Journal) bool { return j.ID == id })
}

func (h *Host) header(link, verb string, now time.Time) (change.Header, error) {
	return h.engine.Header(subject(link), verb, h.machine(), now)
}

func (h *Host) machine() string {
	if b, err := os.ReadFile(filepath.Join(h.Root, "/etc/machine-id")); err == nil && len(b) > 0 {
		return strings.TrimSpace(string(b))
	}
	name, err := os.Hostname()
	if err != nil {
		return "unknown"
	}
	return name
}

// Boot sets a limit as a boot does: no journal, since the boot took the old state away.
func (h *Host) Boot(r Request) (Proposal, error) {
	r.Persist, r.LiveOnly = false, true
	p, err := h.Propose(r)
	if err != nil {
		return p, err
	}
	for _, s := range p.Steps {
		if err := Set(string(s.Kind), s.Target, s.New.Text); err != nil {
			return p, err
		}
	}
	return p, nil
}
