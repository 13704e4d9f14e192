package arch

import (
	"slices"
	"strings"
)

// kind is what a package may do and import. The first kind whose pattern fits a folder is
// the folder's; a pattern is a path or, with "/..." at its end, all below it, and "*"
// stands for one or more folders.
type kind struct {
	name    string
	folders []string
	house   []string // kinds of this module that it may import
	modules []string // modules of others
	deny    []string // standard library packages
	why     string
}

// outside is what pure code may not import of the standard library.
var outside = []string{"os/...", "net", "net/http/...", "net/rpc/...", "net/smtp", "net/mail", "net/textproto",
	"log/...", "syscall/...", "math/rand", "plugin", "io/ioutil"}

var kinds = []kind{
	{
		name: "cmd", folders: []string{"cmd/..."}, house: []string{"..."}, modules: []string{"..."},
		why: "cmd joins all others",
	},
	{name: "tool", folders: []string{"tools/...", "internal/arch", forAllTests}, why: "it must not depend on what it checks or builds"},
	{
		name: "kernel", folders: []string{"internal/linux/...", "internal/*/kernel/..."}, house: []string{"kernel", "pure"},
		modules: []string{"github.com/cilium/ebpf", "github.com/vishvananda/netlink", "github.com/vishvananda/netns",
			"github.com/pierrec/lz4/v4", "golang.org/x/sys", "golang.org/x/net", "golang.org/x/sync", "kernel.org/pub/linux/libs/security/libcap/psx"},
		why: "what touches this host knows neither stores nor runners",
	},
	{
		name: "store", folders: []string{"internal/*/store/...", "proto/..."}, house: []string{"store", "pure", "internal/linux/plainfile"},
		modules: []string{"google.golang.org/protobuf", "modernc.org/sqlite", "github.com/oschwald/maxminddb-golang/v2", "connectrpc.com/connect", "github.com/ClickHouse/clickhouse-go/v2", "github.com/twmb/franz-go", "github.com/klauspost/compress", "golang.org/x/sys", "golang.org/x/sync"},
		why:     "each store must be deletable alone",
	},
	{
		name: "runner",
		folders: []string{
			"internal/loop/agent",                 // polls by the clock
			"internal/loop/controller",            // decides by the clock, logs
			"internal/loop/control",               // serves a unix socket
			"internal/loop/config",                // reads the configuration file
			"internal/loop/logline",               // writes the log
			"internal/fleet/halt",                 // waits for agents and a log
			"internal/fleet/ingest",               // waits for a queue and a store, logs
			"internal/fleet/pop",                  // closes windows by the clock, logs
			"internal/fleet/uplink",               // sends again by the clock
			"internal/goodput/names",              // reads the files of names
			"internal/goodput/weblog",             // follows access logs
			"internal/lab", "internal/lab/report", // keep and read folders of results
			"internal/metrics/listener", // serves HTTP
			"internal/popday/popreport", // reads a day's folder
			"internal/web",              // serves HTTP
			"scenarios",                 // embeds files
		},
		house: []string{"runner", "pure", "internal/linux/plainfile"}, modules: []string{"go.yaml.in/yaml/v3", "golang.org/x/sys", "golang.org/x/sync"},
		why: "runners use interfaces that they declare, so that fakes can drive them",
	},
	{
		// Scenarios are a format of pure code that people write: YAML is a text here.
		name: "pure", folders: []string{"internal/strict", "internal/lab/scenario"}, house: []string{"pure"}, modules: []string{"go.yaml.in/yaml/v3"}, deny: outside,
		why: "a scenario expands to the same cells on any machine, years later",
	},
	{
		// config has the types of the settings beside the reading of their file.
		name: "pure", folders: []string{"internal/simulate", "internal/goodput/effects"}, house: []string{"pure", "internal/loop/config"}, deny: outside,
		why: "a replay gives the same answer on any machine, years later",
	},
	{
		name: "pure", folders: []string{"internal/..."}, house: []string{"pure"}, deny: outside,
		why: "pure by default: a decision replays from a file on any machine, years later",
	},
}

// testModules may be imported by any test.
var testModules = []string{"github.com/google/go-cmp", "github.com/cockroachdb/datadriven",
	"github.com/rogpeppe/go-internal", "pgregory.net/rapid", "golang.org/x/sys", "golang.org/x/sync"}

// forAllTests may be imported by any test, and by nothing else.
const forAllTests = "internal/costtest"

