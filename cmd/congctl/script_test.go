package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
)

// TestVerbs runs the scripts of testdata/verbs: what a user types without root, and
// what comes of it, word by word. Each script has a directory of its own ($DIR).
// "file NAME" writes its input there; "run" runs its input line by line and returns
// standard output, then standard error marked "! ", then an exit code that is not 0.
func TestVerbs(t *testing.T) {
	datadriven.Walk(t, "testdata/verbs", func(t *testing.T, path string) {
		s := script{t, t.TempDir()}
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			switch d.Cmd {
			case "file":
				name := filepath.Join(s.dir, d.CmdArgs[0].Key)
				check(t, os.WriteFile(name, []byte(strings.ReplaceAll(d.Input, "$DIR", s.dir)+"\n"), 0o600))
				return ""
			case "run":
				var out strings.Builder
				for line := range strings.Lines(d.Input) {
					out.WriteString(s.run(strings.TrimSpace(line)))
				}
				return out.String()
			}
			t.Fatalf("%s: no command %q", d.Pos, d.Cmd)
			return ""
		})
	})
}

type script struct {
	t   *testing.T
	dir string
}

func (s script) run(line string) string {
	s.t.Helper()
	words := strings.Fields(strings.ReplaceAll(line, "$DIR", s.dir))
	if words[0] != "congctl" {
		s.t.Fatalf("%q: only congctl can be run", line)
	}
	var out, errs strings.Builder
	cmd := program(words[1:]...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = s.dir, &out, &errs
	err := cmd.Run()
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		s.t.Fatalf("%q: %v", line, err)
	}
	var b strings.Builder
	b.WriteString(out.String())
	for l := range strings.Lines(errs.String()) {
		b.WriteString("! " + l)
	}
	if code := cmd.ProcessState.ExitCode(); code != 0 {
		fmt.Fprintf(&b, "exit code %d\n", code)
	}
	return s.masked(b.String())
}

var stampOfNow = regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ`)

// masked hides what differs from machine to machine.
func (s script) masked(text string) string {
	text = stampOfNow.ReplaceAllString(strings.ReplaceAll(text, s.dir, "$DIR"), "<now>")
	if u, err := user.Current(); err == nil {
		text = strings.ReplaceAll(text, "by "+u.Username+",", "by <you>,")
	}
	return text
}
