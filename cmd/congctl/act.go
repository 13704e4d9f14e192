package main

import (
	"context"
	"errors"
	"fmt"
	"os/user"
	"time"

	"github.com/spf13/cobra"

	"github.com/congctl/congctl/internal/linux/instance"
	"github.com/congctl/congctl/internal/loop/config"
	"github.com/congctl/congctl/internal/loop/control"
	"github.com/congctl/congctl/internal/loop/controller"
	"github.com/congctl/congctl/internal/loop/store/sqlite"
)

func newResume(g *global) *cobra.Command {
	return g.act(&cobra.Command{
		Use:     "resume",
		Short:   "Undo stop: the plan is in force again",
		Example: "  sudo congctl resume",
	}, "the plan is in force again", "congctl stop", (*control.Client).Resume, controller.Resumed)
}

// act makes a verb that asks the running congctl, or writes the store when none runs, and
// prints the new state and how to undo it.
func (g *global) act(cmd *cobra.Command, what, undo string, live func(*control.Client, context.Context, string) error, stored controller.Flag) *cobra.Command {
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		cfg, err := g.config()
		if err != nil {
			return err
		}
		running, err := g.carryOut(cmd.Context(), cfg, func(c *control.Client) error { return live(c, cmd.Context(), "") }, stored)
		if err != nil {
			return err
		}
		text := what
		if !running {
			text += nothingRuns
		}
		return g.tell(cmd, Done{Done: cmd.Name(), Text: text, Running: running, Undo: undo})
	}
	return cmd
}

const nothingRuns = " (not running: applies from the next start)"

// carryOut reports whether a running congctl did it.
func (g *global) carryOut(ctx context.Context, cfg config.Config, live func(*control.Client) error, stored controller.Flag) (running bool, err error) {
	if err = live(g.client(cfg)); errors.Is(err, control.ErrNotRunning) {
		return false, keep(ctx, cfg, stored)
	}
	return true, err
}

// Done is the answer of stop, resume, plan freeze, plan unfreeze, plan push, plan rollback and plan abort.
type Done struct {
	Done    string `json:"done"`    // the verb: stop, resume, freeze, unfreeze, push, rollback, abort
	Text    string `json:"text"`    // what holds now
	Running bool   `json:"running"` // false: nothing runs, and it holds from the next start on
	Undo    string `json:"undo"`    // the command that takes it back
}

func (g *global) tell(cmd *cobra.Command, d Done) error {
	d.Undo = g.here(d.Undo)
	return g.printText(cmd, d, d.Text+"; undo: "+d.Undo+"\n")
}

// here adds to a command where this one acted.
func (g *global) here(command string) string {
	if g.pop == "" {
		return command
	}
	return command + " --pop " + g.pop
}

// keep writes the store when no loop runs. It takes the loop's lock: a loop that starts
// meanwhile would not see what is written.
func keep(ctx context.Context, cfg config.Config, f controller.Flag) (err error) {
	l, err := lockState(cfg)
	if errors.Is(err, instance.ErrRunning) {
		return fmt.Errorf("%w, and no process listens on %s", err, cfg.Socket)
	} else if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, l.Release()) }()
	// up checks the whole file at its start; here that would keep the lock for seconds per GB.
	s, err := openStore(ctx, cfg, sqlite.Options{CreatedBy: "congctl " + version, At: time.Now(), SkipCheck: true})
	if err != nil {
		return err
	}
	by := "an operator"
	if u, err := user.Current(); err == nil {
		by = u.Username
	}
	by += ", while nothing ran"
	now := time.Now()
	commit := f.By(by, now)
	commit.Events = append(commit.Events, controller.Audited(control.Act{By: by, Name: commit.Events[0].Kind}, now))
	return errors.Join(s.CommitRound(ctx, commit), s.Close())
}
