package limit

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/congctl/congctl/internal/change"
	"github.com/congctl/congctl/internal/change/kernel/carry"
	"github.com/congctl/congctl/internal/host/kernel/inspect"
	"github.com/congctl/congctl/internal/shape"
)

// files plans the state after a boot: the new limit if it is to be kept, and none of an
// earlier one.
func (h *Host) files(p *Proposal, r Request) error {
	boot, err := readBoot(h.Root, h.disk, p.Link)
	var kept shape.Persistence
	if err == nil && r.Persist {
		kept, err = h.persist(p, r, boot)
	}
	if err == nil {
		err = h.forget(p, boot, kept.Files)
	}
	p.KeptBy, p.Notes = kept.Keeper, append(p.Notes, kept.Notes...)
	if errors.Is(err, fs.ErrPermission) && !r.Persist {
		p.note("whether an earlier limit is kept after a boot is unknown without root: use sudo")
		return nil
	}
	return err
}

func (h *Host) persist(p *Proposal, r Request, boot shape.Boot) (kept shape.Persistence, err error) {
	kept, err = shape.Persist(r.Link, p.Target, boot, shape.Command(r.Program, r.Link, p.Target))
	if err != nil {
		return kept, err
	}
	var wanted []change.Step
	for _, f := range kept.Files {
		wanted = append(wanted, change.Step{Kind: change.File, Target: f.Path, New: change.Value{Present: true, Text: f.Text, Mode: f.Mode}, Why: "the limit after a boot"})
	}
	return kept, h.add(p, wanted...)
}

// forget plans the removal of everything else that keeps a limit of the link: the files in
// journals, and where any keeper of this host would have it.
func (h *Host) forget(p *Proposal, boot shape.Boot, but []shape.Kept) error {
	paths := shape.Keeping(p.Link.Name, boot)
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
		if slices.ContainsFunc(but, func(k shape.Kept) bool { return k.Path == f }) {
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
	rest, there := shape.Without(v.Text)
	if rest == v.Text {
		return nil
	}
	if v.Text = rest; !there {
		v = change.Absent
	}
	p.note(fmt.Sprintf("%s kept an earlier limit after a boot; it no longer does", f))
	if err := h.add(p, change.Step{Kind: change.File, Target: f, New: v, Why: "it kept an earlier limit"}); err != nil {
		return err
	}
	dir := path.Dir(f)
	if names, err := h.disk.List(dir); err != nil || there || len(names) > 1 || !shape.Alone(dir) {
		return err
	}
	return h.add(p, change.Step{Kind: change.Dir, Target: dir, New: change.Absent, Why: "it is empty"})
}

// readBoot finds out what runs a host and a link, from files only: a verb must not start
// programs of the host to learn what they would do.
func readBoot(root string, disk carry.Disk, l shape.Link) (b shape.Boot, err error) {
	f := files{disk: disk}
	b.Init = inspect.Host{Files: inspect.Tree(root)}.Init()
	b.SystemdVersion = f.systemdVersion()
	state := f.text(fmt.Sprintf("/run/systemd/netif/links/%d", l.Index))
	if b.NetworkFile = valueOf(state, "NETWORK_FILE"); b.NetworkFile != "" {
		b.NetworkText = f.text(b.NetworkFile)
	}
	if uuid := valueOf(f.text(fmt.Sprintf("/run/NetworkManager/devices/%d", l.Index)), "connection-uuid"); uuid != "" {
		f.findKeyfile(&b, uuid)
	}
	return b, f.err
}

// files reads many and remembers those that it was not allowed to read. A file that is not
// plain, or has gone meanwhile, counts as empty.
type files struct {
	disk carry.Disk
	err  error
}

func (f *files) text(p string) string {
	v, err := f.disk.Read(p)
	if errors.Is(err, fs.ErrPermission) && f.err == nil {
		f.err = fmt.Errorf("find out what manages the link: %w", err)
	}
	return v.Text
}

func (f *files) names(dir string) []string {
	names, err := f.disk.List(dir)
	if err != nil && f.err == nil {
		f.err = fmt.Errorf("find out what manages the links of the host: %w", err)
	}
	return names
}

const keyfiles = "/etc/NetworkManager/system-connections"

func (f *files) findKeyfile(b *shape.Boot, uuid string) {
	for _, n := range f.names(keyfiles) {
		p := path.Join(keyfiles, n)
		if text := f.text(p); valueOf(text, "uuid") == uuid {
			b.Keyfile, b.KeyText = p, text
			return
		}
	}
}

// valueOf finds the first KEY=VALUE on a line of its own.
func valueOf(text, key string) string {
	for line := range strings.Lines(text) {
		if k, v, ok := strings.Cut(strings.TrimSpace(line), "="); ok && k == key {
			return v
		}
	}
	return ""
}

// libsystemd matches systemd's version in a file name, which is cheaper than asking systemctl.
var libsystemd = regexp.MustCompile(`^libsystemd-shared-([0-9]+)[.~-].*so$`)

func (f *files) systemdVersion() int {
	dirs := []string{"/usr/lib/systemd", "/lib/systemd", "/usr/lib64/systemd"}
	for _, n := range f.names("/usr/lib") {
		if strings.HasSuffix(n, "-linux-gnu") {
			dirs = append(dirs, path.Join("/usr/lib", n, "systemd"))
		}
	}
	for _, dir := range dirs {
		for _, n := range f.names(dir) {
			if m := libsystemd.FindStringSubmatch(n); m != nil {
				v, err := strconv.Atoi(m[1])
				if err == nil {
					return v
				}
			}
		}
	}
	return 0
}
