package pop

import (
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestProgressLine(t *testing.T) {
	p := Progress{At: 12 * time.Minute, End: 4 * time.Hour, Responses: 920, Large: 217, Selected: 3}
	if got, want := p.String(), "12m0s of 4h0m0s: 920 responses, 217 large, 0 broken, 3 selected"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	p.Selected = NoSelection
	if got, want := p.String(), "12m0s of 4h0m0s: 920 responses, 217 large, 0 broken"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	for _, line := range []string{"", "fault: kill", "12m of 4h: 1 responses, 1 large, 0 broken", p.String() + ", more", "x" + p.String()} {
		if got, ok := ParseProgress(line); ok {
			t.Errorf("%q is read as %v", line, got)
		}
	}
}

// TestProgressIsReadBack: what the machine tells is what its host reads.
func TestProgressIsReadBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(0, 1<<30)
		p := Progress{
			At: time.Duration(n.Draw(t, "at")) * time.Second, End: time.Duration(n.Draw(t, "end")) * time.Millisecond,
			Responses: n.Draw(t, "responses"), Large: n.Draw(t, "large"), Broken: n.Draw(t, "broken"),
			Selected: rapid.IntRange(NoSelection, 500).Draw(t, "selected"),
		}
		if got, ok := ParseProgress(p.String()); !ok || got != p {
			t.Fatalf("%q is read as %v, %t", p, got, ok)
		}
	})
}
