package shape

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/congctl/congctl/internal/core/change"
	carry "github.com/congctl/congctl/internal/kernel/change"
)

// ErrNoLimit says that there is no limit of ours on a link.
var ErrNoLimit = errors.New("no limit of congctl")

const clearing = "congctl shape clear"

// Clear takes all limits of a link back, newest first, files and all. A limit without a
// journal gives way to the kernel's own qdisc.
func (h *Host) Clear(link string, force bool, now time.Time) (r carry.Report, err error) {
	if _, err := Read(link); err != nil && !errors.Is(err, ErrNoLink) {
		return r, err
	}
	if open, err := h.engine.Open(subject(link)); err == nil && len(open) == 0 {
		if p, err := h.bare(link); err != nil || len(p.Steps) == 0 {
			return r, errors.Join(err, noLimit(link, err))
		}
	}
	err = h.locked(func() error { r, err = h.clear(link, force, now); return err })
	return r, err
}

func noLimit(link string, err error) error {
	if err != nil {
		return nil
	}
	return fmt.Errorf("clear %s: %w", link, ErrNoLimit)
}

func (h *Host) clear(link string, force bool, now time.Time) (carry.Report, error) {
	r, err := h.engine.Clear(subject(link), force, clearing)
	if errors.Is(err, carry.ErrNothing) {
		err = nil
	}
	for i, n := range r.Restored {
		if v, err := h.engine.Read(n.Step.Kind, n.Step.Target); err == nil && n.Step.Kind == change.Egress {
			r.Restored[i].Text = otherNow(n.Step.Old.Text, v.Text)
		}
	}
	err = errors.Join(err, orphansOf(r))
	if err == nil && len(r.Refused) == 0 {
		err = h.clearBare(link, force, now, &r)
	}
	if err == nil && len(r.Refused) == 0 {
		h.take(link) // nothing is left to be confirmed, and nobody reverts it
	}
	return r, err
}

// orphansOf: with a link goes what leads to its ifb, and not the ifb.
func orphansOf(r carry.Report) error {
	if !slices.ContainsFunc(r.Left, func(n carry.Note) bool { return n.Step.Kind == change.Ingress }) {
		return nil
	}
	return dropOrphans()
}

// clearBare takes away what has no journal: what a boot set, or what is left where the
// journals were deleted. It is given one and taken back like any other.
func (h *Host) clearBare(link string, force bool, now time.Time, r *carry.Report) error {
	p, err := h.bare(link)
	if errors.Is(err, ErrNoLink) || err == nil && len(p.Steps) == 0 {
		return nil
	}
	if err != nil {
		return err
	}
	head, err := h.header(link, clearing, now)
	if err != nil {
		return err
	}
	for i, s := range p.Steps {
		p.Steps[i].Old, p.Steps[i].New = s.New, own(s.Old)
	}
	slices.Reverse(p.Steps)
	j, err := h.engine.Adopt(change.Plan{Header: head, Steps: p.Steps})
	if err != nil {
		return err
	}
	one, err := h.engine.Undo(j, force, clearing)
	r.Add(one)
	return err
}

// own is a limit without what somebody hung below: that was not set by us.
func own(v change.Value) change.Value {
	if l, err := parseValue(v.Text); err == nil {
		l.guests = nil
		v.Text = l.String()
	}
	return v
}

// bare plans a link, and the files, without any limit of ours.
func (h *Host) bare(link string) (p Proposal, err error) {
	if p.Link, err = Read(link); errors.Is(err, ErrNoLink) {
		p.Link.Name = link
		return p, h.bareFiles(&p, err)
	} else if err != nil {
		return p, err
	}
	if err := h.step(&p, change.Ingress, link, change.Text(noIngress), clearing); err != nil {
		return p, err
	}
	if p.Link.Root.Ours() {
		if err := h.step(&p, change.Egress, link, change.Text(""), clearing); err != nil {
			return p, err
		}
	}
	return p, h.bareFiles(&p, nil)
}

// bareFiles plans the files; without any it gives the error that it was called with.
func (h *Host) bareFiles(p *Proposal, none error) error {
	boot, err := readBoot(h.Root, h.disk, p.Link)
	if err == nil {
		err = h.forget(p, boot, nil)
	}
	if err == nil && len(p.Steps) == 0 {
		err = none
	}
	return err
}

// revert takes the newest limit of a link back: nobody has confirmed it.
func (h *Host) revert(link, id string) error {
	open, err := h.engine.Open(subject(link))
	i := slices.IndexFunc(open, func(j *change.Journal) bool { return j.ID == id })
	if err != nil || i < 0 {
		return err
	}
	r, err := h.engine.Undo(open[i], false, "not confirmed in time")
	err = errors.Join(err, orphansOf(r))
	if err == nil && len(r.Refused) > 0 {
		err = fmt.Errorf("revert %s: %w: %s", link, errForeign, r.Refused)
	}
	return err
}

// errForeign: to try again would change nothing.
var errForeign = errors.New("somebody changed since")
