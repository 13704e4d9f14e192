package advise

import (
	"path"
	"strings"
)

// Setting is one assignment of a sysctl file or of a script.
type Setting struct {
	File     string
	Line     int // from 1
	Key      string
	Value    string
	Glob     bool   // the key has a pattern
	Excludes bool   // sets nothing: it takes the key out of the patterns
	Odd      bool   // it names the key, and Value is the command, which only a shell can read
	If       string // of an odd one: the value, if only it is uncertain whether or when the line is reached
}

// SyntaxFault is a line of a sysctl file that does not do what its author meant.
type SyntaxFault struct {
	File string
	Line int
	Text string
	Why  string
}

// settings reads all files, in their order.
func (g grammar) settings(files Files) (set []Setting, faults []SyntaxFault) {
	for _, f := range files {
		s, wrong := g.parse(f.Path, f.Text)
		set, faults = append(set, s...), append(faults, wrong...)
	}
	return set, faults
}

// written returns what one run of a program on files writes to a key, in the order in which it
// does. A name, even one that only excludes, beats every pattern.
func (g grammar) written(files Files, key string) []Setting {
	var named, globbed []Setting
	excluded := false
	set, _ := g.settings(files)
	for _, s := range set {
		switch {
		case s.Excludes && s.Key == key:
			if excluded = true; g.once {
				named = nil
			}
		case s.Excludes || !s.sets(key):
		case s.Glob:
			globbed = append(globbed, s)
		default:
			named = append(named, s)
		}
	}
	if excluded || len(named) > 0 {
		return named
	}
	return globbed
}

func quoted(s string) bool {
	return len(s) > 1 && (s[0] == '"' || s[0] == '\'') && s[len(s)-1] == s[0]
}

// dotted writes a key with dots between its parts. A slash within a part then stands
// for a dot in it, as in the name of a VLAN.
func dotted(key string) string { return grammarProcps.key(key) }

// sets reports whether a setting is for a key, by name or by pattern.
func (s Setting) sets(key string) bool {
	if !s.Glob {
		return s.Key == key
	}
	match, err := path.Match(strings.ReplaceAll(swap(s.Key), "[!", "[^"), swap(key))
	return err == nil && match
}
