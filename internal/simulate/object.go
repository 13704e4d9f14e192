package simulate

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/congctl/congctl/internal/strict"
)

// A line is a flat JSON object of seven fields, and a history has millions of lines.
// encoding/json would take 3 us for each and cannot detect a key that is set twice. So it
// only checks that the line is JSON, and the walk over what is then known to be well
// formed is short. TestEachFieldOracle compares it with encoding/json.

// eachField calls f with each key of an object and the bytes of its value. Objects and
// lists as values are handed on whole.
func eachField(line []byte, f func(key, value []byte) error) error {
	if !json.Valid(line) {
		return syntaxFault(line)
	}
	if line[0] != '{' {
		return strict.Fault{Problem: "not an object", Fix: `write {"window_start": ..., "pop": ..., ...}`}
	}
	for rest := blank(line[1:]); rest[0] != '}'; {
		var key, value []byte
		key, rest = cutString(rest)
		rest = blank(rest)[1:] // the colon
		value, rest = cutValue(blank(rest))
		name, _ := text(key)
		if err := f(name, value); err != nil {
			return err
		}
		if rest = blank(rest); rest[0] == ',' {
			rest = blank(rest[1:])
		}
	}
	return nil
}

func syntaxFault(line []byte) strict.Fault {
	var v any
	f := strict.Fault{Problem: "not JSON", Fix: "write one object a line"}
	if wrong := (*json.SyntaxError)(nil); errors.As(json.Unmarshal(line, &v), &wrong) {
		f.Problem += fmt.Sprintf(" from byte %d on", wrong.Offset)
	}
	return f
}

func blank(b []byte) []byte {
	for len(b) > 0 && (b[0] == ' ' || b[0] == '\t' || b[0] == '\r' || b[0] == '\n') {
		b = b[1:]
	}
	return b
}

// cutString cuts the string that b starts with, quotes included.
func cutString(b []byte) (s, rest []byte) {
	for i := 1; ; i++ {
		switch b[i] {
		case '\\':
			i++
		case '"':
			return b[:i+1], b[i+1:]
		}
	}
}

// cutValue cuts the value that b starts with.
func cutValue(b []byte) (v, rest []byte) {
	depth, i := 0, 0
	for ; ; i++ {
		switch b[i] {
		case '"':
			s, _ := cutString(b[i:])
			i += len(s) - 1
		case '{', '[':
			depth++
		case '}', ']':
			if depth == 0 {
				return b[:i], b[i:]
			}
			depth--
		case ',', ' ', '\t', '\r', '\n':
			if depth == 0 {
				return b[:i], b[i:]
			}
			continue
		}
		if depth == 0 && (b[i] == '"' || b[i] == '}' || b[i] == ']') {
			return b[:i+1], b[i+1:]
		}
	}
}
