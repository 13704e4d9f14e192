// Package bbr turns BBR or cubic_lt on and off for this host: it joins facts, plan, lock, engine
// and proof.
//
// It decides nothing: host/enable plans, change/kernel/carry writes under a journal, and
// linux/loopback proves.
//
// Its trap: facts are read again for each plan. On a host that others change, the plan
// shown is not the plan carried out a minute later.
package bbr

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/congctl/congctl/internal/change"
	"github.com/congctl/congctl/internal/change/kernel/carry"
	"github.com/congctl/congctl/internal/host/advise"
	"github.com/congctl/congctl/internal/host/enable"
	"github.com/congctl/congctl/internal/linux/clock"
	"github.com/congctl/congctl/internal/linux/instance"
	"github.com/congctl/congctl/internal/linux/loopback"
)

// Subject is the journal's: one host has one.
const Subject = "host"

// Host is the host to change.
type Host struct {
	LT      *enable.CubicLT // to turn on; nil: BBR, whatever its version
	Facts   func() advise.Facts
	Engine  *carry.Engine
	Connect func() ([]loopback.Proof, error)
	// Lock is a directory on the real disk whose lock excludes a second congctl.
	Lock    string
	Machine string
	Boot    string // as the engine has it
}

// Result is what was planned, and done unless it was only shown.
type Result struct {
	Steps []change.Step
	Notes []enable.Note
	// Finished are the journals of earlier, interrupted changes that were ended first.
	Finished []*change.Journal
	Journal  *change.Journal // of this change; nil if there was nothing to do
	Proofs   []loopback.Proof
}

// MissingError is why nothing can be done here.
type MissingError []enable.Missing

func (m MissingError) Error() string {
	var list []string
	for _, x := range m {
		list = append(list, x.What+": "+x.Fix)
	}
	return "it cannot be turned on here; nothing was changed: " + strings.Join(list, "; ")
}

func (h *Host) plan(f *advise.Facts) enable.Plan {
	if h.LT != nil {
		return h.LT.For(f)
	}
	return enable.For(f)
}

// Cong is what it turns on.
func (h *Host) Cong() string {
	if h.LT != nil {
		return h.LT.Name
	}
	return enable.Cong
}

func (h *Host) on(cong string) bool { return cong == h.Cong() || h.LT == nil && advise.IsBBR(cong) }

// Show plans and writes nothing.
func (h *Host) Show() (r Result, err error) {
	return h.show(true)
}

// show plans. A user that may not write still sees the plan if it is only shown.
func (h *Host) show(only bool) (r Result, err error) {
	f := h.Facts()
	r, err = show(h.plan(&f), h.Engine.Read, only)
	var forgotten carry.ForgottenError
	if err == nil && errors.As(h.Engine.Lasting(r.Steps), &forgotten) {
		return r, MissingError{{What: forgotten.Error(),
			Fix: "use a directory on a disk, the same for enable and disable: --changes DIR; or mount a disk at " + forgotten.Dir}}
	}
	return r, err
}

func show(p enable.Plan, read change.Read, only bool) (r Result, err error) {
	r.Notes = p.Notes
	if r.Steps, err = change.Complete(p.Steps, read); err != nil {
		return r, err
	}
	if len(p.Steps) > 0 && len(r.Steps) == 0 {
		return r, nil // what holds already needs no privilege
	}
	for _, m := range p.Missing {
		if !only || len(p.Steps) == 0 {
			return Result{}, MissingError(p.Missing)
		}
		r.Notes = append(r.Notes, enable.Note{About: "root", Text: m.What + ": " + m.Fix})
	}
	return r, nil
}

