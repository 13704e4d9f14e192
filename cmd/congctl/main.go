// Command congctl watches every TCP connection of a Linux edge, finds the client
// networks that the default congestion control fails, and moves only those to
// another one.
//
// This package holds flags, wiring and exit codes, one file per verb. It decides
// nothing.
//
// Its trap: only this package may import kernel packages, stores and loops together, so
// anything that needs two of them ends up here. Logic that grows here belongs in a
// capability.
package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/spf13/cobra"

	"github.com/congctl/congctl/internal/answer"
	"github.com/congctl/congctl/internal/linux/instance"
	"github.com/congctl/congctl/internal/loop/control"
)

// Exit codes, the same for every verb.
const (
	exitOK       = 0
	exitFailed   = 1 // the verb could not do its work
	exitUsage    = 2 // the command line or the configuration is wrong
	exitNotFound = 3 // what was requested does not exist: a prefix never seen, no plan yet
	exitDown     = 3 // status: no congctl runs here, as systemctl has it
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

// codedOf adds to an error of no verb's own the exit code and the next command.
func codedOf(err error) *coded {
	var c *coded
	var silent *control.NoAnswer
	var said *control.Error
	switch {
	case errors.As(err, &c):
		return &coded{c.code, c.hint, err}
	case errors.As(err, &silent):
		return unanswered(err, silent.PID)
	case errors.As(err, &said):
		codes := map[control.Code]int{control.NotFound: exitNotFound, control.BadRequest: exitUsage, control.Refused: exitRefused}
		return &coded{cmp.Or(codes[said.Code], exitFailed), said.Hint, err}
	case errors.Is(err, instance.ErrRunning):
		return &coded{exitFailed, "again in a moment", err}
	}
	return &coded{exitFailed, "", err}
}

// unanswered adds to a missing answer what the kernel knows of the process.
func unanswered(err error, pid int) *coded {
	hint := "the same again with a longer --timeout"
	if state := instance.State(pid); state != "" {
		err = fmt.Errorf("%w; the process is %s", err, state)
		hint = "sudo congctl stop --force, which ends it"
		if state == instance.BySignal {
			hint = fmt.Sprintf("sudo kill -CONT %d, which lets it go on, or %s", pid, hint)
		}
	}
	return &coded{exitFailed, hint, err}
}

// version and commit are set by the Makefile; versionInfo knows them without it, too.
var version, commit = "devel", ""

func main() {
	asGuest()
	os.Exit(run(os.Args[1:], os.Stdout, os.Stderr))
}

func run(args []string, stdout, stderr io.Writer) int {
	out, errs := answer.NewPrintable(stdout), answer.NewPrintable(stderr)
	defer func() { _ = errors.Join(out.Flush(), errs.Flush()) }() // as every write to a closed terminal
	root := newRoot()
	root.SetArgs(args)
	root.SetOut(out)
	root.SetErr(errs)
	addCompletion(root) // it keeps the output that is set by now
	addHelp(root)
	verb, _, _ := root.Find(args) // which says again what is wrong
	ctx, done := signalled(nameOf(verb))
	defer done()
	err := root.ExecuteContext(ctx)
	if err == nil {
		return exitOK
	}
	c := codedOf(err)
	fmt.Fprintln(errs, "congctl:", c.err)
	if c.hint != "" {
		fmt.Fprintln(errs, "try:", c.hint)
	}
	return c.code
}

func newRoot() *cobra.Command {
	g := &global{}
	root := &cobra.Command{
		Use:   "congctl",
		Short: "Move client networks that the default congestion control fails to a better one",
		Long: `congctl measures every TCP connection of this host, finds the client networks
(/24, /56) whose connections are consistently among the slowest, moves just
those to another congestion control, and says why.

Exit codes: 0 done; 1 failed; 2 wrong usage or configuration; 3 not found;
4 checked and refused.`,
		Version:           version,
		SilenceUsage:      true,
		SilenceErrors:     true,
		PersistentPreRunE: func(*cobra.Command, []string) error { return g.valid() },
	}
	pathVar(root.PersistentFlags(), &g.configPath, "config", "c", "", "configuration file (default "+defaultConfig+" where it exists)")
	root.PersistentFlags().StringVarP(&g.output, "output", "o", "table", "table, json or jsonl (docs/format/json.md)")
	complete(root, "output", answer.Formats)
	root.PersistentFlags().DurationVar(&g.timeout, "timeout", control.DefaultTimeout, "how long a running congctl may take to answer a request")
	root.SetFlagErrorFunc(flagError)
	root.SetUsageFunc(writeUsage)
	cobra.EnableCommandSorting = false
	for _, group := range verbs {
		if len(group.verbs) == 0 {
			continue
		}
		root.AddGroup(&cobra.Group{ID: group.id, Title: group.title})
		for _, add := range group.verbs {
			verb := add(g)
			verb.GroupID = group.id
			root.AddCommand(verb)
		}
	}
	for _, path := range askers {
		cmd, _, _ := root.Find(path)
		ofFleet(g, cmd)
	}
	refuseMistakes(root)
	return root
}

// askers are the verbs that ask a congctl, and so can ask a fleet's controller.
var askers = [][]string{{"status"}, {"stop"}, {"resume"}, {"prefixes"}, {"explain"}, {"rounds"}, {"events"}, {"effect"}, {"fleet", "status"},
	{"plan", "show"}, {"plan", "diff"}, {"plan", "history"}, {"plan", "push"}, {"plan", "rollback"}, {"plan", "abort"}, {"plan", "freeze"}, {"plan", "unfreeze"}, {"plan", "key"}}

type newVerb = func(*global) *cobra.Command

// verbs are the constructors of all verbs by purpose, in the order that help lists them.
var verbs = []struct {
	id, title string
	verbs     []newVerb
}{
	{"loop", "The loop on this host:", slices.Concat([]newVerb{newUp, newStatus}, screenVerbs, []newVerb{
		newStop, newResume, newPrefixes, newExplain, newRounds, newEvents, newEffect, newPlan, newSockets, newRecords, newConfig,
	})},
	{"fleet", "A fleet of hosts:", fleetVerbs},
	{"host", "The host:", []newVerb{newHost, newShape, newChange}},
	{"lab", "The laboratory:", labVerbs},
	{"program", "This program:", []newVerb{newVersion}},
}
