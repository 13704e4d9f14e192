package advise

import (
	"fmt"
	"path"
	"strings"
	"unicode"
)

// grammar is how one program reads files of settings. In both comments are whole lines, a name may be a pattern, and a dash and
// a name alone take that name out of all patterns; testdata/sysctl.measured has what each of them made of a case.
type grammar struct {
	blank  string // what is cut off around a line, a name and a value
	ends   string // what ends a line beside "\n"
	dashes int    // how many "-" before a name mean that a refusal does not matter
	spaced bool   // blanks may follow the dash
	once   bool   // a setting is written once, with its last value, and a name alone takes it back
	loose  bool   // a name may end in a separator
}

// The grammars of systemd 252, which sets sysctls at boot, and of procps 4.0.2, which scripts and units run.
var (
	grammarSystemd = grammar{blank: " \t\n\r", ends: "\r\x00", dashes: 1, spaced: true, once: true, loose: true}
	grammarProcps  = grammar{blank: " \t\n\v\f\r", dashes: 2}
)

// parse reads a file: its settings with dotted keys, and the lines that do not do what their
// author meant.
func (g grammar) parse(file, text string) (set []Setting, faults []SyntaxFault) {
	for _, l := range g.lines(text) {
		line := strings.Trim(l.text, g.blank)
		if line == "" || line[0] == '#' || line[0] == ';' {
			continue
		}
		name, value, assigns := strings.Cut(line, "=")
		name, dashed := g.undash(strings.Trim(name, g.blank))
		s := Setting{File: file, Line: l.number, Key: g.key(name), Value: strings.Trim(value, g.blank)}
		s.Excludes = !assigns && dashed
		s.Glob = assigns && strings.ContainsAny(s.Key, "*?[")
		if why := g.fault(name, value, assigns, s.Excludes); why != "" {
			faults = append(faults, SyntaxFault{file, l.number, line, why})
		}
		if name != "" && (assigns || s.Excludes) {
			set = append(set, s)
		}
	}
	return set, faults
}

// line is one of a file, with its number from 1 as editors count.
type line struct {
	number int
	text   string
}

func (g grammar) lines(text string) (list []line) {
	n := 0
	for whole := range strings.SplitSeq(text, "\n") {
		n++
		pieces := strings.FieldsFunc(whole, func(r rune) bool { return strings.ContainsRune(g.ends, r) })
		for _, piece := range pieces {
			piece, _, _ = strings.Cut(piece, "\x00") // where a text ends for C
			list = append(list, line{n, piece})
		}
	}
	return list
}

func (g grammar) undash(name string) (bare string, dashed bool) {
	for range g.dashes {
		rest, is := strings.CutPrefix(name, "-")
		name, dashed = rest, dashed || is
	}
	if g.spaced && dashed {
		name = strings.Trim(name, g.blank)
	}
	return name, dashed
}

// key writes a name with dots between its parts, as it is found below /proc/sys; a name that
// cannot be found keeps a separator at its end.
func (g grammar) key(name string) string {
	p := name
	if i := strings.IndexAny(name, "./"); i >= 0 && name[i] == '.' { // then slashes and dots change their roles
		p = swap(name)
	}
	lost := !g.loose && strings.HasSuffix(p, "/")
	if p = strings.TrimPrefix(path.Clean("/"+p), "/"); lost {
		p += "/"
	}
	return swap(p)
}

// swap exchanges dots and slashes. A slash in a dotted key stands for a dot, as in the name of a VLAN.
func swap(name string) string { return strings.NewReplacer(".", "/", "/", ".").Replace(name) }

// fault says what is wrong with a line, "" if nothing.
func (g grammar) fault(name, value string, assigns, excludes bool) string {
	value = strings.Trim(value, g.blank)
	for i, r := range name + value {
		if lookalikes[r] != "" || i < len(name) && (r > unicode.MaxASCII || r < ' ' && r != '\t') {
			return fmt.Sprintf("it has %U%s, which becomes part of the name or the value: write the line in ASCII", r, lookalikes[r])
		}
	}
	switch {
	case excludes:
		return ""
	case !assigns:
		return `there is no "="`
	case name == "":
		return `there is no name before "="`
	case value == "":
		return `there is no value after "="`
	case strings.ContainsAny(value, "#;"):
		return "a comment after the value becomes part of it, and the kernel refuses it: put the comment on its own line"
	case quoted(value):
		return "quotes become part of the value: omit them"
	}
	return ""
}

// lookalikes are characters that look like another one, or like none.
var lookalikes = map[rune]string{'\ufeff': ", a byte order mark", '\u00a0': ", a no-break space", '\u200b': ", a space of no width",
	'\u2018': ", a curly quote", '\u2019': ", a curly quote", '\u201c': ", a curly quote", '\u201d': ", a curly quote", '\u2013': ", a dash", '\u2014': ", a dash"}
