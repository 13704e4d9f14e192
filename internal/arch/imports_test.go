package arch

import (
	"fmt"
	"slices"
	"strings"
)

// room is one place of the house and what it may import. Patterns end in "/..."
// for a whole tree; the first room whose dir fits a file is the file's room.
type room struct {
	dir     string
	house   []string // packages of this module, from its root; "own" is the room itself
	modules []string // modules of others
	deny    []string // standard library packages
	why     string
}

// outside is what core may not import of the standard library.
var outside = []string{"os/...", "net", "net/http/...", "net/rpc/...", "net/smtp", "net/mail", "net/textproto",
	"log/...", "syscall/...", "math/rand", "plugin", "os/exec", "io/ioutil"}

var rooms = []room{
	{
		// The one format of core that people write: YAML is a text here, not a file, and a
		// decoder of our own would be worse than the module that the configuration uses.
		dir: "internal/core/scenario", house: []string{"internal/core/..."}, modules: []string{"go.yaml.in/yaml/v3"}, deny: outside,
		why: "a scenario is a text that expands to the same cells on any machine, years later",
	},
	{
		dir: "internal/core", house: []string{"internal/core/..."}, deny: outside,
		why: "core thinks: it must replay a decision from a file, on any machine, years later",
	},
	{
		dir: "internal/kernel", house: []string{"internal/core/...", "internal/kernel/..."},
		modules: []string{"github.com/cilium/ebpf", "github.com/vishvananda/netlink", "github.com/vishvananda/netns",
			"golang.org/x/sys", "golang.org/x/net", "golang.org/x/sync"},
		why: "kernel touches this host and knows neither stores nor loops",
	},
	{
		dir: "internal/data", house: []string{"internal/core/...", "internal/data/...", "proto/..."},
		modules: []string{"google.golang.org/protobuf", "modernc.org/sqlite", "github.com/oschwald/maxminddb-golang/v2", "golang.org/x/sys", "golang.org/x/sync"},
		why:     "data carries bytes; each adapter must be deletable alone",
	},
	{
		dir: "internal/app", house: []string{"internal/core/...", "internal/app/..."},
		modules: []string{"go.yaml.in/yaml/v3", "golang.org/x/sys", "golang.org/x/sync"},
		why:     "app runs loops on interfaces it declares itself, so that fakes can drive them",
	},
	{dir: "internal/arch", why: "the shape test must not depend on the shape"},
	{
		dir: "scenarios", house: []string{"internal/core/scenario"},
		why: "the shipped scenarios are texts that only cmd hands out; their test reads them",
	},
	{dir: "tools", why: "tools run before anything else is known to build"},
	{dir: "proto", house: []string{"proto/..."}, modules: []string{"google.golang.org/protobuf"}, why: "the wire contract knows nobody"},
	{dir: "cmd", house: []string{"..."}, modules: []string{"..."}, why: "cmd joins the rooms"},
}

// testModules may be imported by any test.
var testModules = []string{"github.com/google/go-cmp", "github.com/cockroachdb/datadriven",
	"github.com/rogpeppe/go-internal", "pgregory.net/rapid", "golang.org/x/sys", "golang.org/x/sync"}

