package shape

import (
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/congctl/congctl/internal/core/change"
	"github.com/congctl/congctl/internal/core/shaping"
	carry "github.com/congctl/congctl/internal/kernel/change"
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
}

// NewHost makes a host with its journals in a directory below the root.
func NewHost(root, journals string) (*Host, error) {
	boot, err := bootID()
	if err != nil {
		return nil, err
	}
	places := map[change.Kind]carry.Place{}
	for _, k := range Kinds {
		places[change.Kind(k)] = place(k)
	}
	disk := carry.HostDisk{Root: root}
	return &Host{root, disk, journals, carry.New(carry.Options{Disk: disk, Dir: journals, Places: places, Boot: boot, Forgets: disk.Forgets}), boot}, nil
}

func bootID() (string, error) {
	b, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return "", fmt.Errorf("read boot id: %w", err)
	}
	return strings.TrimSpace(string(b)), nil
}

// place is a kind of setting as the engine of changes wants it.
type place string

func (p place) Read(link string) (change.Value, error) {
	v, err := Get(string(p), link)
	if errors.Is(err, ErrNoLink) {
		return change.Absent, nil
	}
	return change.Text(v), err
}

func (p place) Write(link string, v change.Value) error {
	err := Set(string(p), link, v.Text)
	if errors.Is(err, ErrNoLink) {
		return fmt.Errorf("%w: the interface has gone", carry.ErrInUse)
	}
	return err
}

func subject(link string) string { return "shape " + link }

// Request is what a verb asks for.
type Request struct {
	Link    string
	Ask     shaping.Ask
	Persist bool
	Program string // path of congctl, for what runs at boot
}

// Proposal is what would be done.
type Proposal struct {
	Link        shaping.Link
	Target      shaping.Target
	Persistence *shaping.Persistence
	Steps       []change.Step
}

// Propose reads a link and plans; nothing is touched.
func (h *Host) Propose(r Request) (p Proposal, err error) {
	if p.Link, err = Read(r.Link); err != nil {
		return p, err
	}
	if _, err := find(ifbName(p.Link.Index)); err == nil {
		r.Ask.OwnIngress = true
	}
	if p.Target, err = shaping.For(p.Link, r.Ask); err != nil {
		return p, err
	}
	if err := h.live(&p); err != nil {
		return p, err
	}
	if r.Persist {
		err = h.persist(&p, r)
	}
	return p, err
}

// live plans what is so until the next boot: offloads before the bucket, which would
// drop what they make.
func (h *Host) live(p *Proposal) error {
	if p.Target.OffloadsOff {
		for _, kind := range []string{TSO, GSO} {
			if err := h.step(p, change.Kind(kind), p.Link.Name, change.Text("off"), "tbf of this kernel drops super-packets"); err != nil {
				return err
			}
		}
	}
	if p.Target.Ingress != nil {
		if err := h.step(p, Ingress, p.Link.Name, change.Text(IngressValue(p.Target)), "what comes in is queued on an ifb"); err != nil {
			return err
		}
	}
	return h.step(p, Egress, p.Link.Name, change.Text(EgressValue(p.Target)), "the limit")
}

func (h *Host) persist(p *Proposal, r Request) error {
	boot, err := readBoot(h.disk, p.Link)
	if err != nil {
		return err
	}
	kept, err := shaping.Persist(r.Link, p.Target, boot, shaping.Command(r.Program, r.Link, p.Target))
	if err != nil {
		return err
	}
	p.Persistence = &kept
	for _, f := range kept.Files {
		if err := h.keep(p, f); err != nil {
			return err
		}
	}
	return nil
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
	for i := len(missing) - 1; i >= 0; i-- {
		if err := h.step(p, change.Dir, missing[i], change.Value{Present: true, Mode: 0o755}, "for the file below"); err != nil {
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

// step adds a write, unless the target has the value or an earlier step gives it.
func (h *Host) step(p *Proposal, k change.Kind, target string, v change.Value, why string) error {
	for _, s := range p.Steps {
		if s.Kind == k && s.Target == target {
			return nil
		}
	}
	old, err := h.engine.Read(k, target)
	if err != nil {
		return err
	}
	if !k.Same(v, old) {
		p.Steps = append(p.Steps, change.Step{Kind: k, Target: target, Old: old, New: v, Why: why})
	}
	return nil
}

// locked runs fn while no other congctl changes this host.
func (h *Host) locked(fn func() error) error {
	lock, err := instance.Acquire(filepath.Join(h.Root, h.dir))
	if err != nil {
		return err
	}
	return errors.Join(fn(), lock.Release())
}

// Set carries a request out, under a journal; on any failure all is as before.
func (h *Host) Set(r Request, verb string, now time.Time) (p Proposal, done *change.Journal, err error) {
	if p, err = h.Propose(r); err != nil {
		return p, nil, err // nothing is made on the disk for what cannot be
	}
	err = h.locked(func() error { p, done, err = h.set(r, verb, now); return err })
	return p, done, err
}

func (h *Host) set(r Request, verb string, now time.Time) (p Proposal, done *change.Journal, err error) {
	all, err := h.engine.Set(subject(r.Link), func() (change.Plan, error) {
		if p, err = h.Propose(r); err != nil {
			return change.Plan{}, err
		}
		head, err := h.header(r.Link, verb, now)
		return change.Plan{Header: head, Steps: p.Steps}, err
	}, nil)
	if err != nil {
		return p, nil, err
	}
	if len(all) > 0 {
		done = all[len(all)-1]
	}
	return p, done, nil
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
	r.Persist = false
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

// ErrNoLimit says that there is no limit of ours on a link.
var ErrNoLimit = errors.New("no limit of congctl")

// Clear takes all limits of a link back, newest first, files and all. A limit without a
// journal gives way to the kernel's own qdisc.
func (h *Host) Clear(link string, force bool) (r carry.Report, err error) {
	if _, err := Read(link); err != nil && !errors.Is(err, ErrNoLink) {
		return r, err
	}
	if open, err := h.engine.Open(subject(link)); err == nil && len(open) == 0 {
		return r, h.clearBare(link)
	}
	err = h.locked(func() error { r, err = h.clear(link, force); return err })
	return r, err
}

// clearBare takes a limit away that has no journal: one that a boot set.
func (h *Host) clearBare(link string) error {
	l, err := Read(link)
	if err != nil {
		return err
	}
	if !l.Root.Ours() {
		return fmt.Errorf("clear %s: %w", link, ErrNoLimit)
	}
	return errors.Join(Set(Ingress, link, noIngress), Set(Egress, link, ""))
}

func (h *Host) clear(link string, force bool) (carry.Report, error) {
	r, err := h.engine.Clear(subject(link), force, "congctl shape clear")
	if err != nil {
		return r, err
	}
	if l, err := Read(link); err == nil && l.Root.Ours() && len(r.Refused) == 0 {
		return r, h.clearBare(link)
	}
	return r, nil
}

// Revert takes the newest limit of a link back: nobody has confirmed it.
func (h *Host) Revert(link, id string) error {
	return h.locked(func() error { return h.revert(link, id) })
}

func (h *Host) revert(link, id string) error {
	open, err := h.engine.Open(subject(link))
	i := slices.IndexFunc(open, func(j *change.Journal) bool { return j.ID == id })
	if err != nil || i < 0 {
		return err
	}
	r, err := h.engine.Undo(open[i], false, "not confirmed in time")
	if err == nil && len(r.Refused) > 0 {
		err = fmt.Errorf("revert %s: somebody changed since: %s", link, r.Refused)
	}
	return err
}
