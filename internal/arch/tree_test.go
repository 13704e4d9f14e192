package arch

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"strings"
)

const module = "github.com/congctl/congctl"

// file is one text file of the tree; ast is set for Go files only.
type file struct {
	path      string // slash-separated, from the root of the repository
	src       []byte
	ast       *ast.File
	fset      *token.FileSet
	test      bool
	generated bool
}

func (f *file) dir() string { return path.Dir(f.path) }

// forTests reports whether f is a test, or of a package that tests import.
func (f *file) forTests() bool { return f.test || strings.HasSuffix(f.dir(), "test") }

func (f *file) lines() int { return bytes.Count(f.src, []byte("\n")) }

func (f *file) line(p token.Pos) int { return f.fset.Position(p).Line }

func (f *file) fault(line int, format string, args ...any) string {
	return fmt.Sprintf("%s:%d: %s", f.path, line, fmt.Sprintf(format, args...))
}

// skipped are places where builds and tools leave files that git ignores. In a linked
// worktree .git is a file.
var skipped = map[string]bool{".git": true, "bin": true, "dist": true, ".cache": true, "node_modules": true}

// load reads every text file below root and parses the Go ones.
func load(root fs.FS) ([]*file, error) {
	var files []*file
	err := fs.WalkDir(root, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		switch {
		case d.IsDir() && skipped[d.Name()]:
			return fs.SkipDir
		case d.IsDir() || skipped[d.Name()]:
			return nil
		}
		f, err := read(root, name)
		if f != nil {
			files = append(files, f)
		}
		return err
	})
	return files, err
}

func read(root fs.FS, name string) (*file, error) {
	src, err := fs.ReadFile(root, name)
	if err != nil || bytes.IndexByte(src, 0) >= 0 {
		return nil, err
	}
	f := &file{path: name, src: src, generated: isGenerated(name)}
	if !strings.HasSuffix(name, ".go") {
		return f, nil
	}
	f.test = strings.HasSuffix(name, "_test.go")
	f.fset = token.NewFileSet()
	f.ast, err = parser.ParseFile(f.fset, name, src, parser.ParseComments|parser.SkipObjectResolution)
	return f, err
}

// isGenerated goes by name, not by the "Code generated" line: a line is easily
// pasted to escape the rules, a name is seen in every diff.
func isGenerated(name string) bool {
	for _, tail := range []string{".pb.go", "_bpfel.go", "_bpfeb.go"} {
		if strings.HasSuffix(name, tail) {
			return true
		}
	}
	return false
}

// goFiles calls fn for each Go file written by hand.
func goFiles(files []*file, fn func(*file)) {
	for _, f := range files {
		if f.ast != nil && !f.generated {
			fn(f)
		}
	}
}
