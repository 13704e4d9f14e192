// Package pop holds the shipped days of a point of presence.
//
// It does not read them: core/pop does.
//
// Its trap: a file's name is the day's; `congctl lab pop demo` is demo.yml.
package pop

import (
	"embed"
	"strings"
)

//go:embed *.yml
var files embed.FS

// Names of all, in alphabetical order.
func Names() (names []string) {
	entries, _ := files.ReadDir(".") // of an embedded directory: cannot fail
	for _, e := range entries {
		names = append(names, strings.TrimSuffix(e.Name(), ".yml"))
	}
	return names
}

// Text of the file of that name; ok is false where there is none.
func Text(name string) (text []byte, ok bool) {
	text, err := files.ReadFile(name + ".yml")
	return text, err == nil
}
