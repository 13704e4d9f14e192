package popday_test

import (
	"encoding/json"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/congctl/congctl/internal/loop/journal"
	"github.com/congctl/congctl/internal/loop/policy"
	"github.com/congctl/congctl/internal/popday"
	"github.com/congctl/congctl/internal/popday/popdaytest"
)

// truth of the imagined treatment: 2.5 times for the lossy, three quarters for fibre.
var truth = popdaytest.Truth{"lossy": 2.5, "fibre": 0.75}

func build(t *testing.T, in *popday.Input) *popday.Report {
	t.Helper()
	r, err := popday.Build(in)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func effectOf(t *testing.T, list []popday.Effect, label string) popday.Effect {
	t.Helper()
	i := slices.IndexFunc(list, func(e popday.Effect) bool { return e.Label == label })
	if i < 0 {
		t.Fatalf("no effect of %s in %+v", label, list)
	}
	return list[i]
}

func policyOf(t *testing.T, c popday.Comparison, name string) popday.PolicyRow {
	t.Helper()
	i := slices.IndexFunc(c.Policies, func(p popday.PolicyRow) bool { return p.Policy == name })
	if i < 0 {
		t.Fatalf("no policy %s", name)
	}
	return c.Policies[i]
}

// TestKnownTruth: what was put into the runs comes out of the report.
func TestKnownTruth(t *testing.T) {
	r := build(t, imagined(t, 1, truth, []uint64{1, 2}, "loop", "cubic", "bbr"))
	lossy := effectOf(t, r.Effects, "lossy")
	if i := lossy.Goodput.P10.Interval; i == nil || i.Low > 2.5 || i.High < 2.5 || i.High > 4 || lossy.Goodput.Pairs < 30 {
		t.Errorf("randomised blocks: %+v %+v", lossy.Goodput, i)
	}
	if x := lossy.Truth[0]; x.Ratio == nil || math.Abs(x.Ratio.Value-2.5) > 0.3 || x.Covered == nil || !*x.Covered {
		t.Errorf("truth: %+v %+v", x, x.Ratio)
	}
	if x := lossy.Switched[0].Ratio.Value; x < 1.2 || x > 1.9 {
		t.Errorf("of a switch at 100 kB: %v", x)
	}
	if lossy.AppliedTreated != 1 || lossy.AppliedControl != 0 || lossy.Chosen != 6 {
		t.Errorf("applied %v and %v, chosen %d", lossy.AppliedTreated, lossy.AppliedControl, lossy.Chosen)
	}
	if slow := effectOf(t, r.Effects, "slow"); math.Abs(slow.Goodput.P50.Ratio-1) > 0.15 {
		t.Errorf("slow: %+v", slow.Goodput)
	}
	loop, bbr := policyOf(t, r.Comparison, "loop"), policyOf(t, r.Comparison, "bbr")
	// One interval in twenty misses its truth: a network that nothing changed may count as helped.
	if loop.Harmed != 0 || bbr.Harmed != 6 || bbr.Helped < 6 || bbr.Helped > 7 || loop.Helped == 0 || loop.Networks != 18 {
		t.Errorf("loop helped %d, harmed %d of %d; bbr helped %d, harmed %d", loop.Helped, loop.Harmed, loop.Networks, bbr.Helped, bbr.Harmed)
	}
	if loop.Large.P10.Ratio.Low <= 1 || loop.GainShare == nil || loop.GainShare.Value < 0.1 || loop.GainShare.Value > 0.9 {
		t.Errorf("loop's gain: %+v, share %+v", loop.Large.P10.Ratio, loop.GainShare)
	}
	if math.Abs(bbr.Cost.RetransRatio-2) > 0.01 || bbr.Small.Other != 0 || loop.Small.Other != 0 {
		t.Errorf("cost %+v", bbr.Cost)
	}
	got := answersOf(r)
	for _, measure := range []string{"effect", "gain", "treated", "selected", "promoted", "new_share", "small_treated", "harmed", "resent"} {
		if got[measure] != popday.Yes {
			t.Errorf("%s: %q", measure, got[measure])
		}
	}
}

// TestSwitchedFromTheFirstByte: a day that switches connections from their first byte on
// promises nothing of small responses, and all-BBR is the truth of its estimate.
func TestSwitchedFromTheFirstByte(t *testing.T) {
	in := imagined(t, 1, truth, []uint64{1, 2}, "cubic", "bbr", "loop")
	in.Experiment.MinBytes = 1
	r := build(t, in)
	if answers := answersOf(r); answers["small_treated"] != "" || answers["truth_missed"] != popday.Yes {
		t.Errorf("%v", answers)
	}
}

// TestStory: which networks were in the plan when, and how it ended.
func TestStory(t *testing.T) {
	in := imagined(t, 1, truth, []uint64{1}, "cubic", "loop")
	in.Runs[1].Loop.Events = append(in.Runs[1].Loop.Events, journal.Event{At: popdaytest.Began + 7200, Kind: string(policy.EventBrake)})
	r := build(t, in)
	s := r.Stories[0]
	if s.BrakeS == nil || *s.BrakeS != 7200 {
		t.Errorf("brake at %v", s.BrakeS)
	}
	if len(s.Spans) != 4 || *s.FirstTreatedS != 1800 || s.NewAfterRamp != 0 || s.Left["retired"] != 1 || !slices.Equal(s.Treated, []int{0, 1, 2, 3}) {
		t.Errorf("%+v", s)
	}
	for _, sp := range s.Spans {
		want := popday.Span{Network: sp.Network, Class: "lossy", State: "trial", FromS: 1800, ToS: 4 * 3600, End: "day"}
		if sp.Class == "slow" {
			want.Class, want.ToS, want.End = "slow", 3*3600, "retired"
		}
		if sp != want {
			t.Errorf("%+v, want %+v", sp, want)
		}
	}
	if len(s.Refused) != 1 || s.Refused[0] != (popday.Refusal{Network: 7, Class: "small-window", Guards: "rwnd"}) {
		t.Errorf("refused %+v", s.Refused)
	}
}

// TestFaultsShow: each expectation can be disappointed, and then the answer is no.
func TestFaultsShow(t *testing.T) {
	in := imagined(t, 1, popdaytest.Truth{"lossy": 1.2}, []uint64{1}, "cubic", "bbr", "loop")
	loop := &in.Runs[2]
	for i := range loop.Responses {
		r := &loop.Responses[i]
		class := loop.Facts.Networks[r.Network].Class
		if class == "small-window" && r.Asked >= popday.LargeBytes || class == "fibre" && r.Fresh {
			r.Cong = "bbr"
		}
	}
	for i := range loop.Loop.Rounds {
		round := &loop.Loop.Rounds[i]
		for j := range round.Chosen {
			if p := round.Chosen[j].Prefix; p == loop.Facts.Networks[3].Prefix || p == loop.Facts.Networks[0].Prefix {
				round.Chosen[j].State = policy.StatePromoted
			}
		}
		if round.Selected > 0 {
			round.Chosen = append(round.Chosen, policy.Selected{Prefix: loop.Facts.Networks[8].Prefix, State: policy.StateTrial})
		}
		round.New++
	}
	r := build(t, in)
	if x := r.Tellings[0]; x.Kind != popday.Moved || x.Network != 0 || x.FromS == 0 || x.Large == 0 || len(x.Under) != 3 {
		t.Errorf("the first network was promoted: %+v", x)
	}
	for _, e := range r.Expected {
		if slices.Contains([]string{"effect", "small_treated", "treated", "selected", "promoted", "new_share"}, e.Measure) && e.Answer != popday.No {
			t.Errorf("%s is %q: %s", e.Measure, e.Answer, e.Measured)
		}
	}
}

// TestInvalid: a run that breaks a gate has no number, and what needs it is not asked.
func TestInvalid(t *testing.T) {
	for name, spoil := range map[string]func(*popday.Run){
		"cpu":       func(r *popday.Run) { r.Facts.BusyShare = 0.81 },
		"softnet":   func(r *popday.Run) { r.Facts.SoftnetDropped = 1 },
		"responses": func(r *popday.Run) { r.Responses = r.Responses[1:] },
		"broken": func(r *popday.Run) {
			for i := range 10 {
				r.Responses[i].Trouble = "reset"
			}
		},
		"schedule": func(r *popday.Run) { r.Responses[5].Asked++; r.Responses[5].Got++ },
	} {
		in := imagined(t, 1, truth, []uint64{1}, "cubic", "bbr", "loop")
		spoil(&in.Runs[1])
		r := build(t, in)
		if l := r.Runs[1]; l.Valid || len(l.Broken) == 0 || !strings.HasPrefix(l.Broken[0], name+":") {
			t.Errorf("%s: %+v", name, l)
		}
		if p := policyOf(t, r.Comparison, "bbr"); len(p.Seeds) != 0 || p.Large.Responses != 0 || p.Large.P10.BytesPerS != 0 {
			t.Errorf("%s: an invalid run has numbers: %+v", name, p)
		}
		if got := answersOf(r); len(got) == 0 || got["switch_missed"]+got["gain_share"]+got["resent"] != "" {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// TestPartialFolders: whatever is missing, there is a report, which asks nothing that needs it.
func TestPartialFolders(t *testing.T) {
	for _, policies := range [][]string{{"cubic"}, {"loop"}, {"bbr"}, {"bbr", "loop"}, {"cubic", "bbr"}} {
		r := build(t, imagined(t, 1, truth, []uint64{1}, policies...))
		if _, err := json.Marshal(r); err != nil {
			t.Errorf("%v: %v", policies, err)
		}
		if got := answersOf(r); got["gain"] != "" || slices.Contains(policies, "loop") != (len(got) > 0) || (got["resent"] != "") != (len(policies) == 2 && policies[1] == "loop") {
			t.Errorf("%v: %v", policies, got)
		}
	}
}

func answersOf(r *popday.Report) map[string]popday.Answer {
	got := map[string]popday.Answer{}
	for _, e := range r.Expected {
		got[e.Measure] = e.Answer
	}
	return got
}

func TestOtherDaysAreRefused(t *testing.T) {
	for want, spoil := range map[string]func(*popday.Input){
		"there are none": func(in *popday.Input) { in.Runs = nil },
		"two are":        func(in *popday.Input) { in.Runs[1] = in.Runs[0] },
		"another day":    func(in *popday.Input) { in.Runs[1].Facts.Networks = in.Runs[1].Facts.Networks[1:] },
		"no networks":    func(in *popday.Input) { in.Day.Classes = in.Day.Classes[1:] },
	} {
		in := imagined(t, 1, truth, []uint64{1}, "cubic", "bbr")
		spoil(in)
		if _, err := popday.Build(in); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

// TestSameAgain: the same runs in another order give the same report.
func TestSameAgain(t *testing.T) {
	encode := func(in *popday.Input) string {
		b, err := json.Marshal(build(t, in))
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	in := imagined(t, 3, truth, []uint64{1, 2}, "cubic", "bbr", "loop")
	again := imagined(t, 3, truth, []uint64{1, 2}, "cubic", "bbr", "loop")
	slices.Reverse(again.Runs)
	if encode(in) != encode(again) {
		t.Error("differs")
	}
}
