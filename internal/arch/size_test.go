package arch

import (
	"go/ast"
	"path"
	"strings"
)

const (
	// maxFile: a file is read in one sitting; beyond 500 lines it holds two ideas.
	maxFile = 500
	// maxFunc: a function fits on one screen.
	maxFunc = 60
)

// Exceptions, each with its reason. One that is no longer needed is a fault too.
var (
	longFiles = map[string]string{}
	longFuncs = map[string]string{} // "path:func"
)

var fileSizeRule = rule{
	name:  "file size",
	check: checkFileSize,
	planted: []plant{
		{"internal/loop/policy/a.go", "package policy\n" + strings.Repeat("// x\n", maxFile)},
		{"bpf/a.bpf.c", strings.Repeat("/* x */\n", maxFile+1)},
	},
	clean: []plant{
		{"internal/loop/policy/a.go", "package policy\n" + strings.Repeat("// x\n", maxFile-1)},
		{"internal/loop/store/wire/a.pb.go", "package wire\n" + strings.Repeat("// x\n", 2*maxFile)},
		{"docs/a.md", strings.Repeat("x\n", 2*maxFile)},
	},
}

func checkFileSize(files []*file) (faults []string) {
	for _, f := range files {
		if f.generated || !isSource(f.path) {
			continue
		}
		_, excepted := longFiles[f.path]
		switch long := f.lines() > maxFile; {
		case long && !excepted:
			faults = append(faults, f.fault(maxFile, "%d lines, at most %d: split it by idea", f.lines(), maxFile))
		case !long && excepted:
			faults = append(faults, f.fault(1, "is short now: remove its exception"))
		}
	}
	return faults
}

func isSource(name string) bool {
	switch path.Ext(name) {
	case ".go", ".c", ".h", ".ts", ".tsx", ".proto", ".sh":
		return true
	}
	return false
}

var funcSizeRule = rule{
	name:  "function size",
	check: checkFuncSize,
	planted: []plant{
		{"internal/loop/policy/a.go", "package policy\nfunc f() {\n" + strings.Repeat("f()\n", maxFunc) + "}\n"},
		{"internal/loop/policy/a_test.go", "package policy\nfunc f() {\n" + strings.Repeat("f()\n", maxFunc) + "}\n"},
	},
	clean: []plant{
		{"internal/loop/policy/a.go", "package policy\nfunc f() {\n" + strings.Repeat("f()\n", maxFunc-2) + "}\n"},
		{"internal/loop/kernel/bpfobj/sock_x86_bpfel.go", "package bpfobj\nfunc f() {\n" + strings.Repeat("f()\n", maxFunc) + "}\n"},
	},
}

func checkFuncSize(files []*file) (faults []string) {
	goFiles(files, func(f *file) {
		for _, d := range f.ast.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if !ok || fn.Body == nil {
				continue
			}
			first := f.line(fn.Pos())
			n := f.line(fn.End()) - first + 1
			_, excepted := longFuncs[f.path+":"+fn.Name.Name]
			switch {
			case n > maxFunc && !excepted:
				faults = append(faults, f.fault(first, "%s has %d lines, at most %d: split it", fn.Name.Name, n, maxFunc))
			case n <= maxFunc && excepted:
				faults = append(faults, f.fault(first, "%s is short now: remove its exception", fn.Name.Name))
			}
		}
	})
	return faults
}