// Enable turns it on for good. It leaves a host unchanged that already has it, or on
// which it fails.
func (h *Host) Enable(verb string, now time.Time) (r Result, err error) {
	if r, err = h.show(false); err != nil {
		return r, err
	}
	open, err := h.Engine.Open(Subject)
	if err != nil && (len(r.Steps) > 0 || !errors.Is(err, fs.ErrPermission)) {
		return r, err // without permission and with nothing to write, there is no need to
	}
	if len(r.Steps) > 0 || unfinished(open) {
		if err := h.carryOut(&r, open, verb, now); err != nil {
			return r, err
		}
	}
	if r.Proofs == nil {
		r.Proofs, err = h.prove()
	}
	return r, err
}

// interrupted reports whether the change that was interrupted is one to what h turns on.
func (h *Host) interrupted(open []*change.Journal) bool {
	return unfinished(open) && slices.ContainsFunc(open[len(open)-1].Steps, func(s change.Step) bool {
		return s.Kind == change.Sysctl && s.Target == advise.KeyCong && h.on(s.New.Text)
	})
}

func unfinished(open []*change.Journal) bool {
	return len(open) > 0 && open[len(open)-1].Phase != change.Applied
}

func (h *Host) carryOut(r *Result, open []*change.Journal, verb string, now time.Time) (err error) {
	lock, err := instance.Acquire(h.Lock)
	if errors.Is(err, unix.EROFS) || errors.Is(err, fs.ErrPermission) {
		return MissingError{{What: fmt.Sprintf("no journal can be kept in %s: %s", h.Lock, reason(err)),
			Fix: "use a directory on a writable disk, the same for enable and disable: --changes DIR"}}
	}
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, lock.Release()) }()
	planned := false
	done, err := h.Engine.Set(Subject, func() (p change.Plan, err error) {
		planned = true
		if *r, err = h.show(false); err != nil {
			return p, err
		}
		p.Steps = r.Steps
		p.Header, err = h.Engine.Header(Subject, verb, h.Machine, now)
		return p, err
	}, func() (err error) {
		if !planned && !h.interrupted(open) {
			return nil // the end of a change to another congestion control
		}
		r.Proofs, err = h.prove()
		return err
	})
	if n := len(done); err == nil && planned && n > 0 && len(r.Steps) > 0 {
		r.Journal, done = done[n-1], done[:n-1]
	}
	r.Finished = done
	return err
}

// reason returns an error without what was tried, which the caller adds.
func reason(err error) error {
	if path := (*fs.PathError)(nil); errors.As(err, &path) {
		return path.Err
	}
	return err
}

// prove makes connections and wants it of each.
func (h *Host) prove() ([]loopback.Proof, error) {
	proofs, err := h.Connect()
	for _, p := range proofs {
		if !h.on(p.Cong) {
			err = errors.Join(err, fmt.Errorf("verify: a new connection to %s has %s, not %s", p.Addr, p.Cong, h.Cong()))
		}
	}
	return proofs, err
}

// Disable takes back what enable changed.
func (h *Host) Disable(force bool) (r carry.Report, err error) {
	open, err := h.Engine.Open(Subject)
	if err != nil && !errors.As(err, new(carry.DamagedError)) {
		return r, err
	}
	if len(open) == 0 {
		return r, cmp.Or(err, carry.ErrNothing) // and no lock is left behind
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

// New is this very host with its journals in dir, for BBR.
func New(disk carry.Disk, dir string, facts func() advise.Facts) (*Host, error) {
	boot, err := clock.BootText()
	if err != nil {
		return nil, err
	}
	e := carry.New(carry.Options{Disk: disk, Dir: dir, Boot: boot, Forgets: carry.HostDisk{Root: "/"}.Forgets, Places: map[change.Kind]carry.Place{
		change.Sysctl:  carry.Sysctls{Root: "/"},
		change.Module:  carry.Modules{Root: "/"},
		change.Qdisc:   carry.Qdiscs{},
		change.Program: pins{},
	}})
	return &Host{Facts: facts, Engine: e, Connect: loopback.Connect, Lock: filepath.Clean(dir), Machine: carry.Machine("/"), Boot: boot}, nil
}
