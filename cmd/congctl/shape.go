package main

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/congctl/congctl/internal/change"
	"github.com/congctl/congctl/internal/change/kernel/carry"
	"github.com/congctl/congctl/internal/linux/instance"
	"github.com/congctl/congctl/internal/shape"
	"github.com/congctl/congctl/internal/shape/kernel/limit"
)

func newShape(g *global) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "shape",
		Short: "Limit the rate of an interface, in unambiguous units",
		Long: `shape puts a token bucket (tbf) at the root of an interface; shape clear removes it
and restores what was there. Write a rate as 100Mbit/s, 100mbit (as in tc) or 12.5MB/s;
k, M, G are powers of 1000 and Ki, Mi, Gi powers of 1024. What tc and people read
differently is refused.`,
		Example: "  sudo congctl shape set eth0 1MB/s --persist\n  congctl shape show eth0\n  sudo congctl shape clear eth0",
	}
	cmd.AddCommand(newShapeSet(g), newShapeShow(g), newShapeClear(g), newShapeConfirm(g), newShapeRevert(g))
	return cmd
}

// shapeVerb gives a verb its work, on this host with its files elsewhere if a hidden flag says
// so. The arguments begin with the interface.
func shapeVerb(g *global, cmd *cobra.Command, work func(cmd *cobra.Command, h *limit.Host, args []string) error) *cobra.Command {
	var root string
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		c, err := g.config()
		if err != nil {
			return err
		}
		h, err := limit.NewHost(root, filepath.Join(c.StateDir, "changes"))
		if err != nil {
			return err
		}
		if len(args) > 0 {
			if args[0], err = h.Resolve(args[0]); err != nil {
				return shapeError("", err)
			}
		}
		return shapeError(append(args, "")[0], work(cmd, h, args))
	}
	pathVar(cmd.Flags(), &root, "root", "", "/", "where files are written (for tests)")
	_ = cmd.Flags().MarkHidden("root") // it was declared a line above
	return cmd
}

// shapeError adds the exit code to an error.
func shapeError(link string, err error) error {
	var c *coded
	switch {
	case err == nil || errors.As(err, &c):
		return err
	case errors.Is(err, limit.ErrNoLink):
		return notFound("congctl shape show", err)
	case errors.Is(err, limit.ErrNoLimit), errors.Is(err, limit.ErrNoneWaits):
		return notFound("congctl shape show "+link, err)
	case errors.Is(err, shape.ErrForeign):
		return &coded{exitRefused, "congctl shape set " + link + " ... --replace --dry-run", err}
	case errors.Is(err, shape.ErrStuck):
		return &coded{exitRefused, "congctl shape show " + link, err}
	case errors.Is(err, limit.ErrPending):
		return &coded{exitRefused, "congctl shape confirm " + link, err}
	case errors.Is(err, instance.ErrRunning):
		return failed("again in a moment", err)
	case errors.Is(err, shape.ErrAsk), errors.Is(err, limit.ErrName):
		return usage(err)
	}
	return limit.NeedsRoot(err)
}

func newShapeShow(g *global) *cobra.Command {
	return shapeVerb(g, &cobra.Command{
		Use:     "show [IFACE]",
		Short:   "Show the rate limits of interfaces",
		Example: "  congctl shape show\n  congctl shape show eth0 -o json",
	}, func(cmd *cobra.Command, h *limit.Host, names []string) (err error) {
		if len(names) == 0 {
			if names, err = limit.Names(); err != nil {
				return err
			}
		}
		views := make([]shape.View, len(names))
		for i, name := range names {
			if views[i], err = h.View(name); err != nil {
				return err
			}
		}
		return g.print(cmd, views, func(w io.Writer) error { return shape.WriteViews(w, views) })
	})
}

