package journal

import (
	"context"
	"testing"

	"github.com/congctl/congctl/internal/tcp/record"
)

type headsOnly []Head

func (h headsOnly) Heads(_ context.Context, from, to int64) (in []Head, err error) {
	for _, x := range h {
		if x.Start >= from && x.Start < to {
			in = append(in, x)
		}
	}
	return in, nil
}

func (headsOnly) Windows(context.Context, int64, int64, func(*record.Window) error) error { return nil }

// TestBelieved runs windows of 300 s from 0 on, some of them unknown or not there.
func TestBelieved(t *testing.T) {
	const year = 365 * 86400
	gaps := map[string]func(i int) (there bool, note string){
		"all":          func(int) (bool, string) { return true, "" },
		"half unknown": func(i int) (bool, string) { return true, []string{"", "starved"}[i%2] },
		"third gone":   func(i int) (bool, string) { return i%3 != 0, "" },
	}
	for _, c := range []struct {
		gaps    string
		windows int
		now     int64
		want    bool
	}{
		{"all", 0, 0, false},
		{"all", 287, 287 * 300, false},
		{"all", 288, 288 * 300, true},
		{"all", 1000, 1000*300 + 86400, true},
		{"all", 1000, 1000*300 + 86400 + 300, false},
		{"all", 1000, 1000*300 + year, false},
		{"all", 1000, 0, false},
		{"half unknown", 575, 575 * 300, true},
		{"half unknown", 574, 574 * 300, false},
		{"third gone", 1000, 1000 * 300, true},
	} {
		var heads headsOnly
		for i := range c.windows {
			if there, note := gaps[c.gaps](i); there {
				heads = append(heads, Head{Start: int64(i) * 300, Note: note})
			}
		}
		if got, err := Believed(t.Context(), heads, c.now, 300); got != c.want || err != nil {
			t.Errorf("%d windows (%s), now %d: %v, %v", c.windows, c.gaps, c.now, got, err)
		}
	}
}
