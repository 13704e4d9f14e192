package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/congctl/congctl/internal/host/enable"
	"github.com/congctl/congctl/internal/host/kernel/paperhosttest"
	"github.com/congctl/congctl/internal/lab/outcome"
	"github.com/congctl/congctl/internal/lab/proof"
	"github.com/congctl/congctl/internal/lab/report"
	"github.com/congctl/congctl/internal/popday"
)

// elsewhere are verbs that answer only with root, a machine or a folder of results: their
// answers' types are walked (TestAnswersKeepTheConvention), and their own tests run them.
var elsewhere = map[string]reflect.Type{
	"host disable": reflect.TypeFor[enable.UndoView](), "shape set": reflect.TypeFor[ShapeSet](), "shape clear": reflect.TypeFor[ShapeCleared](),
	"change forget": reflect.TypeFor[ChangeForgotten](), "shape confirm": reflect.TypeFor[ShapeSet](), "lab run": reflect.TypeFor[outcome.Summary](), "lab report": reflect.TypeFor[outcome.Summary](),
	"lab compare": reflect.TypeFor[report.Comparison](), "lab pop": reflect.TypeFor[popday.Report](), "lab pop-report": reflect.TypeFor[popday.Report](),
	"store init": reflect.TypeFor[StoreChange](), "store migrate": reflect.TypeFor[StoreChange](), "store check": reflect.TypeFor[StoreChange](),
	"lab verify-kernel": reflect.TypeFor[proof.Report](), "lab kernel build": reflect.TypeFor[builtKernel](), "fleet status": reflect.TypeFor[FleetStatus](), "plan rollback": reflect.TypeFor[Done](),
	"plan push": reflect.TypeFor[Done](), "plan abort": reflect.TypeFor[Done](), "plan key": reflect.TypeFor[PlanKeys](),
	"token add": reflect.TypeFor[TokenAdded](), "token list": reflect.TypeFor[[]TokenRow](), "token remove": reflect.TypeFor[TokenRemoved](),
}

// silent are verbs that have no answer: some run until they are ended, the others print text
// for a shell or a person.
var silent = []string{"up", "agent", "controller", "ingest", "completion bash", "completion zsh", "completion fish", "completion powershell", "help"}

const (
	verbTable    = "<!-- verbs: TestEveryVerb -->\n"
	verbTableEnd = "<!-- end of verbs -->\n"
)

// TestEveryVerb runs each verb with its help, in JSON, and with each mistake that its flags
// and arguments allow, and compares the table of docs/how-tested.md with what came out.
func TestEveryVerb(t *testing.T) {
	path, err := filepath.Abs(filepath.Join(docsRoot, "docs/how-tested.md"))
	check(t, err)
	page, err := os.ReadFile(path)
	check(t, err)
	pages := verbPages(t)
	onHost(t, paperhosttest.Load(t, "debian12"))
	s := newStage(t, docsDB(t))
	var b strings.Builder
	b.WriteString("\n| verbs | help | json | errors | exit codes |\n|---|---|---|---|---|\n")
	var seen []string
	alike := map[string][]string{} // verbs by the other columns
	s.withRunning(t, true, func() {
		answeringFiles(t, s)
		for _, cmd := range leaves(testRoot()) {
			v := verb{t: t, cmd: cmd, name: nameOf(cmd), dir: s.dir, codes: map[int]bool{}}
			row := fmt.Sprintf("%s | %s | %s | %s", v.help(), v.json(), v.errors(), v.exitCodes(pages))
			if alike[row] == nil {
				seen = append(seen, row)
			}
			alike[row] = append(alike[row], "`"+v.name+"`")
		}
	})
	for _, row := range seen {
		fmt.Fprintf(&b, "| %s | %s |\n", strings.Join(alike[row], ", "), row)
	}
	b.WriteString("\n")
	head, rest, ok := strings.Cut(string(page), verbTable)
	old, tail, ended := strings.Cut(rest, verbTableEnd)
	if !ok || !ended {
		t.Fatal("docs/how-tested.md has no place for the table")
	}
	if old == b.String() {
		return
	}
	if !*rewriteDocs || t.Failed() {
		t.Errorf("docs/how-tested.md has another table:\n%s", b.String())
		return
	}
	check(t, os.WriteFile(path, []byte(head+verbTable+b.String()+verbTableEnd+tail), 0o644))
}

// testRoot is the tree as run makes it.
func testRoot() *cobra.Command {
	root := newRoot()
	addCompletion(root)
	addHelp(root)
	return root
}

func leaves(cmd *cobra.Command) (all []*cobra.Command) {
	if cmd.Hidden {
		return nil // for the program itself
	}
	if !cmd.HasSubCommands() {
		return []*cobra.Command{cmd}
	}
	for _, sub := range cmd.Commands() {
		all = append(all, leaves(sub)...)
	}
	return all
}

