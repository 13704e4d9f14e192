package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/congctl/congctl/scenarios"
)

// addCompletion adds cobra's own verb, with an example for each shell.
func addCompletion(root *cobra.Command) {
	root.SetCompletionCommandGroupID("program")
	root.InitDefaultCompletionCmd()
	completion, _, err := root.Find([]string{"completion"})
	if err != nil {
		panic(err) // it was added a line above
	}
	completion.Short = "Print a script that completes verbs, flags and values in a shell"
	for _, shell := range completion.Commands() {
		shell.Example = "  congctl completion " + shell.Name()
	}
	refuseMistakes(completion)
}

// addHelp adds cobra's own verb, which succeeds for a verb that does not exist.
func addHelp(root *cobra.Command) {
	root.SetHelpCommandGroupID("program")
	root.InitDefaultHelpCmd()
	help, _, err := root.Find([]string{"help"})
	if err != nil {
		panic(err) // it was added a line above
	}
	help.Use, help.Short, help.Long = "help [VERB]", "Print the help of a verb", ""
	help.Example = "  congctl help plan diff"
	help.Args = func(_ *cobra.Command, args []string) error {
		_, rest, err := root.Find(args)
		if err == nil && len(rest) > 0 {
			err = fmt.Errorf("no such verb: %q", strings.Join(args, " "))
		}
		if err != nil {
			return &coded{exitUsage, "congctl --help", err}
		}
		return nil
	}
}

// shippedOr completes an argument with what comes with congctl, or with a file.
func shippedOr(files scenarios.Shelf) cobra.CompletionFunc {
	return cobra.FixedCompletions(files.Names(), cobra.ShellCompDirectiveDefault)
}
