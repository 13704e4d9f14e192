package controller

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/congctl/congctl/internal/loop/control"
)

// TestAudit: each action is an event with operator, action, argument and result; a flood of refusals is
// counted, not kept one by one.
func TestAudit(t *testing.T) {
	s := fresh()
	b := newBench(t, s, &machine{}, t0)
	audit := func(by, name, arg string, err error) {
		b.Audit(t.Context(), control.Act{By: by, Name: name, Arg: arg, Err: err})
	}
	audit("ann", "stop", "--evict", nil)
	audit("ann", "stop", "--evict", nil)
	for range 50 {
		audit("bob", "stop", "", errors.New("may not\ndo this"))
	}
	audit("bob", "resume", "", errors.New("may not"))
	b.now += 10
	audit("bob", "stop", "", errors.New("may not"))
	audit("eve", "push", "", errors.New(strings.Repeat("ä", 1000)))
	var got []string
	for _, e := range s.events {
		if e.Kind == KindAudit {
			got = append(got, e.Text)
		}
	}
	want := []string{
		"stop --evict by ann: done", "stop --evict by ann: done", "stop by bob: refused: may not; do this", "resume by bob: refused: may not",
		"stop by bob: refused: may not (and 49 times more in the 10s before)", "push by eve: refused: " + strings.Repeat("ä", 200) + "...",
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	for i := range 3 * maxRefused {
		audit(fmt.Sprint("pid ", i), "stop", "", errors.New("no"))
	}
	if n := len(b.refusals.seen); n > maxRefused {
		t.Errorf("%d callers are remembered", n)
	}
}

// TestRefusedForDays: who is refused all the time has few events a day, and strangers of any number of names as few as one.
func TestRefusedForDays(t *testing.T) {
	s := fresh()
	b := newBench(t, s, &machine{}, t0)
	const day = 86400
	for i := range int64(day) {
		b.now = t0 + i
		b.Audit(t.Context(), control.Act{By: "bob", Name: "stop", Err: errors.New("may not")})
		b.Audit(t.Context(), control.Act{By: fmt.Sprint("stranger ", i), Name: fmt.Sprint("act ", i%7), Err: errors.New("no token"), Stranger: true})
	}
	bob, strangers, counted := 0, 0, 0
	for _, e := range s.events {
		more := 0
		if _, rest, ok := strings.Cut(e.Text, "(and "); ok {
			_, _ = fmt.Sscan(rest, &more)
		}
		switch {
		case e.Kind != KindAudit:
		case strings.Contains(e.Text, "by bob"):
			bob++
			counted += 1 + more
		default:
			strangers++
		}
	}
	if bob > 35 || bob < 20 || strangers != 4 || counted < day-3600 {
		t.Errorf("%d events of bob, which count %d of %d, %d of strangers", bob, counted, day, strangers)
	}
}
