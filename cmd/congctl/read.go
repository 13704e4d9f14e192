package main

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/congctl/congctl/internal/loop/control"
	"github.com/congctl/congctl/internal/tcp/record"
)

func newExplain(g *global) *cobra.Command {
	return &cobra.Command{
		Use:     "explain PREFIX|ADDRESS|all",
		Short:   "Say why a client network is or is not treated, window by window",
		Example: "  congctl explain 203.0.113.0/24\n  congctl explain 203.0.113.7\n  congctl explain 2001:db8:0:ab00::/56 -o json",
		RunE: func(cmd *cobra.Command, args []string) error {
			p, err := networkArg(cmd, args[0])
			if err != nil {
				return err
			}
			x, err := ask(cmd, g, control.View.Explain, p)
			if err != nil {
				return err
			}
			return g.printText(cmd, x, x.Text())
		},
	}
}

// networkArg reads a client network, or an address in one, and says which it is in.
func networkArg(cmd *cobra.Command, arg string) (record.Prefix, error) {
	p, err := record.ParseAddrOrPrefix(arg)
	if err != nil {
		return 0, usage(err)
	}
	if !strings.Contains(arg, "/") && p != record.All {
		fmt.Fprintf(cmd.ErrOrStderr(), "%s is in the client network %s\n", arg, p)
	}
	return p, nil
}

func newRounds(g *global) *cobra.Command {
	var n int
	cmd := &cobra.Command{
		Use:     "rounds",
		Short:   "Show decision rounds: prefixes known, selected, newly selected, released",
		Example: "  congctl rounds -n 12",
		RunE: func(cmd *cobra.Command, _ []string) error {
			r, err := ask(cmd, g, control.View.Rounds, n)
			if err != nil {
				return err
			}
			slices.Reverse(r) // the last line is now
			return g.printTable(cmd, r, func(w io.Writer) error { return control.WriteRounds(w, r) })
		},
	}
	limitFlag(cmd, &n, 24, "how many of the last rounds")
	return cmd
}

func newEvents(g *global) *cobra.Command {
	q := control.EventsRequest{}
	var prefix string
	cmd := &cobra.Command{
		Use:     "events",
		Short:   "Show what happened: selections, refusals, releases, stops, alarms",
		Example: "  congctl events -n 20\n  congctl events --prefix 203.0.113.0/24 -o json\n  congctl events --kind audit",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if prefix != "" {
				p, err := networkArg(cmd, prefix)
				if err != nil {
					return usage(fmt.Errorf("--prefix: %w", err))
				}
				q.Prefix = p
			}
			e, err := ask(cmd, g, control.View.Events, q)
			if err != nil {
				return err
			}
			slices.Reverse(e) // the last line is now
			return g.printTable(cmd, e, func(w io.Writer) error { return control.WriteEvents(w, e) })
		},
	}
	cmd.Flags().StringSliceVar(&q.Kinds, "kind", nil, "only those of these kinds, as audit or stop,resume")
	cmd.Flags().StringVar(&prefix, "prefix", "", "only those of this client network, or of the one that contains this address")
	limitFlag(cmd, &q.Limit, 50, "how many of the last events")
	return cmd
}
