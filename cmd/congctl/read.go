package main

import (
	"io"

	"github.com/spf13/cobra"

	"github.com/congctl/congctl/internal/app/control"
	"github.com/congctl/congctl/internal/app/show"
	"github.com/congctl/congctl/internal/core/record"
)

func newPrefixes(g *global) *cobra.Command {
	var q control.PrefixesRequest
	cmd := &cobra.Command{
		Use:     "prefixes",
		Short:   "List client prefixes: performance, group, duty cycle, flap rate, treatment, arm",
		Example: "  congctl prefixes\n  congctl prefixes --selected -o json",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return g.withView(cmd.Context(), func(v control.View) error {
				rows, err := v.Prefixes(cmd.Context(), q)
				if err != nil {
					return err
				}
				return g.print(cmd, rows, func(w io.Writer) error { return show.Prefixes(w, rows) })
			})
		},
	}
	cmd.Flags().BoolVar(&q.Selected, "selected", false, "only those in the plan")
	cmd.Flags().IntVarP(&q.Limit, "limit", "n", 0, "at most this many; 0 is all")
	return cmd
}

func newExplain(g *global) *cobra.Command {
	return &cobra.Command{
		Use:     "explain PREFIX",
		Short:   "Say why a prefix is or is not treated, window by window",
		Example: "  congctl explain 203.0.113.0/24\n  congctl explain 2001:db8:0:ab00::/56 -o json",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			p, err := record.ParsePrefix(args[0])
			if err != nil {
				return usage(err)
			}
			return g.withView(cmd.Context(), func(v control.View) error {
				x, err := v.Explain(cmd.Context(), p)
				if err != nil {
					return err
				}
				return g.print(cmd, x, func(w io.Writer) error {
					_, err := io.WriteString(w, x.Text())
					return err
				})
			})
		},
	}
}

func newRounds(g *global) *cobra.Command {
	var n int
	cmd := &cobra.Command{
		Use:     "rounds",
		Short:   "Show decision rounds: prefixes known, selected, newly selected, released",
		Example: "  congctl rounds -n 12",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return g.withView(cmd.Context(), func(v control.View) error {
				r, err := v.Rounds(cmd.Context(), n)
				if err != nil {
					return err
				}
				return g.print(cmd, r, func(w io.Writer) error { return show.Rounds(w, r) })
			})
		},
	}
	cmd.Flags().IntVarP(&n, "limit", "n", 24, "how many of the last rounds")
	return cmd
}

func newEvents(g *global) *cobra.Command {
	q := control.EventsRequest{}
	var prefix string
	cmd := &cobra.Command{
		Use:     "events",
		Short:   "Show what happened: selections, refusals, releases, stops, alarms",
		Example: "  congctl events -n 20\n  congctl events --prefix 203.0.113.0/24 -o json",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if prefix != "" {
				p, err := record.ParsePrefix(prefix)
				if err != nil {
					return usage(err)
				}
				q.Prefix = p
			}
			return g.withView(cmd.Context(), func(v control.View) error {
				e, err := v.Events(cmd.Context(), q)
				if err != nil {
					return err
				}
				return g.print(cmd, e, func(w io.Writer) error { return show.Events(w, e) })
			})
		},
	}
	cmd.Flags().StringVar(&prefix, "prefix", "", "only of this client prefix")
	cmd.Flags().IntVarP(&q.Limit, "limit", "n", 50, "how many of the last events")
	return cmd
}

func newStatus(g *global) *cobra.Command {
	return &cobra.Command{
		Use:     "status",
		Short:   "Show whether congctl runs, what it can do here, what it lost, and its alarms",
		Example: "  congctl status",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return g.withView(cmd.Context(), func(v control.View) error {
				s, err := v.Status(cmd.Context())
				if err != nil {
					return err
				}
				return g.print(cmd, s, func(w io.Writer) error { return show.Status(w, s) })
			})
		},
	}
}
