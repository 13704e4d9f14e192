package shape

import (
	"strings"
	"testing"
)

// show tells the loss of a limit that was kept once it was confirmed, and none of one that
// a boot takes away.
func TestShowAfterABoot(t *testing.T) {
	for _, kept := range []bool{true, false} {
		p := newPair(t)
		h, first := onSystemd(t), ask(8e6)
		before := get(t, p.a, Egress)
		first.LiveOnly = true
		setOrSkip(t, p, h, first)
		then := ask(8e6)
		then.Persist = kept
		setOrSkip(t, p, h, then)
		h.boot = "another"
		in(t, p.a, func() error { return Set(Egress, "a", before) }) // as a boot has it
		in(t, p.a, func() error {
			v, err := h.View("a")
			if told := strings.Contains(strings.Join(v.Warnings, "\n"), "a boot did not set it"); told != kept {
				t.Errorf("kept %t: warns of %q", kept, v.Warnings)
			}
			return err
		})
	}
}
