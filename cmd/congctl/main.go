// Command congctl watches every TCP connection of a Linux edge, finds the client
// networks that the default congestion control is failing, and moves just those
// to another one.
//
// This package holds flags, wiring and exit codes, one file per verb. It decides
// nothing.
//
// Its trap: it is the only place that may import kernel, data and app together,
// so anything that needs two of them ends up here; what grows logic here belongs
// into one of the rooms.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"github.com/congctl/congctl/internal/kernel/guest"
)

// Exit codes, the same for every verb.
const (
	exitOK       = 0
	exitFailed   = 1 // the verb could not do its work
	exitUsage    = 2 // the command line or the configuration is wrong
	exitNotFound = 3 // what was asked for does not exist: a prefix never seen, no plan yet
	exitRefused  = 4 // a plan or a change was examined and refused
)

// coded is an error with an exit code and, where there is one, the next command.
type coded struct {
	code int
	hint string
	err  error
}

func (c *coded) Error() string { return c.err.Error() }
func (c *coded) Unwrap() error { return c.err }

func usage(err error) error               { return &coded{code: exitUsage, err: err} }
func notFound(hint string, e error) error { return &coded{exitNotFound, hint, e} }
func failed(hint string, e error) error   { return &coded{exitFailed, hint, e} }

// version is set by the Makefile.
var version = "devel"

func main() {
	if guest.IsGuest() { // of a machine that `lab run` started
		guest.Main(runGuestJob)
	}
	os.Exit(run(os.Args[1:], os.Stdout, os.Stderr))
}

func run(args []string, stdout, stderr io.Writer) int {
	ctx, stop := signal.NotifyContext(context.Background(), unix.SIGINT, unix.SIGTERM)
	defer stop()
	root := newRoot()
	root.SetArgs(args)
	root.SetOut(stdout)
	root.SetErr(stderr)
	err := root.ExecuteContext(ctx)
	if err == nil {
		return exitOK
	}
	fmt.Fprintln(stderr, "congctl:", err)
	var c *coded
	if !errors.As(err, &c) {
		return exitFailed
	}
	if c.hint != "" {
		fmt.Fprintln(stderr, "try:", c.hint)
	}
	return c.code
}

func newRoot() *cobra.Command {
	g := &global{}
	root := &cobra.Command{
		Use:   "congctl",
		Short: "Move the client networks that the default congestion control fails to a better one",
		Long: `congctl measures every TCP connection of this host, finds the client networks
(/24, /56) whose connections are consistently among the slowest, moves just
those to another congestion control, and can say why.

Exit codes: 0 done; 1 could not; 2 wrong usage or configuration; 3 not found;
4 examined and refused.`,
		Version:       version,
		SilenceUsage:  true,
		SilenceErrors: true,
		PersistentPreRunE: func(*cobra.Command, []string) error {
			_, err := g.json() // before a verb asks anybody
			return err
		},
	}
	root.PersistentFlags().StringVarP(&g.configPath, "config", "c", "", "configuration file (default "+defaultConfig+" where it exists)")
	root.PersistentFlags().StringVarP(&g.output, "output", "o", "table", "table or json")
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return usage(err) })
	for _, add := range verbs {
		root.AddCommand(add(g))
	}
	strict(root)
	return root
}

// verbs are the constructors of all verbs, in the order that help lists them.
var verbs = []func(*global) *cobra.Command{
	newUp, newSockets, newPrefixes, newExplain, newRounds, newEffect, newEvents, newPlan, newStop, newResume, newStatus, newRecords, newConfig, newLab,
	newSimulate, newHost, newShape,
}