func newShapeClear(g *global) *cobra.Command {
	var force bool
	cmd := shapeVerb(g, &cobra.Command{
		Use:     "clear IFACE",
		Short:   "Remove the limit; restore root qdisc, offloads and files",
		Example: "  sudo congctl shape clear eth0",
	}, func(cmd *cobra.Command, h *limit.Host, args []string) error {
		r, err := h.Clear(args[0], force, time.Now())
		if answer := clearAnswer(args[0], r); err == nil || answer.any() {
			err = errors.Join(err, g.printText(cmd, answer, answer.text()))
		}
		if err == nil && len(r.Refused) > 0 {
			return &coded{exitRefused, "congctl shape clear " + args[0] + " --force", fmt.Errorf("clear %s: changed since by others, so not restored: %s", args[0], r.Refused)}
		}
		return err
	})
	cmd.Flags().BoolVar(&force, "force", false, "also restore what others changed since")
	return cmd
}

// ShapeCleared is the answer of shape clear.
type ShapeCleared struct {
	Interface string   `json:"interface"`
	Restored  []string `json:"restored"` // back at their old values
	Left      []string `json:"left"`     // changed by a reboot or by another user of it
	Refused   []string `json:"refused"`  // changed by somebody else since
	Failed    []string `json:"failed"`   // could not be written
	Reread    []string `json:"reread"`   // programs that must read their files again, and the command
}

func (a ShapeCleared) any() bool {
	return len(a.Restored)+len(a.Left)+len(a.Refused)+len(a.Failed) > 0
}

func clearAnswer(link string, r carry.Report) ShapeCleared {
	list := func(notes carry.Notes) []string {
		all := []string{}
		for _, n := range notes {
			text := shape.Name(n.Step.Kind) + " " + n.Step.Target
			if n.Text != "" {
				text += ": " + n.Text
			}
			all = append(all, text)
		}
		return all
	}
	var steps []change.Step
	for _, n := range r.Restored {
		steps = append(steps, n.Step)
	}
	return ShapeCleared{link, list(r.Restored), list(r.Left), list(r.Refused), list(r.Failed), shape.Reread(steps)}
}

// text leaves refusals and failures to the error.
func (a ShapeCleared) text() (s string) {
	if len(a.Refused)+len(a.Failed) == 0 {
		s = a.Interface + ": no longer limited by congctl\n"
	}
	return s + lines("as before: ", a.Restored) + lines("left: ", a.Left) + lines("reread ", a.Reread)
}

// lines returns a line for each text.
func lines(begin string, texts []string) (s string) {
	for _, text := range texts {
		s += begin + text + "\n"
	}
	return s
}

func newShapeConfirm(g *global) *cobra.Command {
	return shapeVerb(g, &cobra.Command{
		Use:     "confirm IFACE",
		Short:   "Keep a limit that was set over your own SSH session",
		Example: "  sudo congctl shape confirm eth0",
	}, func(cmd *cobra.Command, h *limit.Host, args []string) error {
		done, p, err := h.Confirm(args[0], time.Now())
		if err != nil && p != nil {
			return failed(setAgain(p.Then), fmt.Errorf("write the files: the limit stays until the next boot: %w", err))
		} else if err != nil {
			return err
		}
		answer := newShapeSetAnswer(done, true)
		return g.printText(cmd, answer, answer.confirmed())
	})
}

// setAgain returns the command that writes the files of a limit that no longer waits.
func setAgain(r limit.Request) string {
	words := fmt.Sprintf("congctl shape set %s %s ...", r.Link, r.Ask.Rate)
	if r.Persist {
		words += " --persist"
	}
	return words + ", as before, with --no-confirm"
}

// newShapeRevert is the process that shape set leaves behind until a limit is confirmed.
func newShapeRevert(g *global) *cobra.Command {
	var id string
	var after time.Duration
	cmd := shapeVerb(g, &cobra.Command{
		Use:    "revert IFACE",
		Short:  "Wait, and revert a limit that was not confirmed",
		Hidden: true,
	}, func(cmd *cobra.Command, h *limit.Host, args []string) error {
		return h.Revert(args[0], id, after, cmd.OutOrStdout())
	})
	cmd.Flags().StringVar(&id, "id", "", "of the change")
	cmd.Flags().DurationVar(&after, "after", 0, "how long to wait")
	return cmd
}
