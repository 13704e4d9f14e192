package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/congctl/congctl/internal/core/shaping"
	"github.com/congctl/congctl/internal/kernel/shape"
)

// shapeFlags are those of shape set, as written.
type shapeFlags struct {
	burst, queue, inner, ingress string
	persist, replace, dryRun     bool
	confirm, noConfirm, atBoot   bool
	within                       time.Duration
	root                         string
}

// confirmWithin is how long a limit over the caller's own connection waits: long enough
// to log in again, short enough to sit out.
const confirmWithin = time.Minute

func newShapeSet(g *global) *cobra.Command {
	var f shapeFlags
	cmd := &cobra.Command{
		Use:   "set IFACE RATE",
		Short: "Limit what an interface sends (and receives)",
		Long: `set puts a token bucket at the root of an interface, or changes the one of congctl
that is there. Everything is planned, journalled, written and read back; on a failure
all is as before. Over the caller's own SSH connection the limit goes away again
unless "congctl shape confirm IFACE" is said within a minute.`,
		Example: "  sudo congctl shape set eth0 8Mbit/s\n  sudo congctl shape set eth0 1MB/s --burst 200KiB --queue 1MiB --persist\n  sudo congctl shape set eth0 100Mbit/s --inner fq_codel --dry-run",
		Args:    cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			return shapeError(args[0], f.run(g, cmd, args[0], args[1]))
		},
	}
	v := cmd.Flags()
	v.StringVar(&f.burst, "burst", "auto", "size of the bucket, or auto: computed from rate, MTU and timers")
	v.StringVar(&f.queue, "queue", "", "what may wait, as size or time (default 100ms)")
	v.StringVar(&f.inner, "inner", "", "a qdisc below the bucket: fq_codel")
	v.StringVar(&f.ingress, "ingress", "", "also limit what comes in, by an ifb")
	v.BoolVar(&f.persist, "persist", false, "also after a boot, by whatever sets up this host's links")
	v.BoolVar(&f.replace, "replace", false, "put somebody else's root qdisc aside; clear brings it back")
	v.BoolVar(&f.dryRun, "dry-run", false, "print each write, and write nothing")
	v.BoolVar(&f.confirm, "confirm", false, "revert unless confirmed, also without SSH")
	v.BoolVar(&f.noConfirm, "no-confirm", false, "do not wait for a confirmation over SSH")
	v.DurationVar(&f.within, "confirm-within", confirmWithin, "how long to wait for the confirmation")
	v.BoolVar(&f.atBoot, "at-boot", false, "as at boot: without journal")
	_ = v.MarkHidden("at-boot") // it was declared a line above
	hiddenRoot(cmd, &f.root)
	return cmd
}

// request reads the command line; nothing is looked at yet.
func (f shapeFlags) request(link, rate string) (r shape.Request, err error) {
	r = shape.Request{Link: link, Persist: f.persist}
	r.Ask.Replace, r.Ask.Inner = f.replace, f.inner
	if r.Ask.Rate, err = shaping.ParseRate(rate); err != nil {
		return r, usage(err)
	}
	if f.burst != "auto" {
		if r.Ask.Burst, err = shaping.ParseSize(f.burst); err != nil {
			return r, usage(fmt.Errorf("--burst: %w (or auto)", err))
		}
	}
	if f.queue != "" {
		if r.Ask.Queue, err = shaping.ParseQueue(f.queue); err != nil {
			return r, usage(fmt.Errorf("--queue: %w", err))
		}
	}
	if f.ingress != "" {
		if r.Ask.Ingress, err = shaping.ParseRate(f.ingress); err != nil {
			return r, usage(fmt.Errorf("--ingress: %w", err))
		}
	}
	if f.confirm && f.noConfirm {
		return r, usage(errors.New("--confirm and --no-confirm: write one of both"))
	}
	if f.within < time.Second || f.within > time.Hour {
		return r, usage(fmt.Errorf("--confirm-within %s: write 1s to 1h", f.within))
	}
	r.Program, err = os.Executable()
	return r, err
}

func (f shapeFlags) run(g *global, cmd *cobra.Command, link, rate string) error {
	r, err := f.request(link, rate)
	if err != nil {
		return err
	}
	h, err := shapeHost(g, f.root)
	if err != nil {
		return err
	}
	if f.dryRun {
		p, err := h.Propose(r)
		if err != nil {
			return err
		}
		return printShape(g, cmd, newShapeSetAnswer(p, false))
	}
	if f.atBoot {
		_, err := h.Boot(r)
		return err
	}
	return f.set(g, cmd, h, r)
}

func (f shapeFlags) set(g *global, cmd *cobra.Command, h *shape.Host, r shape.Request) error {
	ask, why, err := f.mustConfirm(r.Link)
	if err != nil {
		return err
	}
	first, guard := r, shape.Guard(nil)
	if ask { // files are written when it is confirmed, and refused before
		if _, err := h.Propose(r); err != nil {
			return err
		}
		first.LiveOnly = true
		guard = h.Guarded(shape.Pending{Link: r.Link, Then: r}, f.within, func(id string) error { return f.startChild(g, r, id) })
	}
	verb := "congctl " + strings.Join(os.Args[1:], " ")
	p, err := h.Set(first, verb, time.Now(), guard)
	if ask = ask && len(p.Steps) > 0; err == nil && first.LiveOnly && !ask {
		p, err = h.Set(r, verb, time.Now(), nil) // nothing is slower than it was
	}
	if err != nil {
		return err
	}
	answer := newShapeSetAnswer(p, true)
	if ask {
		answer.ConfirmWithinS = int(f.within.Seconds())
		answer.ConfirmWhy = why
	}
	return printShape(g, cmd, answer)
}

// mustConfirm tells whether the limit is to go away again, and why.
func (f shapeFlags) mustConfirm(link string) (ask bool, why string, err error) {
	if f.confirm {
		return true, "as asked", nil
	}
	session := shape.Session()
	if f.noConfirm || session == "" {
		return false, "", nil
	}
	carries, err := shape.Carries(link, session)
	return carries, "it carries your SSH session", err
}

func printShape(g *global, cmd *cobra.Command, a ShapeSet) error {
	return g.print(cmd, a, func(w io.Writer) error { return a.write(w) })
}
