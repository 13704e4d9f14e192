package shape

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"

	"github.com/congctl/congctl/internal/core/change"
	"github.com/congctl/congctl/internal/core/shaping"
)

// files plans what is so after a boot: the new limit if it is to be kept, and none of an
// earlier one.
func (h *Host) files(p *Proposal, r Request) error {
	boot, err := readBoot(h.Root, h.disk, p.Link)
	var keep []shaping.Kept
	if err == nil && r.Persist {
		keep, err = h.persist(p, r, boot)
	}
	if err == nil {
		err = h.forget(p, boot, keep)
	}
	if errors.Is(err, fs.ErrPermission) && !r.Persist {
		p.note("could not look whether an earlier limit is kept after a boot: that takes root")
		return nil
	}
	return err
}

func (h *Host) persist(p *Proposal, r Request, boot shaping.Boot) ([]shaping.Kept, error) {
	kept, err := shaping.Persist(r.Link, p.Target, boot, shaping.Command(r.Program, r.Link, p.Target))
	if err != nil {
		return nil, err
	}
	p.Persistence = &kept
	for _, f := range kept.Files {
		if err := h.keep(p, f); err != nil {
			return nil, err
		}
	}
	return kept.Files, nil
}

// keep plans a file, and the directories that it needs. A file that is there keeps its
// owner and mode.
func (h *Host) keep(p *Proposal, f shaping.Kept) error {
	var missing []string
	for d := path.Dir(f.Path); d != "/"; d = path.Dir(d) {
		v, err := h.disk.Read(d)
		if err != nil {
			return fmt.Errorf("look for %s: %w", d, err)
		}
		if v.Present {
			break
		}
		missing = append(missing, d)
	}
	for _, d := range slices.Backward(missing) {
		if err := h.step(p, change.Dir, d, change.Value{Present: true, Mode: 0o755}, "for the file below"); err != nil {
			return err
		}
	}
	old, err := h.disk.Read(f.Path)
	if err != nil {
		return err
	}
	fresh := change.Value{Present: true, Text: f.Text, Mode: f.Mode}
	if old.Present {
		fresh.Mode, fresh.UID, fresh.GID = old.Mode, old.UID, old.GID
	}
	return h.step(p, change.File, f.Path, fresh, "the limit after a boot")
}

// forget plans that nothing else keeps a limit of the link: what journals name, and where
// any keeper of this host would have it.
func (h *Host) forget(p *Proposal, boot shaping.Boot, but []shaping.Kept) error {
	paths := shaping.Keeping(p.Link.Name, boot)
	open, err := h.engine.Open(subject(p.Link.Name))
	if err != nil {
		return err
	}
	for _, j := range open {
		for _, s := range j.Steps {
			if s.Kind == change.File {
				paths = append(paths, s.Target)
			}
		}
	}
	for _, f := range paths {
		if slices.ContainsFunc(but, func(k shaping.Kept) bool { return k.Path == f }) {
			continue
		}
		if err := h.strip(p, f); err != nil {
			return err
		}
	}
	return nil
}

// strip plans a file without what keeps the limit.
func (h *Host) strip(p *Proposal, f string) error {
	v, err := h.disk.Read(f)
	if err != nil || !v.Present {
		return err
	}
	rest, there := shaping.Without(p.Link.Name, v.Text)
	if rest == v.Text {
		return nil
	}
	if v.Text = rest; !there {
		v = change.Absent
	}
	p.note(fmt.Sprintf("%s kept an earlier limit after a boot, and does no longer", f))
	if err := h.step(p, change.File, f, v, "an earlier limit goes"); err != nil {
		return err
	}
	dir := path.Dir(f)
	if names, err := h.disk.List(dir); err != nil || there || len(names) > 1 || !shaping.Alone(dir) {
		return err
	}
	return h.step(p, change.Dir, dir, change.Absent, "nothing else is in it")
}
