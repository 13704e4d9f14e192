package main

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/congctl/congctl/internal/change"
	"github.com/congctl/congctl/internal/shape"
	"github.com/congctl/congctl/internal/shape/kernel/limit"
)

// shapeFlags holds the flags of shape set, as written.
type shapeFlags struct {
	burst, queue, inner, ingress string
	persist, replace, dryRun     bool
	confirm, noConfirm, atBoot   bool
	within                       time.Duration
}

// confirmWithin is how long a limit on the caller's own connection waits to be confirmed:
// long enough to log in again, short enough to sit out.
const confirmWithin = time.Minute

func newShapeSet(g *global) *cobra.Command {
	var f shapeFlags
	cmd := shapeVerb(g, &cobra.Command{
		Use:   "set IFACE RATE",
		Short: "Limit what an interface sends (and receives)",
		Long: `set puts a token bucket at the root of an interface, or changes the one that congctl
put there. Each change is planned, journalled, made and read back; if one fails, all
are undone. On the interface of your own SSH session the limit goes away after a
minute unless you run "congctl shape confirm IFACE".`,
		Example: "  sudo congctl shape set eth0 8Mbit/s\n  sudo congctl shape set eth0 1MB/s --burst 200KiB --queue 1MiB --persist\n  sudo congctl shape set eth0 100Mbit/s --inner fq_codel --dry-run",
	}, func(cmd *cobra.Command, h *limit.Host, args []string) error {
		return f.run(g, cmd, h, args[0], args[1])
	})
	v := cmd.Flags()
	v.StringVar(&f.burst, "burst", "auto", "size of the bucket, or auto: computed from rate, MTU and timers")
	v.StringVar(&f.queue, "queue", "", "queue length, as size or time (default 100ms)")
	v.StringVar(&f.inner, "inner", "", "a qdisc below the bucket: fq_codel")
	complete(cmd, "inner", shape.Inners)
	v.StringVar(&f.ingress, "ingress", "", "also limit inbound traffic, on an ifb")
	v.BoolVar(&f.persist, "persist", false, "set the limit again at every boot")
	v.BoolVar(&f.replace, "replace", false, "replace a root qdisc that congctl did not set; clear restores it")
	v.BoolVar(&f.dryRun, "dry-run", false, "print each change and make none")
	v.BoolVar(&f.confirm, "confirm", false, "revert unless confirmed, even without SSH")
	v.BoolVar(&f.noConfirm, "no-confirm", false, "keep the limit without confirmation, even over SSH")
	v.DurationVar(&f.within, "confirm-within", confirmWithin, "how long to wait for the confirmation")
	v.BoolVar(&f.atBoot, "at-boot", false, "as at boot: without journal")
	_ = v.MarkHidden("at-boot") // it was declared a line above
	return cmd
}

// request reads the command line; it does not look at the host yet.
func (f shapeFlags) request(link, rate string) (r limit.Request, err error) {
	r = limit.Request{Link: link, Persist: f.persist}
	r.Ask.Replace = f.replace
	if r.Ask.Rate, err = shape.ParseRate(rate); err != nil {
		return r, usage(err)
	}
	if f.burst != "auto" {
		if r.Ask.Burst, err = shape.ParseSize(f.burst); err != nil {
			return r, usage(fmt.Errorf("--burst: %w (or auto)", err))
		}
	}
	if f.queue != "" {
		if r.Ask.Queue, err = shape.ParseQueue(f.queue); err != nil {
			return r, usage(fmt.Errorf("--queue: %w", err))
		}
	}
	if f.ingress != "" {
		if r.Ask.Ingress, err = shape.ParseRate(f.ingress); err != nil {
			return r, usage(fmt.Errorf("--ingress: %w", err))
		}
	}
	if f.inner != "" {
		if r.Ask.Inner, err = oneOf("--inner", f.inner, shape.Inners); err != nil {
			return r, err
		}
	}
	if f.confirm && f.noConfirm {
		return r, usage(errors.New("--confirm and --no-confirm: use only one of them"))
	}
	if f.within < time.Second || f.within > time.Hour {
		return r, usage(fmt.Errorf("--confirm-within %s: write 1s to 1h", f.within))
	}
	r.Program, err = os.Executable()
	return r, err
}

