package limit

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/congctl/congctl/internal/change"
	"github.com/congctl/congctl/internal/change/kernel/carry"
	"github.com/congctl/congctl/internal/shape"
)

// ErrNoLimit means that a link has no limit of ours.
var ErrNoLimit = errors.New("no limit of congctl")

const clearing = "congctl shape clear"

// Clear reverts all limits of a link, newest first, with their files. A limit without a
// journal gives way to the kernel's own qdisc.
func (h *Host) Clear(link string, force bool, now time.Time) (r carry.Report, err error) {
	if _, err := Read(link); err != nil && !errors.Is(err, ErrNoLink) {
		return r, err
	}
	if open, err := h.engine.Open(subject(link)); err == nil && len(open) == 0 {
		if p, err := h.bare(link); err != nil || len(p.Steps) == 0 {
			return r, cmp.Or(err, fmt.Errorf("clear %s: %w", link, ErrNoLimit))
		}
	}
	err = h.locked(func() error { r, err = h.clear(link, force, now); return err })
	return r, err
}

func (h *Host) clear(link string, force bool, now time.Time) (carry.Report, error) {
	r, err := h.engine.Clear(subject(link), force, clearing)
	if errors.Is(err, carry.ErrNothing) {
		err = nil
	}
	for i, n := range r.Restored {
		if v, err := h.engine.Read(n.Step.Kind, n.Step.Target); err == nil && n.Step.Kind == change.Egress {
			r.Restored[i].Text = shape.OtherNow(n.Step.Old.Text, v.Text)
		}
	}
	err = errors.Join(err, orphansOf(r))
	if err == nil && len(r.Refused) == 0 {
		err = h.clearBare(link, force, now, &r)
	}
	if err == nil && len(r.Refused) == 0 {
		h.take(link) // nothing is left to be confirmed, and nothing must revert it
	}
	return r, err
}

// orphansOf: deleting a link deletes what leads to its ifb, but not the ifb.
func orphansOf(r carry.Report) error {
	if !slices.ContainsFunc(r.Left, func(n carry.Note) bool { return n.Step.Kind == change.Ingress }) {
		return nil
	}
	return dropOrphans()
}

// clearBare removes what has no journal: what a boot set, or what is left after the journals
// were deleted. It gets a journal and is reverted like any other.
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

// own returns a limit without what somebody attached below, which is not ours.
func own(v change.Value) change.Value {
	if l, err := shape.ParseLimit(v.Text); err == nil {
		l.Guests = nil
		v.Text = l.String()
	}
	return v
}

// bare plans a link, and the files, without any limit of ours. A link that is gone, and has no
// files either, is an error.
func (h *Host) bare(link string) (p Proposal, err error) {
	var gone error
	if p.Link, err = Read(link); errors.Is(err, ErrNoLink) {
		p.Link.Name, gone = link, err
	} else if err != nil {
		return p, err
	} else {
		none := []change.Step{{Kind: change.Ingress, Target: link, New: change.Text(change.NoIngress), Why: clearing}}
		if p.Link.Root.Ours() {
			none = append(none, change.Step{Kind: change.Egress, Target: link, New: change.Text(""), Why: clearing})
		}
		if err := h.add(&p, none...); err != nil {
			return p, err
		}
	}
	boot, err := readBoot(h.Root, h.disk, p.Link)
	if err == nil {
		err = h.forget(&p, boot, nil)
	}
	if err == nil && len(p.Steps) == 0 {
		err = gone
	}
	return p, err
}

// revert reverts the newest limit of a link, which was not confirmed.
func (h *Host) revert(link, id string) error {
	open, err := h.engine.Open(subject(link))
	i := slices.IndexFunc(open, func(j *change.Journal) bool { return j.ID == id })
	if i < 0 {
		return err
	}
	r, err := h.engine.Undo(open[i], false, "not confirmed in time")
	err = errors.Join(err, orphansOf(r))
	if err == nil && len(r.Refused) > 0 {
		err = fmt.Errorf("revert %s: %w: %s", link, errForeign, r.Refused)
	}
	return err
}

// errForeign: trying again would change nothing.
var errForeign = errors.New("changed since by others")
