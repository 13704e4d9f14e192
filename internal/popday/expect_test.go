package popday

import (
	"maps"
	"math"
	"slices"
	"testing"

	"github.com/congctl/congctl/internal/popday/pop"
)

// TestEveryMeasure: what a day's file can bound is measured, and nothing else is.
func TestEveryMeasure(t *testing.T) {
	names, measured := slices.Sorted(maps.Keys(pop.Measures)), slices.Sorted(maps.Keys(measures))
	if !slices.Equal(names, measured) {
		t.Errorf("a file can bound %v, measured are %v", names, measured)
	}
}

func TestAnswers(t *testing.T) {
	at := func(v float64) *float64 { return &v }
	wide := &Interval{2.1, 1.4, 2.8}
	for _, c := range []struct {
		bound           pop.Expectation
		is              figure
		answer          Answer
		bounds, figures string
	}{
		{pop.Expectation{Measure: "effect", Least: at(2)}, figure{value: 2.1, interval: wide}, Yes, "at least 2", "2.10 [1.40, 2.80]"},
		{pop.Expectation{Measure: "effect", Least: at(2), Above: at(1.5)}, figure{value: 2.1, interval: wide}, No, "at least 2, interval above 1.5", "2.10 [1.40, 2.80]"},
		{pop.Expectation{Measure: "effect", Least: at(2.2)}, figure{value: 2.1, interval: wide}, No, "at least 2.2", "2.10 [1.40, 2.80]"},
		{pop.Expectation{Measure: "effect", Above: at(1)}, figure{value: 2.1}, Unknown, "interval above 1", "2.10"},
		{pop.Expectation{Measure: "effect", Least: at(1)}, figure{value: math.NaN(), note: "no pairs"}, Unknown, "at least 1", "- (no pairs)"},
		{pop.Expectation{Measure: "treated", Most: at(0)}, figure{}, Yes, "at most 0", "0"},
		{pop.Expectation{Measure: "treated", Most: at(0)}, figure{value: 1, note: "a 2 of seed 1"}, No, "at most 0", "1 (a 2 of seed 1)"},
		{pop.Expectation{Measure: "gain_share", Least: at(0.4)}, figure{value: 0.474, interval: &Interval{0.474, 0.46, 0.49}}, Yes, "at least 40 %", "47.4 % [46.0, 49.0]"},
	} {
		if a, b, f := c.is.answer(&c.bound), boundWords(&c.bound), c.is.words(c.bound.Measure); a != c.answer || b != c.bounds || f != c.figures {
			t.Errorf("%+v: %s, %s, %s", c, a, b, f)
		}
	}
}
