package main

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/congctl/congctl/internal/core/shaping"
	"github.com/congctl/congctl/internal/kernel/instance"
	"github.com/congctl/congctl/internal/kernel/shape"
)

func newShape(g *global) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "shape",
		Short: "Limit what an interface sends, in units that mean one thing",
		Long: `shape puts a token bucket (tbf) at the root of an interface and takes it away again,
with everything as it was. Rates end in bit/s or B/s, with k, M, G for powers of 1000
and Ki, Mi, Gi for powers of 1024; what tc and people read differently is refused.`,
		Example: "  sudo congctl shape set eth0 1MB/s --persist\n  congctl shape show eth0\n  sudo congctl shape clear eth0",
	}
	cmd.AddCommand(newShapeSet(g), newShapeShow(g), newShapeClear(g), newShapeConfirm(g), newShapeRevert(g))
	return cmd
}

// shapeHost is the host that the verbs change: this one, but for its files where a
// hidden flag says so.
func shapeHost(g *global, root string) (*shape.Host, error) {
	c, err := g.config()
	if err != nil {
		return nil, err
	}
	return shape.NewHost(root, filepath.Join(c.StateDir, "changes"))
}

func hiddenRoot(cmd *cobra.Command, root *string) {
	cmd.Flags().StringVar(root, "root", "/", "where files are written (for tests)")
	_ = cmd.Flags().MarkHidden("root") // it was declared a line above
}

// shapeError gives an error its exit code.
func shapeError(link string, err error) error {
	var c *coded
	switch {
	case err == nil || errors.As(err, &c):
		return err
	case errors.Is(err, shape.ErrNoLink):
		return notFound("congctl shape show", err)
	case errors.Is(err, shape.ErrNoLimit), errors.Is(err, shape.ErrNoneWaits):
		return notFound("congctl shape show "+link, err)
	case errors.Is(err, shaping.ErrForeign):
		return &coded{exitRefused, "congctl shape set " + link + " ... --replace --dry-run", err}
	case errors.Is(err, shaping.ErrStuck):
		return &coded{exitRefused, "congctl shape show " + link, err}
	case errors.Is(err, shape.ErrPending):
		return &coded{exitRefused, "congctl shape confirm " + link, err}
	case errors.Is(err, instance.ErrRunning):
		return failed("the same again in a moment", err)
	case errors.Is(err, shaping.ErrAsk), errors.Is(err, shape.ErrName):
		return usage(err)
	}
	return shape.NeedsRoot(err)
}

func newShapeShow(g *global) *cobra.Command {
	var root string
	cmd := &cobra.Command{
		Use:     "show [IFACE]",
		Short:   "What interfaces send at, in words, bits and bytes",
		Example: "  congctl shape show\n  congctl shape show eth0 -o json",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			h, err := shapeHost(g, root)
			names := args
			if err == nil && len(names) == 0 {
				names, err = shape.Names()
			}
			if err != nil {
				return err
			}
			views := []shaping.View{}
			for _, name := range names {
				v, err := h.View(name)
				if err != nil {
					return shapeError(name, err)
				}
				views = append(views, v)
			}
			return g.print(cmd, views, func(w io.Writer) error { return shaping.WriteViews(w, views) })
		},
	}
	hiddenRoot(cmd, &root)
	return cmd
}

func newShapeClear(g *global) *cobra.Command {
	var root string
	var force bool
	cmd := &cobra.Command{
		Use:     "clear IFACE",
		Short:   "Take the limit away: root qdisc, offloads and files as they were",
		Example: "  sudo congctl shape clear eth0",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			h, err := shapeHost(g, root)
			if err != nil {
				return err
			}
			r, err := h.Clear(args[0], force, time.Now())
			if answer := clearAnswer(args[0], r); err == nil || answer.any() {
				err = errors.Join(err, g.print(cmd, answer, func(w io.Writer) error { return answer.write(w) }))
			}
			if err == nil && len(r.Refused) > 0 {
				return &coded{exitRefused, "congctl shape clear " + args[0] + " --force", fmt.Errorf("clear %s: changed by somebody since, and left: %s", args[0], r.Refused)}
			}
			return shapeError(args[0], err)
		},
	}
	cmd.Flags().BoolVar(&force, "force", false, "also put back what somebody changed since")
	hiddenRoot(cmd, &root)
	return cmd
}

func newShapeConfirm(g *global) *cobra.Command {
	var root string
	cmd := &cobra.Command{
		Use:     "confirm IFACE",
		Short:   "Keep a limit that was set over the connection it slows",
		Example: "  sudo congctl shape confirm eth0",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			h, err := shapeHost(g, root)
			if err != nil {
				return err
			}
			p, err := h.Confirm(args[0])
			if err != nil {
				return shapeError(args[0], err)
			}
			fmt.Fprintf(cmd.OutOrStdout(), "%s: the limit stays\n", args[0])
			done, err := h.Set(p.Then, "congctl shape confirm "+args[0], time.Now(), nil)
			if err != nil {
				return failed(setAgain(p.Then), fmt.Errorf("until the next boot: the files are as before: %w", err))
			}
			return newShapeSetAnswer(done, true).writeConfirmed(cmd.OutOrStdout())
		},
	}
	hiddenRoot(cmd, &root)
	return cmd
}

// setAgain is what writes the files of a limit that waits no longer.
func setAgain(r shape.Request) string {
	words := fmt.Sprintf("congctl shape set %s %s ...", r.Link, r.Ask.Rate)
	if r.Persist {
		words += " --persist"
	}
	return words + ", as before, with --no-confirm"
}
