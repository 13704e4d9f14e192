package arch

import (
	"go/ast"
	"strings"
)

// impure are the functions of package time that read or wait for the machine's clock.
var impure = map[string]bool{"Now": true, "Since": true, "Until": true, "Sleep": true, "After": true,
	"AfterFunc": true, "Tick": true, "NewTimer": true, "NewTicker": true}

var clockRule = rule{
	name:  "no clock in pure packages",
	check: checkClock,
	planted: []plant{
		{"internal/loop/policy/a.go", "package policy\nimport \"time\"\nvar t = time.Now()\n"},
		{"internal/loop/policy/a.go", "package policy\nimport clock \"time\"\nvar now = clock.Now\n"},
		{"internal/loop/policy/a.go", "package policy\nimport . \"time\"\nvar t = Now()\n"},
		{"internal/loop/policy/a.go", "package policy\nimport \"time\"\nfunc f() { time.Sleep(1) }\n"},
	},
	clean: []plant{
		{"internal/loop/policy/a.go", "package policy\nimport \"time\"\nfunc f(now time.Time) time.Time { return now.Add(time.Hour) }\n"},
		{"internal/loop/policy/a_test.go", "package policy\nimport \"time\"\nvar start = time.Now()\n"},
		{"internal/loop/agent/a.go", "package agent\nimport \"time\"\nvar start = time.Now()\n"},
	},
}

func checkClock(files []*file) (faults []string) {
	goFiles(files, func(f *file) {
		name := localName(f, "time")
		if k := kindOf(f.dir()); f.test || name == "" || k == nil || k.name != "pure" {
			return
		}
		if name == "." {
			faults = append(faults, f.fault(1, "imports time as \".\": the clock could hide"))
		}
		ast.Inspect(f.ast, func(n ast.Node) bool {
			sel, ok := n.(*ast.SelectorExpr)
			if !ok || !impure[sel.Sel.Name] {
				return true
			}
			if x, ok := sel.X.(*ast.Ident); ok && x.Name == name {
				faults = append(faults, f.fault(f.line(sel.Pos()), "time.%s in a pure package: take the time as an argument", sel.Sel.Name))
			}
			return true
		})
	})
	return faults
}

// localName is the name under which f imports the package, "" if it does not.
func localName(f *file, pkg string) string {
	for _, spec := range f.ast.Imports {
		if spec.Path.Value != `"`+pkg+`"` {
			continue
		}
		if spec.Name != nil {
			return spec.Name.Name
		}
		return pkg[strings.LastIndex(pkg, "/")+1:]
	}
	return ""
}