var importRule = rule{
	name:  "imports",
	check: checkImports,
	planted: []plant{
		{"internal/core/policy/a.go", "package policy\nimport _ \"os\"\n"},
		{"internal/core/policy/a.go", "package policy\nimport _ \"net\"\n"},
		{"internal/core/policy/a.go", "package policy\nimport _ \"net/http/httptest\"\n"},
		{"internal/core/policy/a.go", "package policy\nimport _ \"log/slog\"\n"},
		{"internal/core/policy/a.go", "package policy\nimport _ \"math/rand\"\n"},
		{"internal/core/policy/a.go", "package policy\nimport _ \"go.yaml.in/yaml/v3\"\n"},
		{"internal/core/scenario/a.go", "package scenario\nimport _ \"os\"\n"},
		{"internal/app/lab/a.go", "package lab\nimport _ \"" + module + "/scenarios\"\n"},
		{"internal/core/scenario/a_test.go", "package scenario\nimport _ \"" + module + "/scenarios\"\n"},
		{"scenarios/a.go", "package scenarios\nimport _ \"" + module + "/internal/core/policy\"\n"},
		{"internal/core/policy/a.go", "package policy\nimport _ \"" + module + "/internal/kernel/sample\"\n"},
		{"internal/core/policy/a_test.go", "package policy\nimport _ \"" + module + "/internal/data/sqlite\"\n"},
		{"internal/kernel/sample/a.go", "package sample\nimport _ \"" + module + "/internal/data/sqlite\"\n"},
		{"internal/kernel/sample/a.go", "package sample\nimport _ \"modernc.org/sqlite\"\n"},
		{"internal/app/agent/a.go", "package agent\nimport _ \"" + module + "/internal/kernel/enforce\"\n"},
		{"internal/data/wire/a.go", "package wire\nimport _ \"" + module + "/internal/app/agent\"\n"},
		{"internal/app/agent/a.go", "package agent\nimport _ \"github.com/google/go-cmp/cmp\"\n"},
		{"pkg/a.go", "package pkg\n"},
	},
	clean: []plant{
		{"internal/core/policy/a.go", "package policy\nimport (\n_ \"net/netip\"\n_ \"math/rand/v2\"\n_ \"" + module + "/internal/core/stat\"\n)\n"},
		{"internal/core/policy/a_test.go", "package policy\nimport (\n_ \"os\"\n_ \"github.com/google/go-cmp/cmp\"\n)\n"},
		{"internal/core/scenario/a.go", "package scenario\nimport _ \"go.yaml.in/yaml/v3\"\n"},
		{"scenarios/embed.go", "package scenarios\nimport _ \"embed\"\n"},
		{"cmd/congctl/lab.go", "package main\nimport _ \"" + module + "/scenarios\"\n"},
		{"internal/app/agent/a.go", "package agent\nimport (\n_ \"net/http\"\n_ \"" + module + "/internal/app/config\"\n)\n"},
		{"internal/kernel/sample/a.go", "package sample\nimport _ \"golang.org/x/sys/unix\"\n"},
		{"cmd/congctl/a.go", "package main\nimport (\n_ \"" + module + "/internal/kernel/sample\"\n_ \"" + module + "/internal/data/sqlite\"\n_ \"github.com/spf13/cobra\"\n)\n"},
	},
}

func checkImports(files []*file) (faults []string) {
	for _, f := range files {
		if f.ast == nil {
			continue
		}
		r := roomOf(f.path)
		if r == nil {
			faults = append(faults, f.fault(1, "not in a room of the house: %s", roomNames()))
			continue
		}
		for _, spec := range f.ast.Imports {
			p := strings.Trim(spec.Path.Value, `"`)
			if !r.allows(p, f.test) {
				faults = append(faults, f.fault(f.line(spec.Pos()), "%s may not import %q: %s", r.dir, p, r.why))
			}
		}
	}
	return faults
}

func roomOf(path string) *room {
	for i := range rooms {
		if strings.HasPrefix(path, rooms[i].dir+"/") {
			return &rooms[i]
		}
	}
	return nil
}

func roomNames() string {
	var names []string
	for _, r := range rooms {
		names = append(names, r.dir)
	}
	return fmt.Sprint(names)
}

func (r *room) allows(p string, test bool) bool {
	own := strings.TrimPrefix(p, module+"/")
	switch {
	case own != p:
		return matches(r.house, own)
	case !strings.Contains(strings.Split(p, "/")[0], "."):
		// A test may read its testdata: only what ships must be pure.
		return test || !matches(r.deny, p)
	case test && inModules(testModules, p):
		return true
	}
	return inModules(r.modules, p)
}

// matches reports whether p is one of patterns; "x/..." covers x and all below.
func matches(patterns []string, p string) bool {
	return slices.ContainsFunc(patterns, func(pat string) bool {
		tree, all := strings.CutSuffix(pat, "...")
		if !all {
			return p == pat
		}
		return strings.HasPrefix(p+"/", tree)
	})
}

func inModules(modules []string, p string) bool {
	return slices.ContainsFunc(modules, func(m string) bool {
		return m == "..." || p == m || strings.HasPrefix(p, m+"/")
	})
}
