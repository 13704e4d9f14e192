package limit

import (
	"strings"
	"testing"
	"time"

	"github.com/congctl/congctl/internal/change"
)

// show tells the loss of a limit that was kept once it was confirmed, and none of one that
// a boot takes away.
func TestShowAfterABoot(t *testing.T) {
	for _, kept := range []bool{true, false} {
		p := newPair(t)
		h, then := onSystemd(t), ask(8e6)
		before := get(t, p.a, change.Egress)
		guard := h.Guarded(Pending{Link: "a"}, time.Minute, func(string) error { return nil })
		in(t, p.a, func() error { _, err := h.Set(then, "test", time.Now(), guard); return err })
		in(t, p.a, func() error { h.take("a"); return nil }) // it is confirmed
		then.Persist = kept
		setOrSkip(t, p, h, then)
		h.boot = "another"
		in(t, p.a, func() error { return Places[change.Egress].Write("a", change.Text(before)) }) // as a boot has it
		in(t, p.a, func() error {
			v, err := h.View("a")
			if told := strings.Contains(strings.Join(v.Warnings, "\n"), "the last boot did not set it"); told != kept {
				t.Errorf("kept %t: warns of %q", kept, v.Warnings)
			}
			return err
		})
	}
}
