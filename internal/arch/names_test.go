package arch

import (
	"go/ast"
	"path"
	"regexp"
	"strings"
)

// A name that fits everything tells nothing, and such a place collects everything.
var emptyNames = map[string]bool{"util": true, "utils": true, "common": true, "types": true, "helper": true,
	"helpers": true, "misc": true, "base": true, "interfaces": true, "shared": true, "lib": true}

var emptySuffixes = regexp.MustCompile(`(Manager|Helpers?|Utils?|Misc)$`)

var nameRule = rule{
	name:  "names",
	check: checkNames,
	planted: []plant{
		{"internal/core/util/a.go", "package util\n"},
		{"internal/loop/policy/helpers.go", "package policy\n"},
		{"internal/loop/policy/types_test.go", "package policy\n"},
		{"internal/loop/policy/a.go", "package policy\ntype PlanManager struct{}\n"},
		{"internal/loop/policy/a.go", "package policy\nfunc ParseHelper() {}\n"},
		{"bpf/common.h", "\n"},
	},
	clean: []plant{
		{"internal/loop/policy/a.go", "package policy\nimport \"testing\"\ntype Plan struct{}\nfunc f(t *testing.T) { t.Helper() }\n"},
		{"docs/types.md", "\n"},
	},
}

func checkNames(files []*file) (faults []string) {
	for _, f := range files {
		if !isSource(f.path) {
			continue
		}
		stem, _, _ := strings.Cut(path.Base(f.path), ".")
		for _, n := range append(strings.Split(f.dir(), "/"), strings.TrimSuffix(stem, "_test")) {
			if emptyNames[n] {
				faults = append(faults, f.fault(1, "%q names nothing: call it after the idea it holds", n))
			}
		}
	}
	goFiles(files, func(f *file) {
		for name, line := range declared(f) {
			if emptySuffixes.MatchString(name) {
				faults = append(faults, f.fault(line, "%s: a suffix that says nothing; name what it does", name))
			}
		}
	})
	return faults
}

// declared returns the types and functions of f with their lines.
func declared(f *file) map[string]int {
	names := map[string]int{}
	for _, d := range f.ast.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			names[d.Name.Name] = f.line(d.Pos())
		case *ast.GenDecl:
			for _, s := range d.Specs {
				if t, ok := s.(*ast.TypeSpec); ok {
					names[t.Name.Name] = f.line(t.Pos())
				}
			}
		}
	}
	return names
}
