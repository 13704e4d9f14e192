package report

import (
	"fmt"
	"math"
	"testing"

	"github.com/congctl/congctl/internal/lab/outcome"
)

func TestArrivalsAreRates(t *testing.T) {
	run := &outcome.Run{Flows: []outcome.FlowRun{{Name: "a", Arrived: []outcome.Mark{
		{AtUs: 0}, {AtUs: 1_000_000, Bytes: 125_000}, {AtUs: 2_000_000, Bytes: 125_000}, {AtUs: 3_000_000, Bytes: 1_375_000}}}}}
	if got := fmt.Sprint(arrivals(run, "a")); got != "[{0 1} {1 0} {2 10} {3 NaN}]" {
		t.Error(got)
	}
	if arrivals(run, "b") != nil {
		t.Error("a flow that is not there arrived")
	}
}

// What the kernel has not measured, or means as "no limit", is no point of a line.
func TestSamplesWithoutAValue(t *testing.T) {
	s := []outcome.Sample{{AtUs: 2e6, Flow: "b", PacingBytesPerS: 125_000}, {AtUs: 1e6, Flow: "a"}, {AtUs: 3e6, Flow: "a", PacingBytesPerS: math.MaxUint64}}
	of := sampled(func(s *outcome.Sample) float64 { return pacing(s) })
	run := &outcome.Run{Samples: s}
	if got := fmt.Sprint(of(run, ""), of(run, "a")); got != "[{2 125000}] []" {
		t.Error(got)
	}
	order := sampled(func(s *outcome.Sample) float64 { return 1 })
	if got := fmt.Sprint(order(run, "")); got != "[{1 1} {2 1} {3 1}]" {
		t.Error(got)
	}
}

// The run in the middle stands for its cell; an invalid cell has none.
func TestTraceIsTheMedianRun(t *testing.T) {
	f := folder(t, smallText)
	v := newView(&f.Summary)
	for _, l := range []line{v.Groups[0].Rows[0], v.Groups[2].Rows[0]} {
		tr, err := f.trace(v, l)
		if err != nil {
			t.Fatal(err)
		}
		if !valid(l.Row) {
			if tr != nil {
				t.Errorf("%s is invalid and has a trace", l.Cell)
			}
			continue
		}
		for _, r := range f.Results {
			if r.Cell == l.Cell && r.Seed == tr.run.Seed && r.Metrics.GoodputBitPerS != l.Goodput.Median {
				t.Errorf("seed %d has %v, the median is %v", r.Seed, r.Metrics.GoodputBitPerS, l.Goodput.Median)
			}
		}
	}
}