var importRule = rule{
	name:  "imports",
	check: checkImports,
	planted: []plant{
		{"internal/loop/policy/a.go", "package policy\nimport _ \"os\"\n"},
		{"internal/loop/policy/a.go", "package policy\nimport _ \"net\"\n"},
		{"internal/loop/policy/a.go", "package policy\nimport _ \"net/http/httptest\"\n"},
		{"internal/popday/a.go", "package popday\nimport _ \"log/slog\"\n"},
		{"internal/loop/policy/a.go", "package policy\nimport _ \"math/rand\"\n"},
		{"internal/loop/policy/a.go", "package policy\nimport _ \"go.yaml.in/yaml/v3\"\n"},
		{"internal/lab/scenario/a.go", "package scenario\nimport _ \"os\"\n"},
		{"internal/lab/a.go", "package lab\nimport _ \"" + module + "/cmd/congctl\"\n"},
		{"internal/lab/scenario/a_test.go", "package scenario\nimport _ \"" + module + "/scenarios\"\n"},
		{"internal/loop/policy/a.go", "package policy\nimport _ \"" + module + "/internal/linux/sample\"\n"},
		{"internal/loop/policy/a.go", "package policy\nimport _ \"" + module + "/internal/loop/config\"\n"},
		{"internal/loop/policy/a_test.go", "package policy\nimport _ \"" + module + "/internal/loop/store/sqlite\"\n"},
		{"internal/linux/sample/a.go", "package sample\nimport _ \"" + module + "/internal/loop/store/sqlite\"\n"},
		{"internal/linux/sample/a.go", "package sample\nimport _ \"modernc.org/sqlite\"\n"},
		{"internal/loop/agent/a.go", "package agent\nimport _ \"" + module + "/internal/loop/kernel/enforce\"\n"},
		{"internal/loop/store/wire/a.go", "package wire\nimport _ \"" + module + "/internal/loop/agent\"\n"},
		{"internal/loop/agent/a.go", "package agent\nimport _ \"github.com/google/go-cmp/cmp\"\n"},
		{"cmd/congctl/a.go", "package main\nimport _ \"" + module + "/internal/host/kernel/paperhosttest\"\n"},
		{"internal/loop/policy/a.go", "package policy\nimport _ \"" + module + "/" + forAllTests + "\"\n"},
		{"pkg/a.go", "package pkg\n"},
	},
	clean: []plant{
		{"internal/loop/policy/a.go", "package policy\nimport (\n_ \"net/netip\"\n_ \"math/rand/v2\"\n_ \"" + module + "/internal/tcp/stat\"\n)\n"},
		{"internal/loop/policy/a_test.go", "package policy\nimport (\n_ \"os\"\n_ \"github.com/google/go-cmp/cmp\"\n)\n"},
		{"internal/loop/policy/a_test.go", "package policy\nimport _ \"" + module + "/" + forAllTests + "\"\n"},
		{"internal/lab/scenario/a.go", "package scenario\nimport _ \"go.yaml.in/yaml/v3\"\n"},
		{"scenarios/embed.go", "package scenarios\nimport _ \"embed\"\n"},
		{"cmd/congctl/lab.go", "package main\nimport _ \"" + module + "/scenarios\"\n"},
		{"internal/loop/agent/a.go", "package agent\nimport (\n_ \"net/http\"\n_ \"" + module + "/internal/loop/config\"\n)\n"},
		{"internal/simulate/a.go", "package simulate\nimport _ \"" + module + "/internal/loop/config\"\n"},
		{"internal/shape/kernel/limit/a.go", "package limit\nimport (\n_ \"golang.org/x/sys/unix\"\n_ \"" + module + "/internal/linux/qdisc\"\n)\n"},
		{"cmd/congctl/a.go", "package main\nimport (\n_ \"" + module + "/internal/linux/sample\"\n_ \"" + module + "/internal/loop/store/sqlite\"\n_ \"github.com/spf13/cobra\"\n)\n"},
	},
}

func checkImports(files []*file) (faults []string) {
	for _, f := range files {
		if f.ast == nil {
			continue
		}
		k := kindOf(f.dir())
		if k == nil {
			faults = append(faults, f.fault(1, "%s is no folder of this house: cmd, internal, scenarios, proto, tools", f.dir()))
			continue
		}
		for _, spec := range f.ast.Imports {
			p := strings.Trim(spec.Path.Value, `"`)
			if strings.HasPrefix(p, module) && strings.HasSuffix(p, "test") && !f.forTests() {
				faults = append(faults, f.fault(f.line(spec.Pos()), "%s is for tests", p))
			}
			if !k.allows(p, f.test) && !(f.forTests() && p == module+"/"+forAllTests) {
				faults = append(faults, f.fault(f.line(spec.Pos()), "a %s package may not import %q: %s", k.name, p, k.why))
			}
		}
	}
	return faults
}

func kindOf(folder string) *kind {
	for i := range kinds {
		if matches(kinds[i].folders, folder) {
			return &kinds[i]
		}
	}
	return nil
}

func (k *kind) allows(p string, test bool) bool {
	own := strings.TrimPrefix(p, module+"/")
	switch {
	case own != p:
		to := kindOf(own)
		return to != nil && (matches(k.house, to.name) || matches(k.house, own))
	case !strings.Contains(strings.Split(p, "/")[0], "."):
		// A test may read its testdata: only what ships must be pure.
		return test || !matches(k.deny, p)
	case test && inModules(testModules, p):
		return true
	}
	return inModules(k.modules, p)
}

// matches reports whether p is one of patterns.
func matches(patterns []string, p string) bool {
	return slices.ContainsFunc(patterns, func(pattern string) bool {
		tree, all := strings.CutSuffix(pattern, "...")
		if !all {
			return p == pattern
		}
		if before, after, any := strings.Cut(tree, "*"); any {
			return strings.HasPrefix(p, before) && strings.Contains(p[len(before):]+"/", after)
		}
		return strings.HasPrefix(p+"/", tree)
	})
}

func inModules(modules []string, p string) bool {
	return slices.ContainsFunc(modules, func(m string) bool {
		return m == "..." || p == m || strings.HasPrefix(p, m+"/")
	})
}
