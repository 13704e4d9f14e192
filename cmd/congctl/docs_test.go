package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/congctl/congctl/internal/change"
	"github.com/congctl/congctl/internal/goodput/effects"
	"github.com/congctl/congctl/internal/host/advise"
	"github.com/congctl/congctl/internal/host/enable"
	"github.com/congctl/congctl/internal/loop/control"
	"github.com/congctl/congctl/internal/loop/journal"
	"github.com/congctl/congctl/internal/loop/plan"
	"github.com/congctl/congctl/internal/loop/policy"
	"github.com/congctl/congctl/internal/loop/sockets"
	"github.com/congctl/congctl/internal/shape"
	"github.com/congctl/congctl/internal/simulate"
	"github.com/congctl/congctl/internal/top"
)

const docsRoot = "../.."

// makefile is named absolutely: examples run in a directory of their own.
var makefile, _ = filepath.Abs(filepath.Join(docsRoot, "Makefile"))

// pageSections are those of every verb's page, in this order.
var pageSections = []string{"Synopsis", "What it does", "Options", "Output", "Exit codes", "Examples", "See also"}

// answers are the types that a verb prints with -o json: every key stands on its page.
var answers = map[string][]reflect.Type{
	"prefixes":     {reflect.TypeFor[control.PrefixRow]()},
	"explain":      {reflect.TypeFor[policy.Explanation]()},
	"effect":       {reflect.TypeFor[effects.View]()},
	"rounds":       {reflect.TypeFor[journal.Round]()},
	"events":       {reflect.TypeFor[journal.Event]()},
	"plan":         {reflect.TypeFor[control.PlanFile](), reflect.TypeFor[plan.Diff](), reflect.TypeFor[plan.Export]()},
	"status":       {reflect.TypeFor[control.Status]()},
	"top":          {reflect.TypeFor[top.Answer]()},
	"sockets":      {reflect.TypeFor[sockets.Summary]()},
	"shape":        {reflect.TypeFor[shape.View](), reflect.TypeFor[ShapeSet](), reflect.TypeFor[ShapeCleared]()},
	"simulate":     {reflect.TypeFor[simulate.Round](), reflect.TypeFor[simulate.CityReport]()},
	"version":      {reflect.TypeFor[Version]()},
	"host-check":   {reflect.TypeFor[advise.Report](), reflect.TypeFor[advise.Evidence]()},
	"host-enable":  {reflect.TypeFor[enable.View]()},
	"change":       {reflect.TypeFor[ChangeRow](), reflect.TypeFor[ChangeForgotten]()},
	"store":        {reflect.TypeFor[StoreChange]()},
	"host-disable": {reflect.TypeFor[enable.UndoView]()},
}

// verbPages returns the text of docs/verb by verb.
func verbPages(t *testing.T) map[string]string {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(docsRoot, "docs/verb/*.md"))
	if err != nil || len(paths) == 0 {
		t.Fatalf("pages of verbs: %v, %v", paths, err)
	}
	pages := map[string]string{}
	for _, p := range paths {
		src, err := os.ReadFile(p)
		if err != nil {
			t.Fatal(err)
		}
		pages[strings.TrimSuffix(filepath.Base(p), ".md")] = string(src)
	}
	return pages
}

func examplePages(t *testing.T) []string {
	list := []string{"README.md", "docs/tutorial.md", "docs/operations.md", "docs/troubleshooting.md"}
	for verb := range verbPages(t) {
		list = append(list, "docs/verb/"+verb+".md")
	}
	slices.Sort(list)
	return list
}

func verbNames() (names []string) {
	for _, c := range newRoot().Commands() {
		names = append(names, c.Name())
	}
	return names
}

// paged are the commands with a page of their own, by the page's name: every verb, and
// each verb of those that only group others of different use.
func paged() map[string]*cobra.Command {
	all := map[string]*cobra.Command{}
	for _, c := range newRoot().Commands() {
		all[c.Name()] = c
		for _, sub := range c.Commands() {
			if c.Name() == "host" {
				all[c.Name()+"-"+sub.Name()] = sub
			}
		}
	}
	return all
}

// readmeRow is a verb in the front page's table.
var readmeRow = regexp.MustCompile(`(?m)^\| (\[.congctl [a-z]+.\].*?) \|`)

