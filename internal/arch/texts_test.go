package arch

import (
	"go/ast"
	"go/token"
	"regexp"
	"strconv"
)

// The form is "verb noun: cause", so that a chain of wraps reads as one
// sentence and the word "error" stands in it once at most.
var noise = regexp.MustCompile(`(?i)^(failed|failure|error|cannot|can't|could not|couldn't|unable)\b|failed to |unable to `)

var errorTextRule = rule{
	name:  "error texts",
	check: checkErrorTexts,
	planted: []plant{
		{"internal/loop/policy/a.go", "package policy\nimport \"fmt\"\nvar err = fmt.Errorf(\"failed to read: %w\", e)\n"},
		{"internal/loop/policy/a.go", "package policy\nimport \"errors\"\nvar err = errors.New(\"Cannot read\")\n"},
		{"internal/loop/policy/a.go", "package policy\nimport \"fmt\"\nvar err = fmt.Errorf(\"read x: unable to open %s\", p)\n"},
		{"internal/loop/policy/a.go", "package policy\nimport \"fmt\"\nvar err = fmt.Errorf(\"Read x: %w\", e)\n"},
	},
	clean: []plant{
		{"internal/loop/policy/a.go", "package policy\nimport \"fmt\"\nvar err = fmt.Errorf(\"read plan %s: %w\", p, e)\nvar e2 = fmt.Errorf(\"TCP_INFO: %w\", e)\n"},
	},
}

// capitalised finds an ordinary word with a capital; TCP_INFO and BBR are names.
var capitalised = regexp.MustCompile(`^[A-Z][a-z]+ `)

func checkErrorTexts(files []*file) (faults []string) {
	goFiles(files, func(f *file) {
		eachCall(f, func(pkg, fn string, call *ast.CallExpr) {
			if !(pkg == "fmt" && fn == "Errorf" || pkg == "errors" && fn == "New") || len(call.Args) == 0 {
				return
			}
			text := literal(call.Args[0])
			if noise.MatchString(text) || capitalised.MatchString(text) {
				faults = append(faults, f.fault(f.line(call.Pos()), "error %q: write it as \"verb noun: cause\", lower case", text))
			}
		})
	})
	return faults
}

var skipReasonRule = rule{
	name:  "skips have reasons",
	check: checkSkips,
	planted: []plant{
		{"internal/loop/policy/a_test.go", "package policy\nfunc f() { t.SkipNow() }\n"},
		{"internal/loop/policy/a_test.go", "package policy\nfunc f() { t.Skip() }\n"},
	},
	clean: []plant{
		{"internal/loop/policy/a_test.go", "package policy\nfunc f() { t.Skip(\"needs root: makes namespaces; minimum kernel 5.3\") }\n"},
	},
}

func checkSkips(files []*file) (faults []string) {
	goFiles(files, func(f *file) {
		eachCall(f, func(pkg, fn string, call *ast.CallExpr) {
			if !f.test || pkg != "t" && pkg != "b" && pkg != "tb" {
				return
			}
			if fn == "SkipNow" || (fn == "Skip" || fn == "Skipf") && len(call.Args) == 0 {
				faults = append(faults, f.fault(f.line(call.Pos()), "skip without a reason: say what is missing and the minimum kernel"))
			}
		})
	})
	return faults
}

// eachCall calls fn for each call of the form x.name(...).
func eachCall(f *file, fn func(x, name string, call *ast.CallExpr)) {
	ast.Inspect(f.ast, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok {
			return true
		}
		if sel, ok := call.Fun.(*ast.SelectorExpr); ok {
			if x, ok := sel.X.(*ast.Ident); ok {
				fn(x.Name, sel.Sel.Name, call)
			}
		}
		return true
	})
}

// literal is the text of a string literal, "" for anything else.
func literal(e ast.Expr) string {
	lit, ok := e.(*ast.BasicLit)
	if !ok || lit.Kind != token.STRING {
		return ""
	}
	s, err := strconv.Unquote(lit.Value)
	if err != nil {
		return ""
	}
	return s
}
