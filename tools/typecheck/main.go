// Command typecheck checks that packages and all that they import are right for an architecture, as the compiler's first half
// does: files by build tags, types, constants that overflow an int of 32 bits. It generates no code, which is nine tenths of a build.
//
//	go run ./tools/typecheck arm ./...
package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
)

func main() {
	if len(os.Args) < 3 {
		fmt.Fprintln(os.Stderr, "usage: typecheck ARCH PACKAGE...")
		os.Exit(2)
	}
	if err := check(os.Args[1], os.Args[2:]); err != nil {
		fmt.Fprintf(os.Stderr, "typecheck: %s: %v\n", os.Args[1], err)
		os.Exit(1)
	}
}

// listed is what go list says of a package.
type listed struct {
	ImportPath string
	Dir        string
	GoFiles    []string
	ImportMap  map[string]string // what the files write, if it is another path
	Module     *struct {
		Main      bool
		GoVersion string
	}
}

// check returns all faults of the packages, and none of their tests.
func check(arch string, patterns []string) error {
	sizes := types.SizesFor("gc", arch)
	if sizes == nil {
		return errors.New("no architecture of the Go compiler; go tool dist list has them")
	}
	list := exec.Command("go", append([]string{"list", "-deps", "-json=ImportPath,Dir,GoFiles,ImportMap,Module"}, patterns...)...)
	list.Env = append(os.Environ(), "GOOS=linux", "GOARCH="+arch, "CGO_ENABLED=0")
	list.Stderr = os.Stderr
	out, err := list.Output()
	if err != nil {
		return fmt.Errorf("list packages: %w", err)
	}
	seen, all := known{"unsafe": types.Unsafe}, token.NewFileSet()
	var faults []error
	for d := json.NewDecoder(bytes.NewReader(out)); ; { // a package comes after what it imports
		var p listed
		if err := d.Decode(&p); err == io.EOF {
			return errors.Join(faults...)
		} else if err != nil {
			return fmt.Errorf("read list: %w", err)
		}
		if p.ImportPath != "unsafe" {
			faults = append(faults, seen.add(p, all, sizes)...)
		}
	}
}

// known has the packages that were checked.
type known map[string]*types.Package

func (k known) add(p listed, all *token.FileSet, sizes types.Sizes) (faults []error) {
	var files []*ast.File
	for _, name := range p.GoFiles {
		f, err := parser.ParseFile(all, filepath.Join(p.Dir, name), nil, parser.SkipObjectResolution)
		if err != nil {
			return []error{err}
		}
		files = append(files, f)
	}
	c := types.Config{Importer: importer{k, p.ImportMap}, Sizes: sizes, IgnoreFuncBodies: p.Module == nil || !p.Module.Main,
		Error: func(err error) { faults = append(faults, err) }}
	if p.Module != nil && p.Module.GoVersion != "" {
		c.GoVersion = "go" + p.Module.GoVersion
	}
	k[p.ImportPath], _ = c.Check(p.ImportPath, all, files, nil) // Error has its faults
	return faults
}

// importer finds what one package's files import.
type importer struct {
	known known
	paths map[string]string
}

// Import returns a package that was checked before.
func (i importer) Import(path string) (*types.Package, error) {
	if to, ok := i.paths[path]; ok {
		path = to
	}
	if p := i.known[path]; p != nil {
		return p, nil
	}
	return nil, fmt.Errorf("package %s is not in the list", path)
}
