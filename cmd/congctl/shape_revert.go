package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"github.com/congctl/congctl/internal/kernel/shape"
)

// newShapeRevert is what shape set leaves behind when a limit has to be confirmed.
func newShapeRevert(g *global) *cobra.Command {
	var root, id string
	var after time.Duration
	cmd := &cobra.Command{
		Use:    "revert IFACE",
		Short:  "Wait, and take a limit back that nobody has confirmed",
		Args:   cobra.ExactArgs(1),
		Hidden: true,
		RunE: func(cmd *cobra.Command, args []string) error {
			h, err := shapeHost(g, root)
			if err != nil {
				return err
			}
			return revertUnless(h, args[0], id, after, func() { fmt.Fprint(cmd.OutOrStdout(), childReady) })
		},
	}
	cmd.Flags().StringVar(&id, "id", "", "of the change")
	cmd.Flags().DurationVar(&after, "after", 0, "how long to wait")
	hiddenRoot(cmd, &root)
	return cmd
}

// revertUnless waits; whoever ends it before its time has the limit taken back at once,
// since nobody would do it later. ready is called once that is so.
func revertUnless(h *shape.Host, link, id string, after time.Duration, ready func()) error {
	ended := make(chan os.Signal, 1)
	signal.Notify(ended, unix.SIGTERM, unix.SIGINT, unix.SIGHUP)
	defer signal.Stop(ended)
	ready()
	waited := make(chan error, 1)
	go func() { waited <- h.RevertUnless(link, id, after) }()
	select {
	case err := <-waited:
		return err
	case <-ended:
		return errors.Join(h.RevertUnless(link, id, 0), <-waited)
	}
}

// childReady is what the child says once it waits.
const childReady = "waits\n"

// startChild starts the process that takes the limit back, and waits until it waits.
func (f shapeFlags) startChild(g *global, r shape.Request, id string) error {
	words := []string{r.Program, "shape", "revert", r.Link, "--id", id, "--after", f.within.String(), "--root", f.root}
	if g.configPath != "" {
		words = append(words, "--config", g.configPath)
	}
	if scoped := inScope(f.root, words); scoped != nil && startWaiting(scoped) == nil {
		return nil
	}
	return startWaiting(words)
}

// inScope puts a command into a scope of systemd's of its own, nil where there is none:
// logind may end all that is in a session's scope with the session (KillUserProcesses).
// A service would outlive it, too, but in the first network namespace.
func inScope(root string, words []string) []string {
	if _, err := os.Stat(filepath.Join(root, "/run/systemd/system")); err != nil {
		return nil
	}
	run, err := exec.LookPath("systemd-run")
	if err != nil {
		return nil
	}
	return append([]string{run, "--scope", "--quiet", "--description=congctl shape revert", "--"}, words...)
}

// startWaiting starts a child in a session of its own, so that a hang-up does not end it.
func startWaiting(words []string) error {
	child := exec.Command(words[0], words[1:]...)
	child.SysProcAttr = &unix.SysProcAttr{Setsid: true}
	out, err := child.StdoutPipe()
	if err != nil {
		return err
	}
	if err := child.Start(); err != nil {
		return err
	}
	ready := make([]byte, len(childReady))
	if _, err := io.ReadFull(out, ready); err != nil || string(ready) != childReady {
		return errors.Join(errors.New("it ended before it waited"), child.Wait())
	}
	return child.Process.Release()
}
