package main

import (
	"path/filepath"
	"regexp"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// namesPath finds flags that take a path by what their help says.
var namesPath = regexp.MustCompile(`(?i)\b(file|files|folder|directory|bzimage|written)\b`)

// notPaths are flags whose help speaks of files, and whose value is none.
var notPaths = map[string]bool{"congctl lab compare --worlds": true}

// TestPathFlagsAreAbsolute goes through every flag of every verb: one that takes a path
// makes it absolute.
func TestPathFlagsAreAbsolute(t *testing.T) {
	t.Chdir(t.TempDir())
	want, err := filepath.Abs("some/where")
	if err != nil {
		t.Fatal(err)
	}
	seen := 0
	eachFlag(newRoot(), func(verb string, f *pflag.Flag) {
		switch {
		case f.Value.Type() == "path":
			seen++
			if err := f.Value.Set("some/where"); err != nil || f.Value.String() != want {
				t.Errorf("%s --%s some/where: %s, %v; want %s", verb, f.Name, f.Value, err, want)
			}
		case f.Value.Type() != "bool" && namesPath.MatchString(f.Usage) && !notPaths[verb+" --"+f.Name]:
			t.Errorf("%s --%s: %q: define it by pathVar, or name it in notPaths", verb, f.Name, f.Usage)
		}
	})
	if seen < 15 {
		t.Errorf("%d flags take a path", seen)
	}
}

func eachFlag(cmd *cobra.Command, do func(verb string, f *pflag.Flag)) {
	cmd.LocalFlags().VisitAll(func(f *pflag.Flag) { do(cmd.CommandPath(), f) })
	for _, c := range cmd.Commands() {
		eachFlag(c, do)
	}
}

// TestPathStays: standard input is no path, and an empty one would mean this folder.
func TestPathStays(t *testing.T) {
	for _, value := range []string{"-", "/var/tmp"} {
		var got string
		if err := (path{&got}).Set(value); err != nil || got != value {
			t.Errorf("%q: %q, %v", value, got, err)
		}
	}
	var got string
	if err := (path{&got}).Set(""); err == nil {
		t.Error("an empty path is accepted")
	}
}