func (f shapeFlags) run(g *global, cmd *cobra.Command, h *limit.Host, link, rate string) error {
	r, err := f.request(link, rate)
	if err != nil {
		return err
	}
	if f.atBoot && !f.dryRun {
		_, err := h.Boot(r)
		return err
	}
	var a ShapeSet
	if f.dryRun {
		var p limit.Proposal
		p, err = h.Propose(r)
		a = newShapeSetAnswer(p, false)
	} else {
		a, err = f.set(g, h, r)
	}
	if err != nil {
		return err
	}
	return g.printText(cmd, a, a.text())
}

func (f shapeFlags) set(g *global, h *limit.Host, r limit.Request) (a ShapeSet, err error) {
	why := ""
	if f.confirm {
		why = "--confirm"
	} else if !f.noConfirm {
		carries, err := limit.CarriesSession(r.Link)
		if err != nil {
			return a, err
		}
		if carries {
			why = "this interface carries your SSH session"
		}
	}
	guard := limit.Guard(nil)
	if why != "" {
		start := func(id string) error { return h.StartRevert(f.revertCommand(g, h, r, id)) }
		guard = h.Guarded(limit.Pending{Link: r.Link, Then: r}, f.within, start)
	}
	p, err := h.Set(r, "congctl "+strings.Join(os.Args[1:], " "), time.Now(), guard)
	a = newShapeSetAnswer(p, true)
	if p.Waits {
		a.ConfirmWithinS, a.ConfirmWhy = int(f.within.Seconds()), why
	}
	return a, err
}

// revertCommand returns the command of the process that reverts a limit unless it is confirmed.
func (f shapeFlags) revertCommand(g *global, h *limit.Host, r limit.Request, id string) []string {
	words := []string{r.Program, "shape", "revert", r.Link, "--id", id, "--after", f.within.String(), "--root", h.Root}
	if g.configPath != "" {
		words = append(words, "--config", g.configPath)
	}
	return words
}

// ShapeSet is the answer of shape set.
type ShapeSet struct {
	Interface string `json:"interface"`
	Done      bool   `json:"done"` // false of a dry run
	shape.Numbers
	Writes         []ShapeWrite `json:"writes"`
	KeptBy         string       `json:"kept_by,omitempty"`
	Notes          []string     `json:"notes"`
	Reread         []string     `json:"reread"` // programs that must read their files again, and the command
	ConfirmWithinS int          `json:"confirm_within_s,omitempty"`
	ConfirmWhy     string       `json:"confirm_why,omitempty"`
}

// ShapeWrite is one write to the host.
type ShapeWrite struct {
	Kind   change.Kind `json:"kind"`
	Target string      `json:"target"`
	Old    string      `json:"old"`
	New    string      `json:"new"`
}

func newShapeSetAnswer(p limit.Proposal, done bool) ShapeSet {
	a := ShapeSet{Interface: p.Link.Name, Done: done, Numbers: p.Target.Tbf.Numbers(), Writes: []ShapeWrite{},
		KeptBy: string(p.KeptBy), Notes: append([]string{}, p.Notes...), Reread: shape.Reread(p.Steps)}
	for _, s := range p.Steps {
		a.Writes = append(a.Writes, ShapeWrite{s.Kind, s.Target, shape.Words(s.Kind, s.Old), shape.Words(s.Kind, s.New)})
	}
	return a
}

func (a ShapeSet) text() string {
	s := a.Numbers.String() + lines("note   ", a.Notes)
	if a.Done {
		s += a.written("wrote")
	} else {
		s += a.written("would write")
	}
	switch {
	case len(a.Writes) == 0:
		s += a.Interface + " already has this limit: nothing to write\n"
	case a.KeptBy != "":
		s += a.kept()
	case a.Done && a.ConfirmWithinS == 0:
		s += "lasts until the next boot; --persist keeps it\n"
	}
	if a.ConfirmWithinS > 0 {
		s += fmt.Sprintf("%s: the limit goes away in %d s unless you run: congctl shape confirm %s\n", a.ConfirmWhy, a.ConfirmWithinS, a.Interface)
	}
	return s
}

func (a ShapeSet) written(verb string) (s string) {
	for _, w := range a.Writes {
		s += fmt.Sprintf("%s %s %s: %s (was %s)\n", verb, shape.Name(w.Kind), w.Target, w.New, w.Old)
	}
	return s + lines("reread ", a.Reread)
}

func (a ShapeSet) kept() string { return fmt.Sprintf("kept after a boot by %s\n", a.KeptBy) }

// confirmed returns what was written once a limit was confirmed.
func (a ShapeSet) confirmed() string {
	s := a.Interface + ": the limit stays\n" + a.written("wrote")
	if a.KeptBy != "" {
		s += a.kept()
	}
	return s
}
