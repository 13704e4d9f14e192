package main

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// block is a fenced block of a page: lines first to last (exclusive) lie between the fences.
type block struct {
	info        string
	first, last int
	body        []string
	examples    []example
}

// example is one command and the output that the page shows for it.
type example struct {
	line      int // of the page, from 1
	command   string
	want      []string
	tellsCode bool // the next command is "echo $?"
}

// elision stands for any number of lines in the output that a page shows.
const elision = "..."

func parseBlocks(lines []string) (blocks []block) {
	open := -1
	for i, l := range lines {
		if !strings.HasPrefix(l, "```") {
			continue
		}
		if open < 0 {
			open = i
			continue
		}
		blocks = append(blocks, block{info: strings.TrimPrefix(lines[open], "```"), first: open + 1, last: i, body: lines[open+1 : i]})
		open = -1
	}
	return blocks
}

func parseExamples(b block) (list []example) {
	for i, l := range b.body {
		if c, ok := strings.CutPrefix(l, "$ "); ok {
			list = append(list, example{line: b.first + i + 1, command: c})
			if n := len(list); c == "echo $?" && n > 1 {
				list[n-2].tellsCode = true
			}
		} else if n := len(list); n > 0 {
			list[n-1].want = append(list[n-1].want, l)
		}
	}
	return list
}

// lines is the block's body with the examples' output as it is now.
func (b block) lines() (out []string) {
	for _, e := range b.examples {
		out = append(append(out, "$ "+e.command), e.want...)
	}
	return out
}

// command is what an example runs: congctl with args, or a make target.
type command struct {
	args       []string
	target     string
	file, pipe string
}

var redirection = regexp.MustCompile(`^(.*?)\s+([|>])\s+(.*)$`)

func parseCommand(text string) (c command, err error) {
	if m := redirection.FindStringSubmatch(text); m != nil {
		text = m[1]
		if m[2] == ">" {
			c.file = m[3]
		} else {
			c.pipe = m[3]
		}
	}
	w := strings.Fields(text)
	if len(w) > 1 && w[0] == "sudo" {
		w = w[1:]
	}
	switch {
	case len(w) > 1 && w[0] == "congctl":
		c.args = w[1:]
		return c, checkUsage(c.args)
	case len(w) == 2 && w[0] == "make":
		c.target = w[1]
		return c, checkTarget(w[1])
	}
	return c, fmt.Errorf("%q: an example runs congctl or make", text)
}

// checkUsage reports whether the verb, its flags and its number of arguments exist.
func checkUsage(args []string) error {
	root := newRoot()
	root.InitDefaultHelpFlag()
	root.InitDefaultVersionFlag()
	cmd, rest, err := root.Find(args)
	if err != nil {
		return err
	}
	if err := cmd.ParseFlags(rest); err != nil {
		return fmt.Errorf("congctl %s: %w", strings.Join(args, " "), err)
	}
	if cmd.HasSubCommands() && cmd != root {
		return fmt.Errorf("congctl %s: needs a sub-verb", strings.Join(args, " "))
	}
	return cmd.ValidateArgs(cmd.Flags().Args())
}

func checkTarget(name string) error {
	b, err := os.ReadFile(makefile)
	if err != nil {
		return err
	}
	if !regexp.MustCompile(`(?m)^` + regexp.QuoteMeta(name) + `:`).Match(b) {
		return fmt.Errorf("make %s: no such target", name)
	}
	return nil
}

// outputLines are the lines of a text without blanks at their ends.
func outputLines(text string) []string {
	if text == "" {
		return nil
	}
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], " ")
	}
	return lines
}

// matches compares a page's output with the real one; an elision fits any lines.
func matches(want, got []string) bool {
	if len(want) == 0 {
		return len(got) == 0
	}
	if want[0] == elision {
		for i := range len(got) + 1 {
			if matches(want[1:], got[i:]) {
				return true
			}
		}
		return false
	}
	return len(got) > 0 && want[0] == got[0] && matches(want[1:], got[1:])
}

// sameHead compares what does not depend on the machine: all column names of a
// table's first line, or the first word of anything else.
func sameHead(want, got []string) bool {
	w, g := strings.Fields(firstLine(want)), strings.Fields(firstLine(got))
	if len(w) == 0 || len(g) == 0 {
		return len(w) == len(g)
	}
	if w[0] == strings.ToUpper(w[0]) && !strings.HasPrefix(w[0], "{") {
		return slices.Equal(w, g)
	}
	w0, _, _ := strings.Cut(w[0], ":")
	g0, _, _ := strings.Cut(g[0], ":")
	return w0 == g0
}

func firstLine(lines []string) string {
	if len(lines) == 0 {
		return ""
	}
	return lines[0]
}

func TestMatches(t *testing.T) {
	got := []string{"A", "b", "c", "d"}
	for _, c := range []struct {
		want string
		ok   bool
	}{
		{"A b c d", true}, {"A ... d", true}, {"A b ...", true}, {"...", true}, {"A ... b c d", true},
		{"A", false}, {"", false}, {"A b c", false}, {"A ... x", false}, {"... c", false},
	} {
		if ok := matches(strings.Fields(c.want), got); ok != c.ok {
			t.Errorf("matches(%q) = %t", c.want, ok)
		}
	}
}

func TestParseCommandRefuses(t *testing.T) {
	for text, ok := range map[string]bool{
		"congctl prefixes --selected -o json | head -n 3": true,
		"sudo congctl up -c congctl.yml":                  true,
		"congctl --version":                               true,
		"make demo":                                       true,
		"congctl nosuch":                                  false,
		"congctl prefixes --nosuch":                       false,
		"congctl explain":                                 false,
		"congctl plan":                                    false,
		"congctl stop now":                                false,
		"make nosuch":                                     false,
		"rm -rf x":                                        false,
	} {
		if _, err := parseCommand(text); (err == nil) != ok {
			t.Errorf("%s: %v", text, err)
		}
	}
}
