package answer

import (
	"encoding/json"
	"strings"
	"testing"
)

// TestPrintable: whatever a foreign string holds, a terminal shows it and does not act on it; in
// JSON it is the same string. Where a write ends makes no difference.
func TestPrintable(t *testing.T) {
	const hostile = "Köln\t\x1b]0;pwned\x07\x1b[2J\r\u009b31m\u202egnp.exe\u2066\x7f\xff\x9b\n"
	const want = "Köln\t\\u001b]0;pwned\\u0007\\u001b[2J\\u000d\\u009b31m\\u202egnp.exe\\u2066\\u007f\\xff\\x9b\n"
	for size := 1; size <= len(hostile); size++ {
		var b strings.Builder
		p := NewPrintable(&b)
		for rest := hostile; rest != ""; {
			n := min(size, len(rest))
			if wrote, err := p.Write([]byte(rest[:n])); wrote != n || err != nil {
				t.Fatal(wrote, err)
			}
			rest = rest[n:]
		}
		if b.String() != want {
			t.Errorf("in writes of %d: %q", size, b.String())
		}
	}
	var b strings.Builder
	p := NewPrintable(&b)
	in := "a\u009b\u202e\x7f"
	if err := JSON(p, FormatJSON, in); err != nil {
		t.Fatal(err)
	}
	var out string
	if err := json.Unmarshal([]byte(b.String()), &out); err != nil || out != in || strings.ContainsRune(b.String(), 0x202e) {
		t.Errorf("%q, %v of %q", out, err, b.String())
	}
	if _, err := p.Write([]byte("\xe2\x80")); err != nil || p.Flush() != nil || !strings.HasSuffix(b.String(), `\xe2\x80`) {
		t.Errorf("half a character: %q", b.String())
	}
}
