package main

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/congctl/congctl/internal/loop/address"
)

// refuseMistakes makes every mistake on the command line of cmd and its verbs end with
// the exit code for it. Cobra itself prints help and reports success when a verb that only
// groups others is given one that it does not have.
func refuseMistakes(cmd *cobra.Command) {
	check := cmd.Args
	if cmd.HasSubCommands() {
		check = oneOfVerbs
		cmd.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
	} else if check == nil || cmd.Use == cmd.Name() {
		check = asSynopsis
	}
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		err := check(cmd, args)
		if err == nil || errors.As(err, new(*coded)) {
			return err
		}
		return wrongUse(cmd, err)
	}
	for _, verb := range cmd.Commands() {
		refuseMistakes(verb)
	}
}

// wrongUse is an error that the verb's help page answers.
func wrongUse(cmd *cobra.Command, err error) error {
	return &coded{exitUsage, cmd.CommandPath() + " --help", err}
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
	return &coded{exitUsage, hint, fmt.Errorf("unknown command %q for %q", address.Word(args[0]), cmd.CommandPath())}
}

// asSynopsis refuses what the verb's synopsis does not have: it takes the words behind the
// verb as its arguments, those in brackets need not be given.
func asSynopsis(cmd *cobra.Command, args []string) error {
	names := strings.Fields(cmd.Use)[1:]
	if slices.ContainsFunc(names, func(word string) bool { return strings.HasPrefix(word, "--") }) {
		names = nil // they are flags
	}
	needed := slices.IndexFunc(append(names, "["), func(word string) bool { return strings.HasPrefix(word, "[") })
	switch {
	case len(args) < needed:
		return fmt.Errorf("%s: missing %s", nameOf(cmd), strings.Join(names[len(args):needed], " "))
	case len(args) <= len(names):
		return nil
	case len(names) == 0:
		return fmt.Errorf("%s: takes no argument, and got %q", nameOf(cmd), address.Word(args[0]))
	}
	return fmt.Errorf("%s: %q is one argument too many", nameOf(cmd), address.Word(args[len(names)]))
}

// nameOf is a verb as an error names it, which begins with the program already.
func nameOf(cmd *cobra.Command) string { return strings.TrimPrefix(cmd.CommandPath(), "congctl ") }

// flagError puts what the library says of a wrong flag in words of our own: the flag, the
// value and the fix.
func flagError(cmd *cobra.Command, err error) error {
	var unknown *pflag.NotExistError
	var bare *pflag.ValueRequiredError
	var wrong *pflag.InvalidValueError
	var syntax *pflag.InvalidSyntaxError
	switch {
	case errors.As(err, &unknown) && unknown.GetSpecifiedShortnames() != "":
		err = fmt.Errorf("-%s: no such flag", unknown.GetSpecifiedShortnames())
	case errors.As(err, &unknown):
		err = fmt.Errorf("--%s: no such flag", address.Word(unknown.GetSpecifiedName()))
	case errors.As(err, &bare):
		err = fmt.Errorf("--%s: write a value after it: %s", bare.GetFlag().Name, bare.GetFlag().Usage)
	case errors.As(err, &wrong):
		err = fmt.Errorf("--%s %q: %s", wrong.GetFlag().Name, address.Word(wrong.GetValue()), fixOf(wrong))
	case errors.As(err, &syntax):
		err = fmt.Errorf("%q: a flag is written --name, --name=value or --name value", address.Word(syntax.GetSpecifiedFlag()))
	}
	return wrongUse(cmd, err)
}

// fixes say what to write, by the type of the flag.
var fixes = map[string]string{
	"bool":        "write true or false, or the flag alone for true",
	"duration":    "write a time with its unit, as 90s, 10m or 2h",
	"int":         "write a whole number, as 10",
	"uint64":      "write a whole number from 0 on, as 10",
	"stringSlice": "write words joined by commas",
	"uintSlice":   "write whole numbers joined by commas, as 80,443",
}

// fixOf is our own values' own words, or what the library's type takes.
func fixOf(wrong *pflag.InvalidValueError) string {
	if fix, ok := fixes[wrong.GetFlag().Value.Type()]; ok {
		return fix
	}
	return errors.Unwrap(wrong).Error()
}

// count is the value of a flag that says how many: a whole number from 0 on.
type count struct{ to *int }

func (c count) String() string { return strconv.Itoa(*c.to) }
func (c count) Type() string   { return "number" }

func (c count) Set(value string) error {
	n, err := strconv.ParseUint(value, 10, 31)
	if err != nil {
		return errors.New("write a whole number from 0 on; 0 means all")
	}
	*c.to = int(n)
	return nil
}

// limitFlag defines -n, which means the same for every list.
func limitFlag(cmd *cobra.Command, to *int, value int, usage string) {
	*to = value
	cmd.Flags().VarP(count{to}, "limit", "n", usage+"; 0 means all")
}