// verb is a row of the table.
type verb struct {
	t         *testing.T
	cmd       *cobra.Command
	name, dir string
	codes     map[int]bool // seen
}

func (v verb) run(words ...string) (out, errs string, code int) {
	var o, e bytes.Buffer
	if len(words) > 0 && !slices.Contains(words, "-c") {
		words = append(slices.Clone(words), "-c", filepath.Join(v.dir, "congctl.yml"))
	}
	code = run(words, &o, &e)
	v.codes[code] = true
	return o.String(), e.String(), code
}

// ok is the cell of a column in which so many faults were found.
func (v verb) ok(column string, faults []string) string {
	for _, f := range faults {
		v.t.Errorf("congctl %s: %s: %s", v.name, column, f)
	}
	if len(faults) > 0 {
		return fmt.Sprintf("%d faults", len(faults))
	}
	return "ok"
}

// maxColumns of a help text: what two windows side by side on a laptop show.
const maxColumns = 100

func (v verb) help() string {
	out, errs, code := v.run(append(strings.Fields(v.name), "--help")...)
	var faults []string
	if code != exitOK || errs != "" {
		faults = append(faults, fmt.Sprintf("exit code %d: %s", code, errs))
	}
	if !regexp.MustCompile(`(?m)^Examples:\n  (sudo )?congctl ` + v.name + `\b`).MatchString(out) {
		faults = append(faults, "no example of it:\n"+out)
	}
	for line := range strings.Lines(out) {
		if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > maxColumns {
			faults = append(faults, fmt.Sprintf("%d columns: %s", n, line))
		}
	}
	return v.ok("help", faults)
}

func (v verb) json() string {
	if slices.Contains(silent, v.name) {
		return "no answer"
	}
	var faults []string
	asked := elsewhere[v.name] != nil
	for _, a := range answering {
		if words := strings.Fields(a.words); strings.HasPrefix(a.words+" ", v.name+" ") {
			out, errs, _ := v.run(append(words, "-o", "json")...)
			var answer any
			if err := json.Unmarshal([]byte(out), &answer); err != nil {
				faults = append(faults, fmt.Sprintf("%s: %v: %s%s", words, err, out, errs))
			}
			faults, asked = append(faults, jsonFaults(answer)...), true
		}
	}
	if !asked {
		faults = append(faults, "nothing runs it with -o json: see the tables answering and elsewhere")
	}
	return v.ok("json", faults)
}

// goText is what Go's library says and no person should read.
var goText = regexp.MustCompile(`strconv|netip\.|Parse(Int|Uint|Bool|Addr|Prefix)|invalid (syntax|argument|duration)|pflag|cobra|unmarshal|parsing |character|json:|yaml:|regexp:|` +
	`accepts .*arg|needs an argument|%!|0x[0-9a-f]{6}|panic|goroutine|<nil>`)

func (v verb) errors() string {
	var faults []string
	for _, m := range v.mistakes() {
		out, errs, code := v.run(m.words...)
		switch text := goText.FindString(errs); {
		case code != exitUsage:
			faults = append(faults, fmt.Sprintf("%q: exit code %d\n%s%s", m.words, code, out, errs))
		case text != "":
			faults = append(faults, fmt.Sprintf("%q: says %q: %s", m.words, text, errs))
		case !strings.HasPrefix(errs, "congctl: ") || out != "":
			faults = append(faults, fmt.Sprintf("%q: on standard output %q, on standard error %q", m.words, out, errs))
		}
		for _, name := range m.names {
			if !strings.Contains(errs, name) {
				faults = append(faults, fmt.Sprintf("%q: does not name %s: %s", m.words, name, errs))
			}
		}
	}
	return v.ok("errors", faults)
}

func (v verb) exitCodes(pages map[string]string) string {
	page := strings.Fields(v.name)[0]
	if specific := strings.ReplaceAll(v.name, " ", "-"); pages[specific] != "" {
		page = specific
	} else if two := strings.Join(strings.Fields(v.name)[:min(2, len(strings.Fields(v.name)))], "-"); pages[two] != "" {
		page = two
	}
	_, told, _ := strings.Cut(pages[page], "## Exit codes\n")
	told, _, _ = strings.Cut(told, "\n## ")
	var faults, seen []string
	for _, code := range slices.Sorted(maps.Keys(v.codes)) {
		seen = append(seen, fmt.Sprint(code))
		if pages[page] != "" && !regexp.MustCompile(`(^|\D)`+seen[len(seen)-1]+`\D`).MatchString(told) {
			faults = append(faults, fmt.Sprintf("docs/verb/%s.md does not tell exit code %d", page, code))
		}
	}
	return v.ok("exit codes", faults) + ": " + strings.Join(seen, ", ")
}

// wrongLine is a command line that is wrong, and what its error must name.
type wrongLine struct{ words, names []string }

