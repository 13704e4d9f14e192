package foreign

import (
	"strings"
	"testing"
)

func TestCut(t *testing.T) {
	for in, want := range map[string]string{
		"":                   "",
		"cubic":              "cubic",
		"Köln":               "Köln",
		"12345678901":        "1234567890",
		"123456789ö":         "123456789?", // half a character
		"a\nb\tc":            "a?b?c",
		"\x1b[2J\u202ex\xff": "?[2J?x?",
		"\xff\xfe\xfd":       "???",
	} {
		if got := Cut(in, 10); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
	if n := testing.AllocsPerRun(10, func() { Cut("a reason without a fault in it", MaxText) }); n != 0 {
		t.Errorf("%v allocations for a text that is right", n)
	}
	big := strings.Repeat("\x01", 1<<20)
	if got := Cut(big, MaxText); got != strings.Repeat("?", MaxText) {
		t.Errorf("%d bytes", len(got))
	}
}
