package answer

import (
	"io"
	"strings"
	"testing"
)

func TestFit(t *testing.T) {
	const text = "0123456789\n012345678\nüüüüüüüüüüüü\n01234567 9 1\n\n"
	for width, want := range map[int]string{
		0:  text,
		10: "0123456789\n012345678\nüüüüüüüüü…\n01234567…\n\n",
		1:  "…\n…\n…\n…\n\n",
	} {
		for _, step := range []int{1, 3, 100} { // a write may end anywhere, within a character too
			var b strings.Builder
			w := Fit(&b, width)
			for rest := text; rest != ""; {
				n := min(step, len(rest))
				if m, err := io.WriteString(w, rest[:n]); m != n || err != nil {
					t.Fatalf("wrote %d of %d: %v", m, n, err)
				}
				rest = rest[n:]
			}
			if b.String() != want {
				t.Errorf("width %d, step %d:\n%s\nwant\n%s", width, step, b.String(), want)
			}
		}
	}
}

// TestTableKeepsItsLines: a name of several lines makes one.
func TestTableKeepsItsLines(t *testing.T) {
	var b strings.Builder
	if err := Table(&b, "NAME N", [][]string{{"a\nALARM\tx", "1"}, {"b", "2"}}); err != nil || b.String() != "NAME         N\na\\nALARM\\tx  1\nb            2\n" {
		t.Errorf("%v\n%s", err, &b)
	}
}
