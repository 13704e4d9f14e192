// Package scenarios holds the lab's shipped files: scenarios of cells and, in pop, days of
// a point of presence.
//
// It does not read them: core/scenario and core/pop do.
//
// Its trap: a file's name is the scenario's, or the day's; `congctl lab run quick` is
// quick.yml, and `congctl lab pop demo` is pop/demo.yml.
package scenarios

import (
	"embed"
	"path"
	"strings"
)

//go:embed *.yml pop/*.yml
var files embed.FS

// Shelf is the shipped files of one kind.
type Shelf struct{ dir string }

// The shelves.
var (
	Cells = Shelf{"."}
	Days  = Shelf{"pop"}
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

// Text of the file of that name; ok is false where there is none.
func (s Shelf) Text(name string) (text []byte, ok bool) {
	text, err := files.ReadFile(path.Join(s.dir, name+ending))
	return text, err == nil
}
