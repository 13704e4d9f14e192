package kconfig

import (
	"fmt"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
)

// TestScripts: what is said of configurations, lists of modules and fragments, word by
// word. "config", "builtin", "dep" and "fragment" keep a text; "check" and "compare" judge
// what was kept; "parse" reads its input and tells the faults; "write" prints a document.
func TestScripts(t *testing.T) {
	datadriven.Walk(t, "testdata/scripts", func(t *testing.T, path string) {
		kept := map[string]string{}
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			switch d.Cmd {
			case "forget":
				clear(kept)
				return ""
			case "config", "builtin", "dep", "fragment":
				kept[d.Cmd] = d.Input + "\n"
				return ""
			case "parse":
				_, err := Parse([]byte(d.Input))
				return fmt.Sprintln(err)
			case "check":
				return checkText(t, d, kept)
			case "compare":
				f, c := mustParse(t, kept["fragment"]), mustParse(t, kept["config"])
				var b strings.Builder
				if err := DifferenceTable(&b, Compare(f, c, c.Release)); err != nil {
					t.Fatal(err)
				}
				return b.String()
			case "write":
				return writeText(t, d)
			}
			t.Fatalf("%s: no command %q", d.Pos, d.Cmd)
			return ""
		})
	})
}

func argument(d *datadriven.TestData, key string) (vals []string) {
	for _, a := range d.CmdArgs {
		if a.Key == key {
			vals = a.Vals
		}
	}
	return vals
}

func mustParse(t *testing.T, text string) *Config {
	t.Helper()
	c, err := Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func checkText(t *testing.T, d *datadriven.TestData, kept map[string]string) string {
	e := &Evidence{Release: strings.Join(argument(d, "release"), "")}
	if kept["config"] != "" {
		e.Config = mustParse(t, kept["config"])
	}
	list := func(name string) []byte {
		if kept[name] == "" {
			return nil
		}
		return []byte(kept[name])
	}
	if kept["builtin"]+kept["dep"] != "" {
		m, err := ParseModules(list("builtin"), list("dep"))
		if err != nil {
			return fmt.Sprintln(err)
		}
		e.Modules = m
	}
	list2, err := Features(argument(d, "for"), Checked())
	if err != nil {
		return fmt.Sprintln(err)
	}
	r := Check(e, list2)
	var b strings.Builder
	if err := r.Table(&b); err != nil {
		t.Fatal(err)
	}
	return strings.TrimPrefix(b.String(), "\n") + "verdict: " + r.Verdict() + "\n"
}

func writeText(t *testing.T, d *datadriven.TestData) string {
	list, err := Features(argument(d, "feature"), Asked())
	if err != nil {
		return fmt.Sprintln(err)
	}
	var builtin *bool
	for _, v := range argument(d, "builtin") {
		on := v == "true"
		builtin = &on
	}
	doc, err := Write(strings.Join(argument(d, "for"), ""), list, builtin)
	if err != nil {
		return fmt.Sprintln(err)
	}
	return strings.ReplaceAll(doc.Text(), "\n\n", "\n.\n")
}
