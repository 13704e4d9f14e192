package popday_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/congctl/congctl/internal/core/popday"
	"github.com/congctl/congctl/internal/core/popday/popdaytest"
)

// TestDefaultBBR: where BBR is the edge's default and CUBIC the treatment, all is as on the
// day on which the two change names.
func TestDefaultBBR(t *testing.T) {
	policies := []string{"cubic", "bbr", "static", "loop"}
	want := build(t, imagined(t, 1, truth, []uint64{1, 2}, policies...))
	in := imagined(t, 1, truth, []uint64{1, 2}, policies...)
	in.Day.Default = "bbr"
	for i := range in.Runs {
		r := &in.Runs[i]
		r.Facts.Policy = other(r.Facts.Policy)
		for j := range r.Responses {
			r.Responses[j].Cong = other(r.Responses[j].Cong)
		}
	}
	got := build(t, in)
	if diff := cmp.Diff(want.Effects, got.Effects); diff != "" {
		t.Errorf("effects: -default cubic +default bbr\n%s", diff)
	}
	if c := got.Comparison; c.Default != "bbr" || c.Treatment != "cubic" || c.Reference != "bbr" {
		t.Errorf("default %q, treatment %q, reference %q", c.Default, c.Treatment, c.Reference)
	}
	for _, p := range want.Comparison.Policies {
		q := policyOf(t, got.Comparison, other(p.Policy))
		q.Policy = p.Policy
		if diff := cmp.Diff(p, q); diff != "" {
			t.Errorf("%s: -default cubic +default bbr\n%s", p.Policy, diff)
		}
	}
	for i, v := range want.Verdicts {
		g := got.Verdicts[i]
		if v.ID != g.ID || v.Answer != g.Answer || v.Claim != swapped(g.Claim) || v.Text != swapped(g.Text) {
			t.Errorf("verdict %+v, where BBR is the default %+v", v, g)
		}
	}
	for i := range want.Stories {
		if !slices.Equal(want.Stories[i].Treated, got.Stories[i].Treated) {
			t.Errorf("treated %v, where BBR is the default %v", want.Stories[i].Treated, got.Stories[i].Treated)
		}
	}
}

// TestNothingToGain: where the treatment harms, nobody asks for a share of its gain, and
// whether the loop harms fewer has an answer.
func TestNothingToGain(t *testing.T) {
	r := build(t, imagined(t, 1, popdaytest.Truth{"lossy": 0.3, "shallow": 0.3, "slow": 0.3}, []uint64{1}, "cubic", "bbr", "loop"))
	seen := 0
	for _, v := range r.Verdicts {
		switch v.ID {
		case "b", "i5":
			seen++
			if v.Answer != popday.Unknown || !strings.Contains(v.Text, "; all-BBR -") {
				t.Errorf("%+v", v)
			}
		case "i3":
			seen++
			if v.Answer == popday.Unknown {
				t.Errorf("%+v", v)
			}
		}
	}
	if seen != 3 {
		t.Errorf("%d of 3 verdicts", seen)
	}
}

func other(name string) string {
	switch name {
	case "cubic":
		return "bbr"
	case "bbr":
		return "cubic"
	}
	return name
}

func swapped(text string) string {
	return strings.NewReplacer("all-CUBIC", "all-BBR", "all-BBR", "all-CUBIC", "policy cubic", "policy bbr", "policy bbr", "policy cubic").Replace(text)
}
