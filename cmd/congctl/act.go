package main

import (
	"context"
	"errors"
	"fmt"
	"os/user"
	"time"

	"github.com/spf13/cobra"

	"github.com/congctl/congctl/internal/app/config"
	"github.com/congctl/congctl/internal/app/control"
	"github.com/congctl/congctl/internal/core/journal"
	"github.com/congctl/congctl/internal/data/sqlite"
	"github.com/congctl/congctl/internal/kernel/instance"
)

func newStop(g *global) *cobra.Command {
	var evict bool
	cmd := &cobra.Command{
		Use:   "stop",
		Short: "Kill switch: no new treatment from the next callback on, until resume",
		Long: `stop is immediate, survives a restart, and works when nothing runs: the next
start then treats nobody. Connections that are treated already stay so until they
end; --evict moves them back, which costs them a new search for their rate.`,
		Example: "  sudo congctl stop\n  sudo congctl stop --evict",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			what := "no new connection is treated from now on"
			if evict {
				what += "; connections that this run treated were moved back (congctl events says how many)"
			}
			return g.act(cmd, what, "congctl resume",
				func(c *control.Client) error { return c.Stop(cmd.Context(), evict, "") },
				func(s *sqlite.Store) error {
					if evict {
						return failed("sudo congctl up", errors.New("nothing runs here, so nothing can be moved back"))
					}
					return keepFlag(cmd.Context(), s, journal.SettingKilled, true, "stop", "no new treatment, by ")
				})
		},
	}
	cmd.Flags().BoolVar(&evict, "evict", false, "also move treated connections back to the default")
	return cmd
}

func newResume(g *global) *cobra.Command {
	return &cobra.Command{
		Use:     "resume",
		Short:   "Undo stop: the plan is in force again",
		Example: "  sudo congctl resume",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return g.act(cmd, "the plan is in force again", "congctl stop",
				func(c *control.Client) error { return c.Resume(cmd.Context(), "") },
				func(s *sqlite.Store) error {
					return keepFlag(cmd.Context(), s, journal.SettingKilled, false, "resume", "treatment resumed by ")
				})
		},
	}
}

// act asks the running congctl, or writes the store when none runs, and says what
// is so now and how to undo it.
func (g *global) act(cmd *cobra.Command, what, undo string, live func(*control.Client) error, stored func(*sqlite.Store) error) error {
	cfg, err := g.config()
	if err != nil {
		return err
	}
	client := control.NewClient(cfg.Socket)
	defer client.Close()
	err = live(client)
	if errors.Is(err, control.ErrNotRunning) {
		err = withStore(cmd.Context(), cfg, stored)
		what += " (nothing runs: it holds from the next start on)"
	}
	if err != nil {
		return explained(err)
	}
	fmt.Fprintf(cmd.OutOrStdout(), "%s; undo: %s\n", what, undo)
	return nil
}

// withStore writes the store of a loop that does not run. It takes the loop's lock:
// what is written while one starts would not be seen by it.
func withStore(ctx context.Context, cfg config.Config, fn func(*sqlite.Store) error) (err error) {
	l, err := instance.Acquire(cfg.StateDir)
	if errors.Is(err, instance.ErrRunning) {
		return failed("the same again in a moment", fmt.Errorf("%w, and does not answer on %s yet", err, cfg.Socket))
	} else if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, l.Release()) }()
	s, err := sqlite.Open(ctx, storePath(cfg), sqlite.Options{CreatedBy: "congctl " + version, At: time.Now()})
	if err != nil {
		return err
	}
	return errors.Join(fn(s), s.Close())
}

func keepFlag(ctx context.Context, s *sqlite.Store, key string, on bool, kind, text string) error {
	value := []byte("0")
	if on {
		value = []byte("1")
	}
	who := "an operator"
	if u, err := user.Current(); err == nil {
		who = u.Username
	}
	return s.CommitRound(ctx, &journal.Commit{
		Settings: map[string][]byte{key: value},
		Events:   []journal.Event{{At: time.Now().Unix(), Kind: kind, Text: text + who + ", while nothing ran"}},
	})
}
