package arch

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
)

// capability is a folder below internal, and what it imports of others.
type capability struct {
	name   string
	arrows map[string]string // to which capability, and why
}

// capabilities are the folders below internal, in an order in which each imports only what
// stands before it: so there is no cycle between folders.
var capabilities = []capability{
	{name: "arch"},
	{name: "costtest"},
	{name: "strict"},
	{name: "tcp"},
	{name: "answer"},
	{name: "metrics"},
	{name: "web"},
	{"linux", map[string]string{"tcp": "decodes what the kernel answers"}},
	{"loop", map[string]string{
		"strict": "reads its configuration", "tcp": "measures connections", "linux": "dumps sockets, reads clocks", "answer": "prints its state",
	}},
	{"top", map[string]string{"tcp": "shows connections", "answer": "prints totals", "loop": "shows its networks"}},
	{"goodput", map[string]string{
		"strict": "names faults of its files", "tcp": "finds a response's connection", "loop": "compares arms by the loop's statistics and plan", "answer": "prints effects",
		"linux": "opens its files",
	}},
	{"simulate", map[string]string{
		"strict": "names faults of a history", "tcp": "makes up connections", "loop": "runs its policy over another past", "answer": "prints rounds",
		"goodput": "estimates what an imagined treatment did",
	}},
	{"fleet", map[string]string{
		"strict": "reads its configuration", "tcp": "keeps records of connections", "linux": "opens its files", "loop": "makes windows of many hosts' records, and has the loop's controller decide",
		"answer": "cuts what peers wrote",
	}},
	{"change", map[string]string{"linux": "a link's qdiscs are one of the things changed"}},
	{"host", map[string]string{
		"tcp": "decodes its own sockets", "linux": "reads this host", "change": "turns BBR on as a transaction",
		"loop": "asks which tier the kernel can run", "answer": "prints findings",
	}},
	{"shape", map[string]string{
		"linux": "sets qdiscs", "change": "limits as a transaction", "host": "reads the facts that a limit depends on",
	}},
	{"lab", map[string]string{"strict": "reads scenarios", "tcp": "statistics, socket dumps", "answer": "prints tables", "linux": "builds links and namespaces"}},
	{"popday", map[string]string{
		"strict": "reads days", "tcp": "statistics", "linux": "builds links and namespaces", "lab": "paths of scenarios, drawings, a world's traffic",
		"loop": "the experiment's estimates and decisions", "goodput": "estimates from access logs",
	}},
}

// testArrows are arrows of tests alone, from a package.
var testArrows = map[string]string{
	"internal/host/kernel/bbr": "shape", // disable below a real limit
}

var arrowRule = rule{
	name:  "arrows between capabilities",
	check: checkArrows,
	planted: []plant{
		{"internal/loop/agent/a.go", "package agent\nimport _ \"" + module + "/internal/lab\"\n"},
		{"internal/host/advise/a.go", "package advise\nimport _ \"" + module + "/internal/lab/scenario\"\n"},
		{"internal/shape/a.go", "package shape\nimport _ \"" + module + "/internal/popday\"\n"},
		{"internal/tcp/record/a_test.go", "package record\nimport _ \"" + module + "/internal/loop/policy\"\n"},
		{"internal/attic/a.go", "package attic\n"},
		{"internal/loop/agent/a.go", "package agent\nimport tables \"" + module + "/internal/loop/ledger\"\n"},
	},
	clean: []plant{
		{"internal/loop/agent/a.go", "package agent\nimport (\nclock \"time\"\n_ \"" + module + "/internal/loop/ledger\"\n\"" + module + "/internal/tcp/record\"\n)\n"},
		{"cmd/congctl/a.go", "package main\nimport \"" + module + "/internal/lab\"\n"},
	},
}

func checkArrows(files []*file) (faults []string) {
	goFiles(files, func(f *file) {
		from := capabilityOf(f.path)
		at := slices.IndexFunc(capabilities, func(c capability) bool { return c.name == from })
		if at < 0 && from != "" {
			faults = append(faults, f.fault(1, "%s is no capability: see capabilities in internal/arch", from))
			return
		}
		for _, spec := range f.ast.Imports {
			p, own := strings.CutPrefix(strings.Trim(spec.Path.Value, `"`), module+"/")
			if !own {
				continue
			}
			if spec.Name != nil && spec.Name.Name != "_" {
				faults = append(faults, f.fault(f.line(spec.Pos()), "alias %s for our own %s: give the package a name that needs none", spec.Name.Name, p))
			}
			to := capabilityOf(p)
			if f.test && testArrows[f.dir()] == to || f.forTests() && p == forAllTests {
				continue
			}
			if from != "" && to != "" && to != from && capabilities[at].arrows[to] == "" {
				faults = append(faults, f.fault(f.line(spec.Pos()), "%s may not import %s: no arrow from %s to %s", f.dir(), p, from, to))
			}
		}
	})
	return faults
}

// capabilityOf returns the folder below internal that a path lies in, "" for none.
func capabilityOf(p string) string {
	below, ok := strings.CutPrefix(p, "internal/")
	if !ok {
		return ""
	}
	name, _, _ := strings.Cut(below, "/")
	return name
}

// TestArrowsPointBack: a cycle between folders would need an arrow to a later one. An
// arrow that nothing takes goes.
func TestArrowsPointBack(t *testing.T) {
	taken := takenArrows(t)
	seen := map[string]bool{}
	for _, c := range capabilities {
		for to := range c.arrows {
			if !seen[to] {
				t.Errorf("%s imports %s, which does not stand before it", c.name, to)
			}
			if !taken[c.name+" "+to] {
				t.Errorf("nothing takes the arrow from %s to %s", c.name, to)
			}
		}
		seen[c.name] = true
	}
}

// takenArrows has "from to" for each import between capabilities outside of tests.
func takenArrows(t *testing.T) map[string]bool {
	t.Helper()
	files, err := load(os.DirFS("../.."))
	if err != nil {
		t.Fatal(err)
	}
	taken := map[string]bool{}
	goFiles(files, func(f *file) {
		for _, spec := range f.ast.Imports {
			if p, own := strings.CutPrefix(strings.Trim(spec.Path.Value, `"`), module+"/"); own && !f.test {
				taken[capabilityOf(f.path)+" "+capabilityOf(p)] = true
			}
		}
	})
	return taken
}

// TestMapHasTheArrows: the tables of ARCHITECTURE.md are these.
func TestMapHasTheArrows(t *testing.T) {
	page, err := os.ReadFile("../../ARCHITECTURE.md")
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for _, from := range capabilities {
		for _, to := range capabilities {
			if why := from.arrows[to.name]; why != "" {
				fmt.Fprintf(&b, "| `%s` | `%s` | %s |\n", from.name, to.name, why)
			}
		}
	}
	if !strings.Contains(string(page), b.String()) {
		t.Errorf("ARCHITECTURE.md lacks\n%s", b.String())
	}
	var runners []string
	for _, k := range kinds {
		for _, folder := range k.folders {
			if k.name == "runner" {
				runners = append(runners, "`"+strings.TrimPrefix(folder, "internal/")+"`")
			}
		}
	}
	if row := "| runner | " + strings.Join(runners, ", ") + " |"; !strings.Contains(string(page), row) {
		t.Errorf("ARCHITECTURE.md lacks\n%s", row)
	}
}
