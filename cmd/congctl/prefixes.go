package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/congctl/congctl/internal/answer"
	"github.com/congctl/congctl/internal/loop/control"
	"github.com/congctl/congctl/internal/loop/policy"
)

func newPrefixes(g *global) *cobra.Command {
	var q control.PrefixesRequest
	var states []string
	var sort string
	var watching bool
	cmd := &cobra.Command{
		Use:     "prefixes",
		Short:   "List client networks: performance, group, duty cycle, flap rate, treatment, arm",
		Example: "  congctl prefixes -n 20\n  congctl prefixes --state trial,promoted --watch\n  congctl prefixes --sort rate -o json",
		RunE: func(cmd *cobra.Command, _ []string) (err error) {
			if q.Sort, err = oneOf("--sort", sort, policy.Orders); err != nil {
				return err
			}
			for _, s := range states {
				state, err := oneOf("--state", s, policy.States)
				if err != nil {
					return err
				}
				q.States = append(q.States, state)
			}
			if watching && g.output == answer.FormatJSON {
				return usage(errors.New("--watch and -o json: many answers are not one value; write -o jsonl"))
			}
			if watching {
				return watch(cmd.Context(), func() error { return g.prefixes(cmd, q, true) })
			}
			return g.prefixes(cmd, q, false)
		},
	}
	cmd.Flags().BoolVar(&q.Selected, "selected", false, "only networks in the plan")
	cmd.Flags().StringSliceVar(&states, "state", nil, "only networks in these states: "+list(policy.States))
	cmd.Flags().StringVar(&sort, "sort", string(policy.Orders[0]), "order: "+list(policy.Orders))
	limitFlag(cmd, &q.Limit, 0, "at most so many, the first in that order")
	cmd.Flags().BoolVarP(&watching, "watch", "w", false, fmt.Sprintf("repeat every %d s until interrupted", watchEvery/time.Second))
	complete(cmd, "state", policy.States)
	complete(cmd, "sort", policy.Orders)
	return cmd
}

func (g *global) prefixes(cmd *cobra.Command, q control.PrefixesRequest, watching bool) error {
	out := cmd.OutOrStdout()
	if fits := height(out) - 3; watching && fits > 0 && (q.Limit == 0 || q.Limit > fits) {
		q.Limit = fits // below the time and the heading, above the cursor's line
	}
	rows, err := ask(cmd, g, control.View.Prefixes, q)
	if err != nil {
		return err
	}
	if watching && isTerminal(out) {
		fmt.Fprint(raw(out), "\x1b[H\x1b[2J") // cursor home, clear the screen (ECMA-48)
	}
	return g.printTable(cmd, rows, func(w io.Writer) error {
		if watching {
			fmt.Fprintf(w, "%s, every %d s until Ctrl-C\n", time.Now().UTC().Format(time.RFC3339), watchEvery/time.Second)
		}
		return control.WritePrefixes(w, rows, q.Selected || len(q.States) > 0)
	})
}

// oneOf reads a value of a flag that knows only these.
func oneOf[T ~string](flag, value string, known []T) (T, error) {
	for _, k := range known {
		if strings.EqualFold(string(k), value) {
			return k, nil
		}
	}
	return "", usage(fmt.Errorf("%s %q: use %s", flag, value, list(known)))
}

func list[T ~string](words []T) string { return strings.Join(texts(words), ", ") }

func texts[T ~string](words []T) []string {
	all := make([]string, len(words))
	for i, w := range words {
		all[i] = string(w)
	}
	return all
}

// complete offers a flag's values to the shell.
func complete[T ~string](cmd *cobra.Command, flag string, known []T) {
	offer := texts(known)
	slices.Sort(offer)
	err := cmd.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(offer, cobra.ShellCompDirectiveNoFileComp))
	if err != nil {
		panic(err) // no such flag
	}
}

// watchEvery is the time between two answers of --watch: arms and plans change by
// the block, networks in a running congctl by the window, so more often shows nothing new.
const watchEvery = 5 * time.Second

// watch calls fn until ctx ends, which is no error: an interrupt is how it is ended.
func watch(ctx context.Context, fn func() error) error {
	for {
		if err := fn(); err != nil && ctx.Err() == nil {
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(watchEvery):
		}
	}
}