// mistakes makes one of each kind that the verb allows: flags that do not exist or lack a
// value, each flag with a value of another type or none of its own, arguments too many or
// too few.
func (v verb) mistakes() (all []wrongLine) {
	good := v.example()
	add := func(names []string, words ...string) {
		all = append(all, wrongLine{append(slices.Clone(good), words...), names})
	}
	add([]string{"--nosuch", "try: "}, "--nosuch")
	add([]string{"-Z", "try: "}, "-Z")
	v.cmd.InitDefaultHelpFlag()
	v.cmd.Flags().AddFlagSet(v.cmd.InheritedFlags())
	v.cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if f.Hidden || f.Name == "help" {
			return
		}
		if f.NoOptDefVal == "" {
			all = append(all, wrongLine{append(append(slices.Clone(good), "-c", "congctl.yml"), "--"+f.Name), []string{"--" + f.Name}})
		}
		for _, value := range v.wrongValues(f) {
			add([]string{"--" + f.Name, value}, "--"+f.Name+"="+value)
		}
	})
	words := strings.Fields(v.name)
	all = append(all, wrongLine{append(slices.Clone(words), "one", "two", "three", "four"), []string{`"`}})
	if v.cmd.Args != nil && v.cmd.Args(v.cmd, nil) != nil {
		all = append(all, wrongLine{words, []string{"try: "}})
	}
	return all
}

// wrongValues of a flag, by its type, or because it knows only some words.
func (v verb) wrongValues(f *pflag.Flag) []string {
	if _, closed := v.cmd.GetFlagCompletionFunc(f.Name); closed || f.Name == "output" {
		return []string{"nosuch"}
	}
	switch f.Value.Type() {
	case "duration":
		return []string{"soon", "10", "-3s"}
	case "int", "uint64", "number":
		return []string{"many", "-3", "1.5"}
	case "bool":
		return []string{"maybe"}
	case "uintSlice":
		return []string{"http", "-1", "99999"}
	case "path":
		return []string{""}
	}
	wrong, known := wrongText[f.Name]
	if !known {
		v.t.Errorf("congctl %s: --%s takes text: add a wrong one to wrongText", v.name, f.Name)
	}
	return wrong
}

// wrongText has values that flags with a text of their own refuse.
var wrongText = map[string][]string{
	"burst": {"x", "3"}, "queue": {"x"}, "ingress": {"x", "5x"}, "cells": {"(", "nosuch"}, "length": {"x", "-3m"}, "worlds": {"nosuch"}, "netns": {"/etc/passwd"},
	"prefix": {"x", "x/y", "1.2.3"}, "since": {"x", "-3h", "2999-01-01T00:00:00Z"},
	"world": {"fog", "mild,three"}, "at": {"x", "2026-11-20", "-3h"},
	"controller": {"x", "http://controller:9477", "https://"}, "pop": {"a/b"},
	"label": nil, "kind": nil, // any
}

// example is the verb's first example without what follows the first flag.
func (v verb) example() []string {
	line, _, _ := strings.Cut(strings.TrimSpace(v.cmd.Example), "\n")
	words := strings.Fields(strings.TrimPrefix(strings.TrimPrefix(line, "sudo "), "congctl "))
	if i := slices.IndexFunc(words, func(w string) bool { return strings.HasPrefix(w, "-") || w == "|" || w == ">" }); i >= 0 {
		words = words[:i]
	}
	return words
}

// TestShorthands: each letter means one flag everywhere.
func TestShorthands(t *testing.T) {
	means := map[string]string{}
	for _, cmd := range append(leaves(testRoot()), testRoot()) {
		cmd.Flags().AddFlagSet(cmd.InheritedFlags())
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			if other := means[f.Shorthand]; f.Shorthand != "" && other != "" && other != f.Name {
				t.Errorf("%s: -%s is --%s, and --%s elsewhere", cmd.CommandPath(), f.Shorthand, f.Name, other)
			}
			means[f.Shorthand] = f.Name
		})
	}
	if means["c"] != "config" || means["n"] != "limit" {
		t.Errorf("-c is --%s, -n is --%s", means["c"], means["n"])
	}
}

// TestGoTextIsFound: what the library said before flagError is found.
func TestGoTextIsFound(t *testing.T) {
	for _, text := range []string{
		`invalid argument "x" for "--hours" flag: strconv.ParseInt: parsing "x": invalid syntax`, `netip.ParsePrefix("x"): no '/'`,
		`accepts 1 arg(s), received 0`, `time: invalid duration "soon"`, `flag needs an argument: --cells`, `%!d(string=x)`,
		"cells \"(\": error parsing regexp: missing closing )", `invalid character 'w' looking for beginning of value`,
	} {
		if !goText.MatchString(text) {
			t.Errorf("%q is not found", text)
		}
	}
	if v := (verb{cmd: testRoot()}); len(v.mistakes()) < 6 {
		t.Errorf("mistakes of the root: %v", v.mistakes())
	}
}
