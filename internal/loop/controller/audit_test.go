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
