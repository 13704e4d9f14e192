package outcome

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/congctl/congctl/internal/lab/scenario"
	"github.com/congctl/congctl/internal/tcp/stat"
)

// table makes a scenario of groups x arms (cubic first) and its results from lines of
// "group arm goodputs in Mbit/s"; "!" in front of a goodput breaks the cpu gate.
func table(t *testing.T, text string) (*scenario.Scenario, []Result) {
	s := &scenario.Scenario{Name: "test", Arms: []scenario.Arm{{Name: "cubic"}, {Name: "bbr"}},
		Seeds: scenario.Seeds{First: 1, Count: 3, Max: 8, HalfWidth: 0.05}}
	var results []Result
	for line := range strings.Lines(text) {
		words := strings.Fields(line)
		c := scenario.Cell{ID: words[0] + "/" + words[1], Arm: scenario.Arm{Name: words[1]}}
		s.Cells = append(s.Cells, c)
		for i, w := range words[2:] {
			bare, wrong := strings.CutPrefix(w, "!")
			r := Result{Cell: c.ID, Seed: uint64(i + 1), Valid: !wrong}
			if wrong {
				r.Gates = []Gate{{Name: "cpu", Got: bare + " busy", Want: "less", Why: "slow"}, {Name: "loss", Exempt: "asked"}, {Name: "rate", OK: true}}
			} else {
				r.Metrics = &Metrics{}
				if _, err := fmt.Sscan(bare, &r.Metrics.GoodputBitPerS); err != nil {
					t.Fatal(err)
				}
				r.Metrics.GoodputBitPerS *= 1e6
			}
			results = append(results, r)
		}
	}
	return s, results
}

func (i *Interval) String() string {
	if i == nil {
		return "none"
	}
	return fmt.Sprintf("%s [%s, %s]", digits(i.Median), digits(i.Low), digits(i.High))
}

// TestSummarise: rows, ratios and winners as testdata/summary tells them.
func TestSummarise(t *testing.T) {
	datadriven.RunTest(t, "testdata/summary", func(t *testing.T, d *datadriven.TestData) string {
		s, results := table(t, d.Input)
		var b strings.Builder
		sum := Summarise(s, results, d.Cmd == "paired")
		for _, r := range sum.Rows {
			fmt.Fprintf(&b, "%s: %d runs, %d invalid, goodput %s, ratio %s", r.Cell, r.Runs, r.Invalid, r.Goodput, r.Ratio)
			if r.Paired {
				b.WriteString(" paired")
			}
			fmt.Fprintf(&b, "\n  %s\n", r.Stop)
			for _, reason := range r.Reasons {
				fmt.Fprintf(&b, "  %s\n", reason)
			}
		}
		for _, w := range sum.Winners {
			fmt.Fprintf(&b, "%s: %q %s\n", w.Group, w.Arm, w.Note)
		}
		return b.String()
	})
}

const sweep = `a cubic 9.1 9.4 8.8 9.9 9.0 9.3 9.6
a bbr 93 94 95 92 93.5 94.2 93.1
b cubic 1.3 1.4 1.2 1.25
b bbr 70 30 72 71
`

// TestSummaryIsRepeatable: the same bytes whatever the order of the results.
func TestSummaryIsRepeatable(t *testing.T) {
	s, results := table(t, sweep)
	for _, paired := range []bool{true, false} {
		want, err := json.Marshal(Summarise(s, results, paired))
		if err != nil {
			t.Fatal(err)
		}
		r := stat.NewRand(4, 4)
		for range 10 {
			for i := range results {
				j := r.Index(i + 1)
				results[i], results[j] = results[j], results[i]
			}
			if got, _ := json.Marshal(Summarise(s, results, paired)); string(got) != string(want) {
				t.Fatalf("not the same:\n%s\n%s", got, want)
			}
		}
	}
}

// TestNothingToSummarise can be written as JSON, with lists for lists.
func TestNothingToSummarise(t *testing.T) {
	b, err := json.Marshal(Summarise(&scenario.Scenario{}, nil, false))
	if err != nil || !strings.Contains(string(b), `"rows":[],"winners":[]`) {
		t.Errorf("%s, %v", b, err)
	}
	s, _ := table(t, sweep)
	for _, zero := range []string{"a cubic 0 0 0\na bbr 0 0 0\n", "a cubic 0\na bbr 5\n"} {
		_, results := table(t, zero)
		if _, err := json.Marshal(Summarise(s, results, false)); err != nil {
			t.Errorf("%s: %v", zero, err)
		}
	}
}

