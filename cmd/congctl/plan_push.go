package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/congctl/congctl/internal/linux/plainfile"
	"github.com/congctl/congctl/internal/loop/control"
	"github.com/congctl/congctl/internal/loop/plan"
	"github.com/congctl/congctl/internal/tcp/record"
)

func newPlanPush(g *global) *cobra.Command {
	yes := false
	cmd := &cobra.Command{
		Use:   "push FILE",
		Short: "Put the networks of a plan file in force, under a new serial, and freeze the plan",
		Long: `push shows what a plan file would change in the plan in force, asks, and has the running
congctl or the controller sign its networks anew and put them in force; to the hosts of
a PoP they go stage by stage. The plan is frozen: the next round would undo it.`,
		Example: "  congctl plan push reviewed.txt --pop chi\n  sudo congctl plan push reviewed.txt --yes",
		RunE: func(cmd *cobra.Command, args []string) error {
			text, err := plainfile.Read(args[0], plan.MaxFileBytes)
			if err != nil {
				return usage(fmt.Errorf("read plan: %w", err))
			}
			return g.push(cmd, args[0], string(text), yes)
		},
	}
	cmd.Flags().BoolVar(&yes, "yes", false, "do not ask")
	return cmd
}

// push refers to the plan that the person saw: if another has come meanwhile, nothing is pushed.
func (g *global) push(cmd *cobra.Command, name, text string, yes bool) error {
	cfg, err := g.config()
	if err != nil {
		return err
	}
	c := g.client(cfg)
	d, err := c.Compare(cmd.Context(), text)
	if err != nil {
		return needsRunning(err)
	}
	fmt.Fprint(cmd.ErrOrStderr(), d.Text())
	again := g.here("congctl plan push " + name + " --yes")
	switch to := "this host"; {
	case yes:
	case !asks(cmd):
		return &coded{exitRefused, again, errors.New("not confirmed, as standard input is no terminal; nothing was changed")}
	default:
		if g.pop != "" {
			to = g.pop
		}
		if !confirmed(cmd, "Push to "+to+"?") {
			return &coded{exitRefused, again, errors.New("not confirmed; nothing was changed")}
		}
	}
	if err := c.Push(cmd.Context(), text, d.From, ""); err != nil {
		return needsRunning(err)
	}
	return g.tell(cmd, Done{Done: "push", Text: "the networks of " + name + " are the next plan, and the plan stays as it is", Running: true, Undo: "congctl plan unfreeze"})
}

func newPlanAbort(g *global) *cobra.Command {
	return &cobra.Command{
		Use:     "abort",
		Short:   "Take the plan back that is on its way to the hosts of a PoP, and freeze the plan",
		Example: "  congctl plan abort --pop chi",
		RunE: func(cmd *cobra.Command, _ []string) error {
			return g.actLive(cmd, Done{Done: "abort", Text: "the hosts get the plan before it, and the plan stays as it is"}, (*control.Client).Abort)
		},
	}
}

func newPlanRollback(g *global) *cobra.Command {
	return &cobra.Command{
		Use:   "rollback SERIAL",
		Short: "Put the content of an earlier plan in force, under a new serial, and freeze it",
		Long: `rollback signs the networks of an earlier plan anew, puts that in force and freezes it:
the next round would bring back what is rolled back. It needs a running congctl.`,
		Example: "  sudo congctl plan rollback 16",
		RunE: func(cmd *cobra.Command, args []string) error {
			serial, err := serialOf(args)
			if err != nil {
				return err
			}
			done := Done{Done: "rollback", Text: fmt.Sprintf("the networks of plan %d are in force, and the plan stays as it is", serial)}
			if g.pop != "" {
				done.Text = fmt.Sprintf("the networks of plan %d are the next plan, and the plan stays as it is", serial)
			}
			return g.actLive(cmd, done, rollBackTo(serial))
		},
	}
}

func rollBackTo(serial record.PlanID) func(*control.Client, context.Context, string) error {
	return func(c *control.Client, ctx context.Context, by string) error { return c.RollBack(ctx, serial, by) }
}

// actLive is for what only a running congctl can do, and what an unfreeze undoes.
func (g *global) actLive(cmd *cobra.Command, done Done, live func(*control.Client, context.Context, string) error) error {
	cfg, err := g.config()
	if err != nil {
		return err
	}
	if err := live(g.client(cfg), cmd.Context(), ""); err != nil {
		return needsRunning(err)
	}
	done.Running, done.Undo = true, "congctl plan unfreeze"
	return g.tell(cmd, done)
}

func needsRunning(err error) error {
	if errors.Is(err, control.ErrNotRunning) {
		return failed("sudo congctl up", err)
	}
	return err
}

// asks reports whether a person types.
func asks(cmd *cobra.Command) bool {
	f, ok := cmd.InOrStdin().(*os.File)
	return ok && isTerminal(f)
}

// confirmed asks at the terminal.
func confirmed(cmd *cobra.Command, question string) bool {
	fmt.Fprintf(cmd.ErrOrStderr(), "%s [y/N] ", question)
	answer, _ := bufio.NewReader(io.LimitReader(cmd.InOrStdin(), 16)).ReadString('\n')
	answer = strings.ToLower(strings.TrimSpace(answer))
	return answer == "y" || answer == "yes"
}
