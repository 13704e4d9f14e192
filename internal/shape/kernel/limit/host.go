package limit

import (
	"errors"
	"path/filepath"
	"slices"
	"time"

	"github.com/congctl/congctl/internal/change"
	"github.com/congctl/congctl/internal/change/kernel/carry"
	"github.com/congctl/congctl/internal/linux/clock"
	"github.com/congctl/congctl/internal/linux/instance"
	"github.com/congctl/congctl/internal/shape"
)

// Host is where limits are set: links of the calling thread's namespace, files below a
// root directory.
type Host struct {
	Root   string // "/", or a tree of files for a test
	disk   carry.Disk
	dir    string // of journals and of limits waiting to be confirmed, below the root
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
	h := &Host{Root: root, disk: disk, dir: journals, boot: boot, clock: sinceBoot}
	h.engine = carry.New(carry.Options{Disk: disk, Dir: journals, Places: Places, Boot: boot, Forgets: disk.Forgets, Today: h.today})
	return h, nil
}

// locked runs fn while no other congctl changes this host.
func (h *Host) locked(fn func() error) error {
	lock, err := instance.Acquire(filepath.Join(h.Root, h.dir))
	if err != nil {
		return err
	}
	return errors.Join(fn(), lock.Release())
}

// Guard is called with the name of a journal before anything is written under it. On an error
// nothing is written.
type Guard func(id string) error

// Set carries out a request, under a journal; on any failure everything is as before. With a
// guard, what makes the link slower waits to be confirmed, and files are written then.
func (h *Host) Set(r Request, verb string, now time.Time, guard Guard) (p Proposal, err error) {
	if p, err = h.Propose(r); err != nil {
		return p, err // an impossible request leaves nothing on the disk
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
	id := ""
	_, err = h.engine.Set(subject(r.Link), func() (change.Plan, error) {
		if p, err = h.live(r); err != nil {
			return change.Plan{}, err
		}
		if p.Waits = guard != nil && len(p.Steps) > 0; !p.Waits {
			err = h.files(&p, r)
		}
		head, e := h.header(r.Link, verb, now)
		if err = errors.Join(err, e); err == nil && p.Waits {
			id = head.ID
			err = guard(id)
		}
		return change.Plan{Header: head, Steps: p.Steps}, err
	}, nil)
	if err != nil && id != "" && h.isAsBefore(r.Link, id) || err == nil && !p.Waits {
		h.take(r.Link) // a note that is left has expired: a process that still tries to revert that limit may stop
	}
	return p, err
}

// endBroken reverts what was interrupted before it was complete. To finish it, as elsewhere,
// would set a limit that was not confirmed and that nothing guards.
func (h *Host) endBroken(link string) error {
	open, err := h.engine.Open(subject(link))
	for _, j := range slices.Backward(open) {
		if j.Phase == change.Prepared || j.Phase == change.Applying {
			_, undo := h.engine.Undo(j, false, "interrupted before it was confirmed")
			err = errors.Join(err, undo)
		}
	}
	return err
}

// isAsBefore reports whether nothing is left of a change that failed. If something is, the
// process that reverts an unconfirmed limit must still try.
func (h *Host) isAsBefore(link, id string) bool {
	open, err := h.engine.Open(subject(link))
	return err == nil && !slices.ContainsFunc(open, func(j *change.Journal) bool { return j.ID == id })
}

func (h *Host) header(link, verb string, now time.Time) (change.Header, error) {
	head, err := h.engine.Header(subject(link), verb, carry.Machine(h.Root), now)
	head.Link = identity(link)
	return head, err
}

// Boot sets a limit as a boot does: no journal, since the boot cleared the old state.
func (h *Host) Boot(r Request) (Proposal, error) {
	p, err := h.live(r)
	if err != nil {
		return p, err
	}
	for _, s := range p.Steps {
		if err := Places[s.Kind].Write(s.Target, s.New); err != nil {
			return p, err
		}
	}
	return p, nil
}

// Request is all that a verb asks for. Whatever else an earlier limit had is removed.
type Request struct {
	Link    string // its own name
	Ask     shape.Ask
	Persist bool
	Program string // path of congctl, for what runs at boot
}

// Proposal is what would be done.
type Proposal struct {
	Link   shape.Link
	Target shape.Target
	KeptBy shape.Keeper // what sets it again after a boot, "" for nothing
	Notes  []string     // what a person should know before it is done
	Steps  []change.Step
	// Waits: it goes away unless it is confirmed, and the files are written then.
	Waits bool
}

// Propose reads a link and plans; nothing is touched.
func (h *Host) Propose(r Request) (p Proposal, err error) {
	if p, err = h.live(r); err != nil {
		return p, err
	}
	return p, h.files(&p, r)
}

// live plans the state until the next boot.
func (h *Host) live(r Request) (p Proposal, err error) {
	if p.Link, err = Read(r.Link); err != nil {
		return p, err
	}
	ifb, err := incoming(p.Link)
	if err != nil {
		return p, err
	}
	if r.Ask.OwnIngress = ifb != nil; ifb != nil {
		r.Ask.Incoming = ifb.Root
	}
	if p.Target, err = shape.For(p.Link, r.Ask); err != nil {
		return p, err
	}
	p.Notes = append(p.Notes, p.Target.Notes...)
	if r.Ask.OwnIngress && p.Target.Ingress == nil {
		p.note("the inbound limit is removed, since --ingress was not given again")
	}
	return p, h.settings(&p)
}

func (p *Proposal) note(text string) { p.Notes = append(p.Notes, text) }

// settings plans the offloads before the bucket, which would drop super-packets.
func (h *Host) settings(p *Proposal) error {
	var wanted []change.Step
	want := func(k change.Kind, v change.Value, why string) {
		wanted = append(wanted, change.Step{Kind: k, Target: p.Link.Name, New: v, Why: why})
	}
	if p.Target.OffloadsOff {
		want(change.TSO, change.Text("off"), "tbf of this kernel drops super-packets")
		want(change.GSO, change.Text("off"), "tbf of this kernel drops super-packets")
	}
	if t := p.Target.Ingress; t != nil {
		want(change.Ingress, value(*t, ""), "inbound packets are queued on an ifb")
	} else {
		want(change.Ingress, change.Text(change.NoIngress), "not requested again")
	}
	want(change.Egress, value(p.Target.Tbf, p.Target.Inner), "the limit")
	return h.add(p, wanted...)
}

// add plans writes with what they need, unless a target has the value or an earlier step
// sets it.
func (h *Host) add(p *Proposal, wanted ...change.Step) error {
	more, err := change.Complete(wanted, h.engine.Read)
	for _, s := range more {
		if !writtenIn(s, p.Steps) {
			p.Steps = append(p.Steps, s)
		}
	}
	return err
}
