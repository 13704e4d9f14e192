package metrics

import "bytes"

// PlainType is the content type of the older text format, which more programs read.
const PlainType = "text/plain; version=0.0.4; charset=utf-8"

// Plain returns a page in the text format 0.0.4. There a counter has the name of its samples, no unit is said, the page
// has no end, and a help escapes no quotes.
//
// Source: https://prometheus.io/docs/instrumenting/exposition_formats/
func Plain(page []byte) []byte {
	out, suffix := make([]byte, 0, len(page)), ""
	for line := range bytes.Lines(page) {
		what, rest, _ := bytes.Cut(line, []byte(" "))
		if string(what) != "#" {
			out = append(out, line...)
			continue
		}
		word, rest, _ := bytes.Cut(rest, []byte(" "))
		name, text, _ := bytes.Cut(rest, []byte(" "))
		switch string(word) {
		case "TYPE": // the first of a family
			if suffix = ""; string(text) == "counter\n" {
				suffix = "_total"
			}
		case "HELP":
			text = unquoted(text)
		default: // UNIT, EOF
			continue
		}
		out = append(append(append(out, "# "...), word...), ' ')
		out = append(append(append(append(out, name...), suffix...), ' '), text...)
	}
	return out
}

// unquoted takes the backslash from before each quote; one that is itself escaped stays.
func unquoted(help []byte) []byte {
	out := make([]byte, 0, len(help))
	for i := 0; i < len(help); i++ {
		if help[i] == '\\' && i+1 < len(help) {
			if i++; help[i] != '"' {
				out = append(out, '\\')
			}
		}
		out = append(out, help[i])
	}
	return out
}
