// Command typecheck checks the types of all packages of a module, and of all that they import, for other architectures:
//
//	typecheck ARCH...
//
// It finds what a compiler refuses: names that an architecture's files lack, constants that overflow its int. It is no
// compiler: code generation, assembly and linking are not tried. It takes a tenth of the time.
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"sync"
)

func main() {
	status := 0
	for _, arch := range os.Args[1:] {
		n, err := check(".", arch)
		if err != nil {
			fmt.Fprintf(os.Stderr, "typecheck linux/%s: %v\n", arch, err)
			status = 1
			continue
		}
		fmt.Printf("linux/%s: %d packages\n", arch, n)
	}
	os.Exit(status)
}

// unit is a package as go list has it, and what became of it when done is closed.
type unit struct {
	ImportPath, Dir string
	GoFiles         []string
	Imports         []string
	ImportMap       map[string]string // what a source file says, where it is not the path

	done  chan struct{}
	types *types.Package
	err   error
}

// check checks the module in dir and returns how many packages there were.
func check(dir, arch string) (int, error) {
	all, err := list(dir, arch)
	if err != nil {
		return 0, err
	}
	sizes := types.SizesFor("gc", arch)
	if sizes == nil {
		return 0, errors.New("no such architecture")
	}
	by := map[string]*unit{}
	for _, u := range all {
		by[u.ImportPath] = u
	}
	files, turns := token.NewFileSet(), make(chan struct{}, runtime.NumCPU())
	var running sync.WaitGroup
	for _, u := range all {
		running.Go(func() {
			defer close(u.done)
			for _, path := range u.Imports {
				if needed, ok := by[u.path(path)]; ok {
					<-needed.done
				}
			}
			turns <- struct{}{}
			u.types, u.err = u.check(by, files, sizes)
			<-turns
		})
	}
	running.Wait()
	for _, u := range all {
		err = errors.Join(err, u.err)
	}
	return len(all), err
}

func list(dir, arch string) (all []*unit, err error) {
	cmd := exec.Command("go", "list", "-deps", "-json=ImportPath,Dir,GoFiles,Imports,ImportMap", "./...")
	cmd.Dir, cmd.Stderr = dir, os.Stderr
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux", "GOARCH="+arch, "GOARM=7")
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("list packages: %w", err)
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("list packages: %w", err)
	}
	for d := json.NewDecoder(out); d.More() && err == nil; {
		u := &unit{done: make(chan struct{})}
		err = d.Decode(u)
		all = append(all, u)
	}
	if err := errors.Join(err, cmd.Wait()); err != nil {
		return nil, fmt.Errorf("list packages: %w", err)
	}
	return all, nil
}

func (u *unit) path(said string) string {
	if path, ok := u.ImportMap[said]; ok {
		return path
	}
	return said
}

// check parses and checks one package, whose imports are done, with the bodies of its functions.
func (u *unit) check(by map[string]*unit, files *token.FileSet, sizes types.Sizes) (*types.Package, error) {
	if u.ImportPath == "unsafe" {
		return types.Unsafe, nil
	}
	var parsed []*ast.File
	for _, name := range u.GoFiles {
		f, err := parser.ParseFile(files, filepath.Join(u.Dir, name), nil, parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		parsed = append(parsed, f)
	}
	imports := importer(func(said string) (*types.Package, error) {
		needed, ok := by[u.path(said)]
		if !ok || needed.types == nil {
			return nil, fmt.Errorf("package %s is missing, or has a fault", said)
		}
		return needed.types, nil
	})
	config := types.Config{Importer: imports, Sizes: sizes}
	return config.Check(u.ImportPath, files, parsed, nil)
}

type importer func(path string) (*types.Package, error)

func (i importer) Import(path string) (*types.Package, error) { return i(path) }
