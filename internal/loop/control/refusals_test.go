package control

import (
	"bytes"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"
)

// TestRefusals: of a flood ten lines a second are logged, the next second counts the others, and no line is long, breaks
// or has a terminal's escapes, whatever was asked by whom.
func TestRefusals(t *testing.T) {
	r := &Refusals{}
	at, told := time.Unix(1_800_000_000, 0), 0
	for range 1000 {
		if _, ok := r.next(at); ok {
			told++
		}
	}
	if tail, ok := r.next(at.Add(time.Second)); told != refusalsPerS || !ok || tail != " (and 990 more before)" {
		t.Errorf("%d of 1000 were told, then %q", told, tail)
	}
	for _, form := range []func(*bytes.Buffer) slog.Handler{
		func(b *bytes.Buffer) slog.Handler { return slog.NewTextHandler(b, nil) },
		func(b *bytes.Buffer) slog.Handler { return slog.NewJSONHandler(b, nil) },
	} {
		for _, word := range []string{"x", "\x1b[2J", "\n", `"`, `\`, "é", "\u202e", "💣", "\xff", "<"} {
			long := strings.Repeat(word, 1000)
			var b bytes.Buffer
			r := &Refusals{Log: slog.New(form(&b)).With("pop", strings.Repeat("p", 40))}
			r.Say(long)
			r.Action(t.Context(), Act{Name: "stop", By: long, Err: errors.New(long)})
			for line := range strings.Lines(b.String()) {
				if len(line) > maxRefusal {
					t.Errorf("%q: a line of %d bytes: %s", word, len(line), line)
				}
			}
			if n := strings.Count(b.String(), "\n"); n != 2 || strings.ContainsAny(b.String(), "\x1b\u202e") {
				t.Errorf("%q: %d lines: %s", word, n, &b)
			}
		}
	}
}
