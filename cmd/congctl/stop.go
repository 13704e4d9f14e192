package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"github.com/spf13/cobra"

	"github.com/congctl/congctl/internal/linux/instance"
	"github.com/congctl/congctl/internal/loop/config"
	"github.com/congctl/congctl/internal/loop/control"
	"github.com/congctl/congctl/internal/loop/controller"
)

func newStop(g *global) *cobra.Command {
	var evict, force bool
	cmd := &cobra.Command{
		Use:   "stop",
		Short: "Kill switch: no new treatment from the next callback on, until resume",
		Long: `stop is immediate, survives a restart, and works when nothing runs: the next
start then treats no connection. Connections already treated stay so until they
end; --evict moves them back, which costs them a new search for their rate.

A congctl that does not answer within --timeout has not stopped, and this request
will not stop it later. --force ends its process with SIGKILL: the kernel removes
the program and its maps with it. The stop is recorded for the next start.`,
		Example: "  sudo congctl stop\n  sudo congctl stop --evict\n  sudo congctl stop --force",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if evict && force {
				return usage(errors.New("--evict needs the process that --force ends: use one of the two"))
			}
			if force && g.pop != "" {
				return usage(errors.New("--force ends a process of this host: leave out --pop"))
			}
			cfg, whole, err := g.partConfig(cmd.ErrOrStderr())
			if err != nil {
				return err
			}
			s := stopper{g, cfg, whole}
			if force {
				return s.byForce(cmd)
			}
			return s.stop(cmd, evict)
		},
	}
	cmd.Flags().BoolVar(&evict, "evict", false, "also move treated connections back to the default")
	cmd.Flags().BoolVar(&force, "force", false, "end the process with SIGKILL, whether it answers or not")
	return cmd
}

// stopper is a stop of the congctl that cfg names.
type stopper struct {
	*global
	cfg   config.Config
	whole bool // cfg has no fault, so it surely names the congctl that is meant
}

func (g stopper) stop(cmd *cobra.Command, evict bool) error {
	running, err := g.carryStop(cmd.Context(), evict)
	var silent *control.NoAnswer
	what := noneTreated
	switch {
	case errors.As(err, &silent) && g.pop != "":
		return failed("the same again: a stop may be repeated", fmt.Errorf("%w; agents treat by their plan until they are stopped, or it expires", err))
	case errors.As(err, &silent):
		return failed("sudo congctl stop --force", fmt.Errorf("%w; %s", unanswered(err, silent.PID), goesOn(g.cfg, silent.Taken)))
	case errors.Is(err, instance.ErrRunning):
		return failed("again in a moment, or sudo congctl stop --force", err)
	case err != nil:
		return err
	case !running && !g.whole:
		return failed("correct the configuration, then congctl stop", fmt.Errorf("no process listens on %s; the stop is recorded in %s, "+
			"but a congctl with another socket or state_dir goes on treating", g.cfg.Socket, g.cfg.StateDir))
	case !running && evict:
		return failed("", errors.New("no congctl is running here, so no connection was moved back; the stop is recorded: "+what+nothingRuns))
	case !running:
		what += nothingRuns
	case evict:
		what += "; connections that this run treated were moved back (congctl events says how many)"
	}
	return g.tell(cmd, Done{Done: "stop", Text: what, Running: running, Undo: "congctl resume"})
}

func (g stopper) carryStop(ctx context.Context, evict bool) (running bool, err error) {
	return g.carryOut(ctx, g.cfg, func(c *control.Client) error { return c.Stop(ctx, evict, "") }, controller.Stopped)
}

// goesOn says until when a process that does not answer treats. What is in the
// kernel ends by itself: the expiry may have been renewed just now, and no later. One
// that took the request may have stopped.
func goesOn(cfg config.Config, taken bool) string {
	goes := "goes on"
	if taken {
		goes = "may go on"
	}
	return fmt.Sprintf("treatment %s, and ends at %s at the latest unless the process renews it",
		goes, time.Now().Add(cfg.Treatment.Expiry).UTC().Format("15:04:05Z"))
}

const noneTreated = "no new connection is treated from now on"

const (
	// endWithin: SIGKILL takes a process within milliseconds, unless the kernel itself is busy with it.
	endWithin = 5 * time.Second
	// settleWithin: a service manager may start the next congctl at once, which then
	// has the lock before it answers.
	settleWithin = 10 * time.Second
	settleEvery  = 50 * time.Millisecond
)

func (g stopper) byForce(cmd *cobra.Command) error {
	h, err := instance.Find(g.cfg.StateDir)
	if errors.Is(err, instance.ErrFree) {
		return g.unheld(cmd)
	} else if err != nil {
		return forRoot(err)
	}
	if err = errors.Join(h.Kill(endWithin), h.Close()); errors.Is(err, fs.ErrPermission) {
		return forRoot(err)
	} else if err != nil {
		return failed("sudo congctl stop --force, again once the process has gone", fmt.Errorf("%w; the stop is not recorded", err))
	}
	again, err := g.record(cmd.Context())
	var silent *control.NoAnswer
	switch {
	case errors.Is(err, instance.ErrRunning), errors.As(err, &silent):
		return failed("congctl stop", fmt.Errorf("congctl (pid %d) was ended; another congctl was started and has not taken the stop: treatment may go on: %w", h.PID, err))
	case err != nil:
		return fmt.Errorf("congctl (pid %d) was ended: %s, but the next start will not know of the stop: %w", h.PID, noneTreated, err)
	}
	what := fmt.Sprintf("congctl (pid %d) was ended, and the stop is recorded for the next start: %s", h.PID, noneTreated)
	if again {
		what = fmt.Sprintf("congctl (pid %d) was ended; another was started meanwhile: it treats no new connection either", h.PID)
	}
	return g.tell(cmd, Done{Done: "stop", Text: what, Running: again, Undo: "congctl resume"})
}

// unheld is for a state directory whose lock no process here holds: there is
// none to end, or it is out of sight.
func (g stopper) unheld(cmd *cobra.Command) error {
	err := g.stop(cmd, false)
	var silent *control.NoAnswer
	if !errors.As(err, &silent) && !errors.Is(err, instance.ErrRunning) {
		return err
	}
	return failed("the same where it runs: in its container, or with its state_dir",
		fmt.Errorf("%w; no process that is seen from here holds the lock of %s, so none was ended", err, g.cfg.StateDir))
}

func forRoot(err error) error {
	if errors.Is(err, fs.ErrPermission) {
		return failed("use sudo", err)
	}
	return err
}

// record keeps the stop in the store, or tells it to the next congctl that was
// started meanwhile, whoever comes first to the lock.
func (g stopper) record(ctx context.Context) (running bool, err error) {
	for until := time.Now().Add(settleWithin); ; {
		running, err = g.carryStop(ctx, false)
		if !errors.Is(err, instance.ErrRunning) || time.Now().After(until) {
			return running, err
		}
		select {
		case <-ctx.Done():
			return running, err
		case <-time.After(settleEvery):
		}
	}
}
