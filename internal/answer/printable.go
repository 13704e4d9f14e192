package answer

import (
	"fmt"
	"io"
	"sync"
	"unicode/utf8"
)

// Printable passes text on and escapes what a terminal would act on: control characters but
// newline and tab, the marks that turn the direction of writing, and bytes that are not UTF-8.
// What it writes for a character, as \u001b, means the same character in JSON.
type Printable struct {
	to   io.Writer
	mu   sync.Mutex
	part []byte // of a character whose other bytes come with the next write
}

// NewPrintable writes to w.
func NewPrintable(w io.Writer) *Printable { return &Printable{to: w} }

// Raw is the writer below: for what a verb itself does on a terminal.
func (p *Printable) Raw() io.Writer { return p.to }

func (p *Printable) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	in := append(p.part, b...)
	out := make([]byte, 0, len(in))
	for len(in) > 0 && utf8.FullRune(in) {
		r, n := utf8.DecodeRune(in)
		switch {
		case r == utf8.RuneError && n == 1:
			out = fmt.Appendf(out, `\x%02x`, in[0])
		case acts(r):
			out = fmt.Appendf(out, `\u%04x`, r)
		default:
			out = append(out, in[:n]...)
		}
		in = in[n:]
	}
	p.part = append([]byte(nil), in...)
	_, err := p.to.Write(out)
	return len(b), err
}

// Flush writes what is left of a character that was never completed.
func (p *Printable) Flush() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range p.part {
		if _, err := fmt.Fprintf(p.to, `\x%02x`, c); err != nil {
			return err
		}
	}
	p.part = nil
	return nil
}

// acts reports whether a terminal, or a person's eye, is misled by a character: C0 and C1
// controls (ECMA-48), and the bidirectional controls and separators of Unicode (UAX 9).
func acts(r rune) bool {
	switch {
	case r == '\n', r == '\t':
		return false
	case r < 0x20, r >= 0x7f && r < 0xa0:
		return true
	case r == 0x61c, r == 0x200e, r == 0x200f, r >= 0x2028 && r <= 0x202e, r >= 0x2066 && r <= 0x2069:
		return true
	}
	return false
}
