package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
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

// helpWidth in columns.
const helpWidth = 100

// writeUsage prints what cobra would, with flags wrapped. A template would do the same, but with
// text/template, which calls methods by name, the linker can drop no method of any type: 4 MB.
func writeUsage(c *cobra.Command) error {
	w := c.OutOrStderr()
	fmt.Fprint(w, "Usage:")
	if c.Runnable() {
		fmt.Fprintf(w, "\n  %s", c.UseLine())
	}
	if c.HasAvailableSubCommands() {
		fmt.Fprintf(w, "\n  %s [command]", c.CommandPath())
	}
	if c.HasExample() {
		fmt.Fprintf(w, "\n\nExamples:\n%s", c.Example)
	}
	writeCommands(w, c)
	for _, flags := range []struct {
		title string
		set   *pflag.FlagSet
	}{{"Flags:", c.LocalFlags()}, {"Global Flags:", c.InheritedFlags()}} {
		if flags.set.HasAvailableFlags() {
			fmt.Fprintf(w, "\n\n%s\n%s", flags.title, strings.TrimRight(flags.set.FlagUsagesWrapped(helpWidth), " \n"))
		}
	}
	if c.HasAvailableSubCommands() {
		fmt.Fprintf(w, "\n\nUse \"%s [command] --help\" for more information about a command.", c.CommandPath())
	}
	fmt.Fprintln(w)
	return nil
}

// writeCommands prints the verbs of each group, or all where there are none.
func writeCommands(w io.Writer, c *cobra.Command) {
	groups := c.Groups()
	if len(groups) == 0 && c.HasAvailableSubCommands() {
		groups = []*cobra.Group{{Title: "Available Commands:"}}
	}
	for _, group := range groups {
		fmt.Fprintf(w, "\n\n%s", group.Title)
		for _, verb := range c.Commands() {
			if verb.GroupID == group.ID && (verb.IsAvailableCommand() || verb.Name() == "help") {
				fmt.Fprintf(w, "\n  %-*s %s", verb.NamePadding(), verb.Name(), verb.Short)
			}
		}
	}
}
