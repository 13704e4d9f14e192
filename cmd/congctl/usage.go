package main

import (
	"fmt"

	"github.com/spf13/cobra"
)

// strict makes every mistake on the command line of cmd and its verbs end with
// the exit code for it. Cobra itself prints help and reports success when a verb
// that only groups others is given one that it does not have.
func strict(cmd *cobra.Command) {
	if cmd.HasSubCommands() {
		cmd.Args = oneOfVerbs
		cmd.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
	} else if validate := cmd.Args; validate != nil {
		cmd.Args = func(cmd *cobra.Command, args []string) error {
			if err := validate(cmd, args); err != nil {
				return &coded{exitUsage, cmd.CommandPath() + " --help", err}
			}
			return nil
		}
	}
	for _, verb := range cmd.Commands() {
		strict(verb)
	}
}

func oneOfVerbs(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	if cmd.SuggestionsMinimumDistance == 0 {
		cmd.SuggestionsMinimumDistance = 2 // letters, as cobra has it
	}
	hint := cmd.CommandPath() + " --help"
	if near := cmd.SuggestionsFor(args[0]); len(near) > 0 {
		hint = cmd.CommandPath() + " " + near[0]
	}
	return &coded{exitUsage, hint, fmt.Errorf("unknown command %q for %q", args[0], cmd.CommandPath())}
}
