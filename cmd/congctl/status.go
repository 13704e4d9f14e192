package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/congctl/congctl/internal/loop/agent"
	"github.com/congctl/congctl/internal/loop/config"
	"github.com/congctl/congctl/internal/loop/control"
)

func newStatus(g *global) *cobra.Command {
	var wait time.Duration
	var alive bool
	cmd := &cobra.Command{
		Use:   "status",
		Short: "Show whether congctl runs, what it can do here, what it lost, and its alarms",
		Long: `status asks the running congctl, or shows what is in the store.

Exit codes, as with systemctl status: 0 running, no alarm; 1 running with alarms,
or without an answer; 2 wrong usage or configuration; 3 not running. With --alive, for
a probe that restarts what hangs, alarms do not count: 0 while the process does its work.`,
		Example: "  congctl status\n  congctl status --wait 30s\n  congctl status --alive",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if wait < 0 {
				return usage(fmt.Errorf("--wait %s: use a time above zero, such as 30s", wait))
			}
			if alive && (wait > 0 || g.pop != "") {
				return usage(errors.New("--alive asks this host once: use it without --wait and --pop"))
			}
			cfg, err := g.config()
			if err != nil {
				return err
			}
			if alive {
				return g.alive(cmd, cfg)
			}
			return g.status(cmd, cfg, wait)
		},
	}
	cmd.Flags().DurationVar(&wait, "wait", 0, "wait up to this long for a congctl that answers and has polled the sockets once")
	cmd.Flags().BoolVar(&alive, "alive", false, "print nothing, and exit with 0 while the process does its work, as /healthz says")
	return cmd
}

// alive asks on the socket, which others than its group cannot flood.
func (g *global) alive(cmd *cobra.Command, cfg config.Config) error {
	err := g.client(cfg).Alive(cmd.Context())
	switch {
	case errors.Is(err, control.ErrNotRunning):
		return &coded{exitDown, "sudo congctl up", err}
	case err != nil:
		return failed("", err)
	}
	return nil
}

func (g *global) status(cmd *cobra.Command, cfg config.Config, wait time.Duration) error {
	s, err := g.awaitStatus(cmd.Context(), cfg, wait)
	if errors.Is(err, control.ErrNotRunning) {
		return g.statusDown(cmd, cfg, wait)
	} else if err != nil {
		return err
	}
	if err := g.printStatus(cmd, s); err != nil {
		return err
	}
	switch n := len(s.Agent.Alarms); {
	case n > 0:
		return failed("congctl events", fmt.Errorf("alarms: %d", n))
	case wait > 0 && s.Agent.Polls == 0:
		return failed("", fmt.Errorf("running, and within %s it has not polled the sockets", wait))
	}
	return nil
}

// statusDown shows what is left of a congctl that does not run.
func (g *global) statusDown(cmd *cobra.Command, cfg config.Config, wait time.Duration) error {
	err := withStored(cmd.Context(), cfg, func(v control.View) error {
		s, err := v.Status(cmd.Context())
		if err != nil {
			return err
		}
		return g.printStatus(cmd, s)
	})
	down := "no congctl is running here"
	if wait > 0 {
		down = fmt.Sprintf("no congctl was running here within %s", wait)
	}
	var none *coded
	switch {
	case err == nil, wait > 0 && errors.As(err, &none):
		return &coded{exitDown, "sudo congctl up", errors.New(down)}
	case errors.As(err, &none): // no store: it says both, with this code
		return err
	}
	return &coded{exitDown, "", fmt.Errorf("%s; %w", down, err)}
}

func (g *global) printStatus(cmd *cobra.Command, s control.Status) error {
	return g.print(cmd, s, func(w io.Writer) error { return control.WriteStatus(w, s) })
}

const waitEvery = 100 * time.Millisecond // between two looks at a socket

// awaitStatus asks until a congctl answers that has polled, or wait is over; then it
// returns what came last. A question that the end of wait cuts short says less than an answer before it.
func (g *global) awaitStatus(ctx context.Context, cfg config.Config, wait time.Duration) (control.Status, error) {
	until := time.Now().Add(wait)
	c := g.client(cfg)
	var answer *control.Status
	for {
		if left := time.Until(until); wait > 0 {
			c.Timeout = max(min(g.timeout, left), waitEvery)
		}
		s, err := c.Status(ctx)
		if s.Agent == nil { // of an error, or of another version
			s.Agent = &agent.Status{}
		}
		var silent *control.NoAnswer
		if err == nil {
			answer = &s
		}
		ready := err == nil && s.Agent.Polls > 0
		later := err == nil || errors.As(err, &silent) || errors.Is(err, control.ErrNotRunning)
		if ready || !later || !time.Now().Add(waitEvery).Before(until) {
			if answer != nil && errors.As(err, &silent) && c.Timeout < g.timeout {
				return *answer, nil
			}
			return s, err
		}
		select {
		case <-ctx.Done():
			return s, err
		case <-time.After(waitEvery):
		}
	}
}