// TestMoreSeeds: the rule, step by step, over goodputs that get narrow or do not.
func TestMoreSeeds(t *testing.T) {
	c := scenario.Cell{ID: "x/bbr", Arm: scenario.Arm{Name: "bbr"}, Seeds: scenario.Seeds{Count: 3, Max: 8, HalfWidth: 0.05}}
	other := Result{Cell: "y/bbr"}
	run := func(draw func(i int) float64) (n int, why string) {
		results := []Result{other}
		for {
			more, why := NeedsMore(&scenario.Scenario{}, &c, results)
			if !more {
				return len(results) - 1, why
			}
			results = append(results, Result{Cell: c.ID, Seed: uint64(len(results)), Valid: true, Metrics: &Metrics{GoodputBitPerS: draw(len(results))}})
		}
	}
	for _, k := range []struct {
		draw func(i int) float64
		n    int
		why  string
	}{
		{func(int) float64 { return 100 }, 3, "narrow enough: half-width 0 % after 3 seeds, 5 % requested"},
		{func(i int) float64 { return 100 + 3*float64(i%2) }, 3, "narrow enough: half-width 1.456 % after 3 seeds, 5 % requested"},
		{func(i int) float64 { return 100 * float64(1+i%2) }, 8, "budget spent: half-width 33.33 % after 8 seeds, 5 % requested"},
		{func(int) float64 { return 0 }, 8, "budget spent: half-width unknown after 8 seeds, 5 % requested"},
	} {
		if n, why := run(k.draw); n != k.n || why != k.why {
			t.Errorf("%d seeds: %s; want %d: %s", n, why, k.n, k.why)
		}
	}
	c.Seeds.HalfWidth = 0
	if n, why := run(func(i int) float64 { return float64(i) }); n != 3 || why != "3 seeds, as requested" {
		t.Errorf("%d seeds: %s", n, why)
	}
	if more, why := NeedsMore(&scenario.Scenario{}, &c, []Result{{Cell: c.ID}}); more || !strings.HasPrefix(why, "invalid") {
		t.Errorf("after an invalid one: %v, %s", more, why)
	}
	c.Seeds.Count = 1
	if n, why := run(func(i int) float64 { return float64(i) }); n != 1 || why != "one seed, as requested" {
		t.Errorf("%d seeds: %s", n, why)
	}
	c.Seeds = scenario.Seeds{}
	if more, _ := NeedsMore(&scenario.Scenario{Seeds: scenario.Seeds{Count: 1}}, &c, nil); !more {
		t.Error("the scenario's seeds do not count")
	}
}

// TestStopRuleIsHonest: stopping once the interval is narrow makes its coverage worse,
// since it stops at the lucky ones. For values that vary by 10 % and at most 40 seeds
// it still holds the truth in about seven of eight cases, as NeedsMore says.
func TestStopRuleIsHonest(t *testing.T) {
	c := scenario.Cell{ID: "x/bbr", Arm: scenario.Arm{Name: "bbr"}, Seeds: scenario.Seeds{Count: 6, Max: 40, HalfWidth: 0.05}}
	const trials = 120
	held, seeds := 0, 0
	for trial := range trials {
		r := stat.NewRand(uint64(trial), 5)
		var results []Result
		for more := true; more; more, _ = NeedsMore(&scenario.Scenario{}, &c, results) {
			sum := 0.0
			for range 12 {
				sum += r.Float64() - 0.5
			}
			results = append(results, Result{Cell: c.ID, Seed: uint64(len(results)), Valid: true, Metrics: &Metrics{GoodputBitPerS: 100 * math.Exp(sum/10)}})
		}
		i := stat.MedianInterval(numbers(results, goodput))
		if i.Low <= 100 && 100 <= i.High {
			held++
		}
		seeds += len(results)
	}
	t.Logf("holds in %d of %d, %.1f seeds each", held, trials, float64(seeds)/trials)
	if held < trials*80/100 {
		t.Errorf("holds the truth in %d of %d", held, trials)
	}
}

// TestDigits are what people read.
func TestDigits(t *testing.T) {
	got := []string{bits(95_623_456), bits(999), bits(350e9), micros(231_000), micros(12.3456), percent(0.16), percent(0), digits(1234567), percent(1e-7)}
	want := []string{"95.62 Mbit/s", "999 bit/s", "350 Gbit/s", "231 ms", "12.35 us", "16 %", "0 %", "1235000", "0.00001 %"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
