package main

import (
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/congctl/congctl/internal/answer"
	"github.com/congctl/congctl/internal/loop/control"
	"github.com/congctl/congctl/internal/loop/plan"
)

// exportForms are the values of --format.
var exportForms = []string{plan.FormNginxGeo, plan.FormHAProxyMap, answer.FormatJSON, plan.FormCIDR, plan.FormIPRoute}

func newPlanExport(g *global) *cobra.Command {
	var form string
	var at moment
	var every bool
	cmd := &cobra.Command{
		Use:   "export [SERIAL|FILE]",
		Short: "Write the networks that a plan treats now for nginx, HAProxy, ip route or another program",
		Long: `export writes the networks that a plan treats, for servers that set the congestion
control themselves: QUIC stacks, a socket option of their own; and as ip-route the
commands that treat them by routes, for kernels older than 5.15. Without an argument
it takes the latest plan.

Networks in control in this block are left out, as the kernel does, and so are
hold-out and A/A: the export is true until the block ends. Export again then. An
expired plan is refused (exit code 4), unless --at names a time in its life.`,
		Example: "  congctl plan export --format nginx-geo > /etc/nginx/congctl.geo\n  congctl plan export --format haproxy-map\n  congctl plan export 17 --format json --at 2026-11-20T12:00:00Z",
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := g.chooseForm(&form); err != nil {
				return err
			}
			if at.IsZero() {
				at.Time = time.Now()
			}
			x, err := g.export(cmd, append(args, "")[0], at.Unix(), every)
			if err != nil {
				return err
			}
			if form == answer.FormatJSON {
				return answer.JSON(cmd.OutOrStdout(), g.output, x)
			}
			text, err := x.Text(form)
			if err != nil {
				return &coded{exitRefused, cmd.CommandPath() + " --format " + plan.FormNginxGeo, fmt.Errorf("export: %w", err)}
			}
			return g.printText(cmd, x, text)
		},
	}
	cmd.Flags().StringVar(&form, "format", "", list(exportForms))
	cmd.Flags().Var(&at, "at", "what it treats at that time, as 2026-11-20T12:00:00Z; default now")
	cmd.Flags().BoolVar(&every, "every-block", false, "also networks in control now: the experiment loses them")
	complete(cmd, "format", exportForms)
	return cmd
}

// chooseForm makes -o json and --format json mean the same, and refuses two forms at once.
func (g *global) chooseForm(form *string) error {
	if *form == "" && !g.isTable() {
		*form = answer.FormatJSON
	}
	if *form == "" {
		return usage(fmt.Errorf("--format: use %s", list(exportForms)))
	}
	known, err := oneOf("--format", *form, exportForms)
	switch *form = known; {
	case err != nil:
		return err
	case known != answer.FormatJSON && !g.isTable():
		return usage(fmt.Errorf("--format %s with --output %s: use one of them", known, g.output))
	case known == answer.FormatJSON && g.isTable():
		g.output = answer.FormatJSON
	}
	return nil
}

// export reads a plan and returns what it treats at a time, Unix seconds. A file needs no congctl on this host. Of its own
// plans it knows whether treatment is stopped.
func (g *global) export(cmd *cobra.Command, arg string, unix int64, every bool) (x plan.Export, err error) {
	of := func(v control.View) error {
		p, sig, err := readPlan(cmd, v, arg)
		if err != nil {
			return err
		}
		if x, err = p.Export(sig, unix, every); err != nil {
			return &coded{exitRefused, "congctl plan show " + arg, fmt.Errorf("export: %w", err)}
		}
		return nil
	}
	if _, err := strconv.ParseUint(arg, 10, 64); arg != "" && err != nil {
		err = of(nil)
		return x, err
	}
	err = g.withView(cmd.Context(), func(v control.View) error {
		if err := of(v); err != nil {
			return err
		}
		s, err := v.Status(cmd.Context())
		if s.Stopped {
			x.Stop()
		}
		return err
	})
	return x, err
}

// moment is the value of a flag that takes a time.
type moment struct{ time.Time }

func (m *moment) String() string { return "" }
func (m *moment) Type() string   { return "time" }

func (m *moment) Set(value string) (err error) {
	if m.Time, err = time.Parse(time.RFC3339, value); err != nil {
		return errors.New("write a time as 2026-11-20T12:00:00Z")
	}
	return nil
}
