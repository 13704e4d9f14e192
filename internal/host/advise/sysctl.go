package advise

import (
	"path"
	"strings"
)

// Setting is one assignment of a sysctl file.
type Setting struct {
	File    string
	Line    int // from 1
	Key     string
	Value   string
	Ignored bool   // with "-" before the key: the kernel's refusal is not reported
	Glob    bool   // the key has a pattern
	Odd     bool   // of a script: it names the key, and Value is the command, which only a shell can read
	If      string // of an odd one: the value, if only it is uncertain whether the line is reached
}

// SyntaxFault is a line of a sysctl file that does not do what its author meant.
type SyntaxFault struct {
	File string
	Line int
	Text string
	Why  string
}

// ParseSysctl reads a sysctl.d file or sysctl.conf, as sysctl.d(5) and sysctl.conf(5) agree
// on it: comments only as whole lines, "-" before a key whose failure does not matter,
// patterns. It returns keys with dots; if the first separator is a slash, slashes and dots
// change their roles.
func ParseSysctl(file, text string) (set []Setting, faults []SyntaxFault) {
	n := 0
	for line := range strings.Lines(text) {
		n++
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' || line[0] == ';' {
			continue
		}
		fault := func(why string) { faults = append(faults, SyntaxFault{file, n, line, why}) }
		key, value, ok := strings.Cut(line, "=")
		s := Setting{File: file, Line: n, Value: strings.TrimSpace(value)}
		key, s.Ignored = strings.CutPrefix(strings.TrimSpace(key), "-")
		s.Key = dotted(strings.TrimSpace(key))
		s.Glob = strings.ContainsAny(s.Key, "*?[")
		switch {
		case !ok && s.Ignored: // takes the key out of the patterns
			continue
		case !ok:
			fault("there is no \"=\"")
			continue
		case s.Key == "":
			fault("there is no name before \"=\"")
			continue
		case s.Value == "":
			fault("there is no value after \"=\"")
		case strings.ContainsAny(s.Value, "#;"):
			fault("a comment after the value becomes part of it, and the kernel refuses it: put the comment on its own line")
		case quoted(s.Value):
			fault("quotes become part of the value: omit them")
		}
		set = append(set, s)
	}
	return set, faults
}

// settings reads all files, in their order.
func settings(files Files) (set []Setting, faults []SyntaxFault) {
	for _, f := range files {
		s, wrong := ParseSysctl(f.Path, f.Text)
		set, faults = append(set, s...), append(faults, wrong...)
	}
	return set, faults
}

func quoted(s string) bool {
	return len(s) > 1 && (s[0] == '"' || s[0] == '\'') && s[len(s)-1] == s[0]
}

// dotted writes a key with dots between its parts. A slash within a part then stands
// for a dot in it, as in the name of a VLAN.
func dotted(key string) string {
	if i := strings.IndexAny(key, "./"); i < 0 || key[i] == '.' {
		return key
	}
	return strings.NewReplacer(".", "/", "/", ".").Replace(key)
}

// sets reports whether a setting is for a key, by name or by pattern.
func (s Setting) sets(key string) bool {
	if !s.Glob {
		return s.Key == key
	}
	match, err := path.Match(strings.ReplaceAll(s.Key, ".", "/"), strings.ReplaceAll(key, ".", "/"))
	return err == nil && match
}
