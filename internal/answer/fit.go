package answer

import (
	"bytes"
	"io"
	"unicode/utf8"
)

// Fit returns a writer that cuts each line of a table after width columns and marks the
// cut with an ellipsis. Width 0 is no terminal: nothing is cut.
func Fit(w io.Writer, width int) io.Writer {
	if width <= 0 {
		return w
	}
	return &fitted{to: w, width: width}
}

// fitted keeps the line that has not ended yet, up to width characters and one more,
// which says that there is something to cut.
type fitted struct {
	to    io.Writer
	width int
	line  []byte
	n     int // characters in line
}

func (f *fitted) Write(b []byte) (int, error) {
	var out []byte
	for _, c := range b {
		if c == '\n' {
			out = append(append(out, f.end()...), '\n')
			continue
		}
		if utf8.RuneStart(c) {
			f.n++
		}
		if f.n <= f.width+1 {
			f.line = append(f.line, c)
		}
	}
	if _, err := f.to.Write(out); err != nil {
		return 0, err
	}
	return len(b), nil
}

// end returns the line, and begins the next one.
func (f *fitted) end() []byte {
	line := f.line
	if f.n > f.width {
		at := 0
		for range f.width - 1 {
			_, size := utf8.DecodeRune(line[at:])
			at += size
		}
		line = append(bytes.TrimRight(line[:at], " "), "…"...)
	}
	f.line, f.n = nil, 0
	return line
}