// TestReadmeListsTheVerbs: the front page's table has each verb once, and no other.
func TestReadmeListsTheVerbs(t *testing.T) {
	src, err := os.ReadFile(filepath.Join(docsRoot, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	var listed []string
	for _, row := range readmeRow.FindAllStringSubmatch(string(src), -1) {
		for _, m := range regexp.MustCompile("`congctl ([a-z]+)`").FindAllStringSubmatch(row[1], -1) {
			listed = append(listed, m[1])
		}
	}
	want := slices.DeleteFunc(verbNames(), func(name string) bool { return name == "completion" || name == "help" })
	slices.Sort(listed)
	slices.Sort(want)
	if !slices.Equal(listed, want) {
		t.Errorf("README.md lists %v, the program has %v", listed, want)
	}
}

func TestEveryVerbHasItsPage(t *testing.T) {
	pages := verbPages(t)
	for v := range paged() {
		if _, ok := pages[v]; !ok {
			t.Errorf("verb %s: no page docs/verb/%s.md", v, v)
		}
		delete(pages, v)
	}
	for v := range pages {
		t.Errorf("docs/verb/%s.md: no such verb", v)
	}
}

func TestPagesTellEverything(t *testing.T) {
	pages := verbPages(t)
	for v, c := range paged() {
		for _, fault := range pageFaults(v, c, pages[v]) {
			t.Errorf("docs/verb/%s.md: %s", v, fault)
		}
	}
}

// pageFaults says what a verb's page lacks. Its own verbs are on it, too, unless they
// have their own.
func pageFaults(name string, c *cobra.Command, page string) (faults []string) {
	parts := strings.Split(page, "\n## ")
	if want := "# " + c.CommandPath() + "\n"; !strings.HasPrefix(page, want) {
		faults = append(faults, "does not start with "+want)
	}
	body := map[string]string{}
	var order []string
	for _, p := range parts[1:] {
		name, text, _ := strings.Cut(p, "\n")
		order, body[name] = append(order, name), text
	}
	if !slices.Equal(order, pageSections) {
		faults = append(faults, fmt.Sprintf("has the sections %q, wanted %q", order, pageSections))
	}
	told := []*cobra.Command{c}
	if name != "host" {
		told = append(told, c.Commands()...)
	}
	for _, sub := range told {
		if sub.Hidden {
			continue // for the program itself
		}
		if path := strings.TrimPrefix(sub.CommandPath(), "congctl "); sub.Runnable() && !strings.Contains(body["Synopsis"], "congctl "+path) {
			faults = append(faults, "synopsis lacks congctl "+path)
		}
		sub.LocalNonPersistentFlags().VisitAll(func(f *pflag.Flag) {
			if f.Name != "help" && !f.Hidden && !strings.Contains(body["Options"], "`--"+f.Name) {
				faults = append(faults, "options lack --"+f.Name)
			}
		})
	}
	for _, column := range columns(body["Examples"]) {
		if !strings.Contains(body["Output"], "`"+column+"`") {
			faults = append(faults, "output lacks the column "+column)
		}
	}
	for _, typ := range answers[name] {
		for _, key := range jsonKeys(typ, nil) {
			if !strings.Contains(body["Output"], "`"+key+"`") {
				faults = append(faults, fmt.Sprintf("output lacks the key %s (of %v)", key, typ))
			}
		}
	}
	return faults
}

// heading finds the first line of a table: words in capitals, two blanks between.
var heading = regexp.MustCompile(`(?m)^[A-Z][A-Z/_-]+(?: {2,}[A-Z][A-Z/_-]+)+$`)

func columns(examples string) (names []string) {
	for _, line := range heading.FindAllString(examples, -1) {
		names = append(names, strings.Fields(line)...)
	}
	return names
}

// jsonKeys are the keys of t's JSON and of what it holds, but for the policy's
// rules, which docs/policy.md has, and a journal's values, which docs/format/change-journal.md has.
func jsonKeys(t reflect.Type, seen []reflect.Type) (keys []string) {
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct || slices.Contains(seen, t) || t == reflect.TypeFor[policy.Rules]() ||
		t == reflect.TypeFor[change.Value]() {
		return nil
	}
	for i := range t.NumField() {
		f := t.Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == "" && !f.Anonymous {
			name = f.Name
		}
		if name == "-" || !f.IsExported() {
			continue
		}
		if name != "" {
			keys = append(keys, name)
		}
		keys = append(keys, jsonKeys(f.Type, append(seen, t))...)
	}
	return keys
}

// TestPageFaultsAreFound: a rule that finds nothing proves nothing.
func TestPageFaultsAreFound(t *testing.T) {
	root := newRoot()
	rounds, _, err := root.Find([]string{"rounds"})
	if err != nil {
		t.Fatal(err)
	}
	page := verbPages(t)["rounds"]
	if faults := pageFaults("rounds", rounds, page); len(faults) > 0 {
		t.Fatalf("the page as it is: %q", faults)
	}
	for _, cut := range []string{"# congctl rounds\n", "## Exit codes", "`--limit", "`RANKED`", "`boundary_bytes_per_s`", "congctl rounds ["} {
		if !strings.Contains(page, cut) {
			t.Errorf("planted fault: the page does not have %q", cut)
		} else if len(pageFaults("rounds", rounds, strings.ReplaceAll(page, cut, "x"))) == 0 {
			t.Errorf("without %q nothing is found", cut)
		}
	}
}

// TestCompletion: the shells are offered every verb and every option.
func TestCompletion(t *testing.T) {
	var out bytes.Buffer
	for _, shell := range []string{"bash", "zsh", "fish"} {
		if code := run([]string{"completion", shell}, &out, &out); code != exitOK || out.Len() < 1000 {
			t.Errorf("completion %s: code %d, %d bytes", shell, code, out.Len())
		}
		out.Reset()
	}
	if code := run([]string{"__complete", ""}, &out, io.Discard); code != exitOK {
		t.Fatalf("complete: code %d", code)
	}
	for _, v := range verbNames() {
		if !strings.Contains(out.String(), "\n"+v+"\t") && !strings.HasPrefix(out.String(), v+"\t") {
			t.Errorf("verb %s is not offered:\n%s", v, out.String())
		}
	}
}
