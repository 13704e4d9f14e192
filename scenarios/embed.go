// Package scenarios holds the lab's shipped files: scenarios of cells and, in pop, days of
// a point of presence.
//
// It does not read them: lab/scenario and popday/pop do.
//
// Its trap: a file's name is the scenario's, or the day's; `congctl lab run quick` is
// quick.yml, and `congctl lab pop demo` is pop/demo.yml.
package scenarios

import (
	"embed"
	"fmt"
	"path"
	"path/filepath"
	"strings"

	"github.com/congctl/congctl/internal/linux/plainfile"
)

//go:embed *.yml pop/*.yml
var files embed.FS

// Shelf is the shipped files of one kind.
type Shelf struct{ dir, kind string }

// The shelves.
var (
	Cells = Shelf{".", "scenario"}
	Days  = Shelf{"pop", "day"}
)

const ending = ".yml"

// Names of all on the shelf, in alphabetical order.
func (s Shelf) Names() (names []string) {
	entries, _ := files.ReadDir(s.dir) // of an embedded directory: cannot fail
	for _, e := range entries {
		if name, ok := strings.CutSuffix(e.Name(), ending); ok {
			names = append(names, name)
		}
	}
	return names
}

// Text returns the text of the file of that name; ok is false if there is none.
func (s Shelf) Text(name string) (text []byte, ok bool) {
	text, err := files.ReadFile(path.Join(s.dir, name+ending))
	return text, err == nil
}

// Read finds a text: a shipped one by name, any other by file. name is the file's.
func (s Shelf) Read(arg string) (name string, text []byte, err error) {
	if strings.ContainsAny(arg, "/.") {
		if text, err = plainfile.Read(arg, 4<<20); err != nil {
			err = fmt.Errorf("read %s: %w", s.kind, err)
		}
		return filepath.Base(arg), text, err
	}
	text, ok := s.Text(arg)
	if !ok {
		err = fmt.Errorf("no %s %q: known are %s; name a file of your own with its ending or folder", s.kind, arg, strings.Join(s.Names(), ", "))
	}
	return arg + ending, text, err
}
