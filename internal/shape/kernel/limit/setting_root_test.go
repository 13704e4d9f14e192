package limit

import (
	"errors"
	"strings"
	"testing"

	"github.com/congctl/congctl/internal/change"
	"github.com/congctl/congctl/internal/shape"
)

// Every setting is read as it was written, and the one before comes back.
func TestSettingsComeBack(t *testing.T) {
	for _, c := range []struct {
		name  string
		kind  change.Kind
		value string
	}{
		{"bucket", change.Egress, "shaped 1000000 204800 1048576 -"},
		{"bucket with fq_codel", change.Egress, "shaped 1000000 3028 103028 fq_codel"},
		{"ingress", change.Ingress, "shaped 500000 3028 53028 -"},
		{"tso", change.TSO, "off"},
		{"gso", change.GSO, "off"},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := newPair(t)
			before := get(t, p.a, c.kind)
			for range 2 { // writing twice is writing once
				set(t, p.a, c.kind, c.value)
				if got := get(t, p.a, c.kind); got != c.value {
					t.Errorf("wrote %q, read %q", c.value, got)
				}
			}
			in(t, p.a, func() error { return Places[c.kind].Write("a", change.Text(before)) })
			if got := get(t, p.a, c.kind); got != before {
				t.Errorf("before %q, after %q", before, got)
			}
			in(t, p.a, func() error {
				if _, err := find("ifb-cc1"); c.kind == change.Ingress && !errors.Is(err, ErrNoLink) {
					t.Errorf("an ifb is left: %v", err)
				}
				return nil
			})
		})
	}
}

// A bucket changes in place: what it counted stays.
func TestChangeInPlace(t *testing.T) {
	p := newPair(t)
	set(t, p.a, change.Egress, "shaped 1000000 3028 103028 -")
	set(t, p.a, change.Egress, "shaped 2000000 3028 203028 -")
	in(t, p.a, func() error {
		l, err := Read("a")
		if err != nil {
			return err
		}
		want := shape.Tbf{Rate: 16e6, Burst: 3028, Limit: 203028}
		if !l.Root.Ours() || *l.Root.Tbf != want || len(l.Root.Below) > 1 || !l.Splits() || !l.TSO || !l.GSO || l.MTU != 1500 {
			t.Errorf("got %+v", l)
		}
		return nil
	})
}

func TestNoLink(t *testing.T) {
	p := newPair(t)
	in(t, p.a, func() error {
		if _, err := Read("nosuch"); !errors.Is(err, ErrNoLink) {
			t.Errorf("got %v", err)
		}
		for _, name := range []string{"", "a/b", "sixteen-letters-", strings.Repeat("x", 128), "a b"} {
			if _, err := Read(name); err == nil || errors.Is(err, ErrNoLink) {
				t.Errorf("%q: %v", name, err)
			}
		}
		names, err := Names()
		if len(names) != 1 || names[0] != "a" {
			t.Errorf("links %q", names)
		}
		return err
	})
}

// A kernel that lacks what is to hang below the bucket leaves the link as it was.
func TestAllOrNothing(t *testing.T) {
	p := newPair(t)
	set(t, p.a, change.Egress, "shaped 1000000 3028 103028 -")
	before := get(t, p.a, change.Egress)
	err := p.a.Do(func() error {
		return Places[change.Egress].Write("a", change.Text("shaped 2000000 3028 103028 fq_codel"))
	})
	if after := get(t, p.a, change.Egress); err != nil && after != before {
		t.Errorf("%v, but %q became %q", err, before, after)
	}
	if err := p.a.Do(func() error { return Places[change.Egress].Write("a", change.Text("shaped 2000000 3028 103028 htb")) }); err == nil {
		t.Error("took htb below a bucket")
	}
}
