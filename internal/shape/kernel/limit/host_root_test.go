package limit

import (
	"testing"
	"time"

	"github.com/congctl/congctl/internal/change"
	"github.com/congctl/congctl/internal/shape"
)

// On a kernel whose tbf drops super-packets the offloads go off first, under the journal,
// and come back on.
func TestOffloadsGoAndComeBack(t *testing.T) {
	p := newPair(t)
	h, err := NewHost(t.TempDir(), "/changes")
	if err != nil {
		t.Fatal(err)
	}
	before := settings(t, p)
	in(t, p.a, func() error {
		l, err := Read("a")
		if err != nil {
			return err
		}
		l.Kernel = [2]int{3, 10}
		old := Proposal{Link: l}
		if old.Target, err = shape.For(l, shape.Ask{Rate: 8e6}); err != nil {
			return err
		}
		if err := h.settings(&old); err != nil {
			return err
		}
		head, err := h.header("a", "test", time.Now())
		if err != nil {
			return err
		}
		_, err = h.engine.Apply(change.Plan{Header: head, Steps: old.Steps}, nil)
		return err
	})
	if got := settings(t, p); got[change.TSO] != "off" || got[change.GSO] != "off" || got[change.Egress] != "shaped 1000000 3028 103028 -" {
		t.Errorf("got %v", got)
	}
	in(t, p.a, func() error { _, err := h.Clear("a", false, time.Now()); return err })
	for kind, v := range settings(t, p) {
		if v != before[kind] {
			t.Errorf("%s: before %q, after %q", kind, before[kind], v)
		}
	}
}

func settings(t *testing.T, p pair) map[change.Kind]string {
	t.Helper()
	all := map[change.Kind]string{}
	for kind := range Places {
		all[kind] = get(t, p.a, kind)
	}
	return all
}
