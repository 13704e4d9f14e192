package arch

import (
	"go/ast"
	"go/token"
	"regexp"
	"slices"
	"strings"
)

// The step "root" of CI runs the tests of files *_root_test.go, and no others: without root the
// rest has run already. A test elsewhere that skips without root would run nowhere.
var rootTestRule = rule{
	name:  "tests that need root",
	check: checkRootTests,
	planted: []plant{
		{"internal/loop/policy/a_test.go", "package policy\nfunc TestA(t *testing.T) { t.Skip(\"needs root: makes a namespace\") }\n"},
		{"internal/loop/policy/a_test.go", "package policy\nfunc TestA(t *testing.T) { t.Run(\"a\", a) }\nfunc a(t *testing.T) { need(t) }\n" +
			"func need(t *testing.T) {\n\tif os.Getuid() != 0 || x {\n\t\tt.Skipf(\"for %s\", x)\n\t}\n}\n"},
	},
	clean: []plant{
		{"internal/loop/policy/a_root_test.go", "package policy\nfunc TestA(t *testing.T) { need(t) }\n"},
		{"internal/loop/policy/a_test.go", "package policy\nfunc need(t *testing.T) { t.Skip(\"needs root: makes a namespace\") }\n" +
			"func TestB(t *testing.T) {\n\tif os.Geteuid() == 0 {\n\t\tt.Skip(\"for ordinary users\")\n\t}\n}\n"},
		{"internal/loop/plan/a_test.go", "package plan\nfunc TestA(t *testing.T) { need(t) }\n"},
	},
}

// checkRootTests goes by names within a folder: a test skips if it mentions a function that does.
func checkRootTests(files []*file) (faults []string) {
	mentions, skips := map[string][]string{}, map[string]bool{}
	eachTestFunction(files, func(f *file, d *ast.FuncDecl, name string) {
		skips[name] = skipsWithoutRoot(d)
		ast.Inspect(d.Body, func(n ast.Node) bool {
			if x, ok := n.(*ast.Ident); ok {
				mentions[name] = append(mentions[name], f.dir()+"."+x.Name)
			}
			return true
		})
	})
	for grown := true; grown; {
		grown = false
		for name, others := range mentions {
			if !skips[name] && slices.ContainsFunc(others, func(other string) bool { return skips[other] }) {
				skips[name], grown = true, true
			}
		}
	}
	eachTestFunction(files, func(f *file, d *ast.FuncDecl, name string) {
		if skips[name] && isTest.MatchString(d.Name.Name) && !strings.HasSuffix(f.path, "_root_test.go") {
			faults = append(faults, f.fault(f.line(d.Pos()), "%s skips without root: put it into a file *_root_test.go, which CI runs as root", d.Name))
		}
	})
	return faults
}

var isTest = regexp.MustCompile(`^Test[^a-z]`)

// eachTestFunction calls fn for each function in a test file, with a name that only it has.
func eachTestFunction(files []*file, fn func(f *file, d *ast.FuncDecl, name string)) {
	goFiles(files, func(f *file) {
		for _, d := range f.ast.Decls {
			if d, ok := d.(*ast.FuncDecl); ok && f.test && d.Recv == nil && d.Name.Name != "TestMain" {
				fn(f, d, f.dir()+"."+d.Name.Name)
			}
		}
	})
}

// skipsWithoutRoot goes by the reason of a skip, or by the condition around it.
func skipsWithoutRoot(d *ast.FuncDecl) (skips bool) {
	ast.Inspect(d.Body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CallExpr:
			skips = skips || isCall(n, "Skip", "Skipf") && len(n.Args) > 0 && strings.HasPrefix(literal(n.Args[0]), "needs root")
		case *ast.IfStmt:
			skips = skips || has(n.Cond, isOtherThanRoot) && has(n.Body, func(n ast.Node) bool { return isCall(n, "Skip", "Skipf") })
		}
		return true
	})
	return skips
}

func has(in ast.Node, what func(ast.Node) bool) (found bool) {
	ast.Inspect(in, func(n ast.Node) bool {
		found = found || what(n)
		return !found
	})
	return found
}

// isOtherThanRoot reports whether n is os.Geteuid() != 0.
func isOtherThanRoot(n ast.Node) bool {
	b, ok := n.(*ast.BinaryExpr)
	return ok && b.Op == token.NEQ && isCall(b.X, "Geteuid", "Getuid")
}

// isCall reports whether n calls x.name, for one of the names.
func isCall(n ast.Node, names ...string) bool {
	c, ok := n.(*ast.CallExpr)
	if !ok {
		return false
	}
	sel, ok := c.Fun.(*ast.SelectorExpr)
	return ok && slices.Contains(names, sel.Sel.Name)
}
