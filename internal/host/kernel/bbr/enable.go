// Package enable turns BBR on for this host and back: facts, plan, lock, engine and
// proof put together.
//
// It decides nothing: core/enable plans, kernel/change writes under a journal, and
// kernel/loopback proves.
//
// Its trap: facts are read anew for each plan. A plan that was shown is not the plan
// that is carried out a minute later on a host that somebody else changes.
package enable

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/congctl/congctl/internal/core/advise"
	corechange "github.com/congctl/congctl/internal/core/change"
	"github.com/congctl/congctl/internal/core/enable"
	"github.com/congctl/congctl/internal/kernel/change"
	"github.com/congctl/congctl/internal/kernel/instance"
	"github.com/congctl/congctl/internal/kernel/loopback"
)

// Subject is the journal's: one host has one.
const Subject = "host"

// Host is what is enabled.
type Host struct {
	Facts   func() advise.Facts
	Engine  *change.Engine
	Connect func() ([]loopback.Proof, error)
	// Lock is a directory on the real disk whose lock keeps a second congctl away.
	Lock    string
	Machine string
	Boot    string // as the engine has it
}

// Result is what was planned, and done where it was not only shown.
type Result struct {
	Steps []corechange.Step
	Notes []enable.Note
	// Finished are the journals of earlier, interrupted changes that were ended first.
	Finished []*corechange.Journal
	Journal  *corechange.Journal // of this change; nil if there was nothing to do
	Proofs   []loopback.Proof
}

// MissingError says why nothing can be done here.
type MissingError []enable.Missing

func (m MissingError) Error() string {
	var list []string
	for _, x := range m {
		list = append(list, x.What+": "+x.Who)
	}
	return "BBR cannot be turned on here; nothing was changed: " + strings.Join(list, "; ")
}

// Show plans and writes nothing.
func (h *Host) Show() (r Result, err error) {
	return h.show(true)
}

// show plans. Whoever may not write sees the plan all the same when it is only shown.
func (h *Host) show(only bool) (r Result, err error) {
	f := h.Facts()
	r, err = show(&f, h.Engine.Read, only)
	var forgotten change.ForgottenError
	if err == nil && errors.As(h.Engine.Lasting(r.Steps), &forgotten) {
		return r, MissingError{{What: forgotten.Error(),
			Who: "name a directory on a disk, the same for enable and disable: --changes DIR; or mount one at " + forgotten.Dir}}
	}
	return r, err
}

func show(f *advise.Facts, read corechange.Read, only bool) (r Result, err error) {
	p := enable.For(f)
	r.Notes = p.Notes
	for _, m := range p.Missing {
		if !only || len(p.Steps) == 0 {
			return Result{}, MissingError(p.Missing)
		}
		r.Notes = append(r.Notes, enable.Note{About: "root", Text: m.What + ": " + m.Who})
	}
	r.Steps, err = corechange.Complete(p.Steps, read)
	return r, err
}

// ShowPaper plans for a host that is only known by its facts.
func ShowPaper(f advise.Facts) (Result, error) {
	return show(&f, enable.Before(&f), true)
}

// Enable turns BBR on, for good. A host that has it is left untouched, and so is one
// on which it fails.
func (h *Host) Enable(verb string, now time.Time) (r Result, err error) {
	if r, err = h.show(false); err != nil {
		return r, err
	}
	open, err := h.Engine.Open(Subject)
	if err != nil && (len(r.Steps) > 0 || !errors.Is(err, fs.ErrPermission)) {
		return r, err // whoever may not read them and has nothing to write, has no need to
	}
	if len(r.Steps) > 0 || unfinished(open) {
		if err := h.carryOut(&r, verb, now); err != nil {
			return r, err
		}
	}
	if r.Proofs == nil {
		r.Proofs, err = h.prove()
	}
	return r, err
}

func unfinished(open []*corechange.Journal) bool {
	return len(open) > 0 && open[len(open)-1].Phase != corechange.Applied
}

func (h *Host) carryOut(r *Result, verb string, now time.Time) (err error) {
	lock, err := instance.Acquire(h.Lock)
	if errors.Is(err, unix.EROFS) || errors.Is(err, fs.ErrPermission) {
		return MissingError{{What: fmt.Sprintf("no journal can be kept in %s: %s", h.Lock, reason(err)),
			Who: "name a directory on a disk that can be written, the same for enable and disable: --changes DIR"}}
	}
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, lock.Release()) }()
	planned := false
	done, err := h.Engine.Set(Subject, func() (p corechange.Plan, err error) {
		planned = true
		if *r, err = h.show(false); err != nil {
			return p, err
		}
		p.Steps = r.Steps
		p.Header, err = h.Engine.Header(Subject, verb, h.Machine, now)
		return p, err
	}, func() (err error) {
		r.Proofs, err = h.prove()
		return err
	})
	if n := len(done); err == nil && planned && n > 0 && len(r.Steps) > 0 {
		r.Journal, done = done[n-1], done[:n-1]
	}
	r.Finished = done
	return err
}

// reason is an error without what was tried, which the caller says.
func reason(err error) error {
	if path := (*fs.PathError)(nil); errors.As(err, &path) {
		return path.Err
	}
	return err
}

// prove makes connections and wants BBR of each.
func (h *Host) prove() ([]loopback.Proof, error) {
	proofs, err := h.Connect()
	for _, p := range proofs {
		if p.Cong != enable.Cong {
			err = errors.Join(err, fmt.Errorf("verify: a new connection to %s has %s, not %s", p.Addr, p.Cong, enable.Cong))
		}
	}
	return proofs, err
}

// Disable takes back what enable changed.
func (h *Host) Disable(force bool) (r change.Report, err error) {
	open, err := h.Engine.Open(Subject)
	if err != nil {
		return r, err
	}
	if len(open) == 0 {
		return r, change.ErrNothing // and no lock is left behind
	}
	lock, err := instance.Acquire(h.Lock)
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, lock.Release()) }()
	if err := h.limited(open); err != nil {
		return r, err
	}
	return h.Engine.Clear(Subject, force, "host disable")
}

// New is this very host with its journals in dir.
func New(disk change.Disk, dir string, facts func() advise.Facts) (*Host, error) {
	boot, machine, err := identity()
	if err != nil {
		return nil, err
	}
	e := change.New(change.Options{Disk: disk, Dir: dir, Boot: boot, Forgets: change.HostDisk{Root: "/"}.Forgets, Places: map[corechange.Kind]change.Place{
		corechange.Sysctl: change.Sysctls{Root: "/"},
		corechange.Module: change.Modules{Root: "/"},
		corechange.Qdisc:  change.Qdiscs{},
	}})
	return &Host{Facts: facts, Engine: e, Connect: loopback.Connect, Lock: filepath.Clean(dir), Machine: machine, Boot: boot}, nil
}
