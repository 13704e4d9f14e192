package popday_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/congctl/congctl/internal/popday"
	"github.com/congctl/congctl/internal/popday/popdaytest"
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
	if diff := cmp.Diff(want.Expected, got.Expected); diff != "" {
		t.Errorf("expected: -default cubic +default bbr\n%s", diff)
	}
	for i := range want.Stories {
		if !slices.Equal(want.Stories[i].Treated, got.Stories[i].Treated) {
			t.Errorf("treated %v, where BBR is the default %v", want.Stories[i].Treated, got.Stories[i].Treated)
		}
	}
}

// TestNothingToGain: where the treatment harms, no share of its gain is asked for.
func TestNothingToGain(t *testing.T) {
	r := build(t, imagined(t, 1, popdaytest.Truth{"lossy": 0.3, "shallow": 0.3, "slow": 0.3}, []uint64{1}, "cubic", "bbr", "loop"))
	answers := answersOf(r)
	for measure, want := range map[string]popday.Answer{"gain": popday.No, "gain_share": "", "gain_share_late": "", "harmed": popday.No} {
		if answers[measure] != want {
			t.Errorf("%s: %q, want %q in %v", measure, answers[measure], want, answers)
		}
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
