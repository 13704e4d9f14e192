package published

import (
	"flag"
	"fmt"
	"math"
	"os"
	"strings"
	"testing"

	"github.com/congctl/congctl/internal/lab/theory/model"
)

var rewrite = flag.Bool("rewrite", false, "write golden files")

// TestLossesAreFittedOnCubic: fitting again gives what is written down.
func TestLossesAreFittedOnCubic(t *testing.T) {
	fitted := 0
	for _, c := range calibrations() {
		if c.Fitted != "loss" {
			continue
		}
		fitted++
		table, _ := Find(c.Table)
		goodput := bitPerS(table.Unit, table.published(c.Key, cubic))
		if table.LinkBitPerS > 0 {
			goodput *= c.Path.RateBitPerS / table.LinkBitPerS
		}
		if got := calibrateLoss(c.Path, c.Transfer, goodput); math.Abs(got/c.Path.Loss-1) > 0.03 {
			t.Errorf("%s: loss %.5g, written down %.5g", c.Key, got, c.Path.Loss)
		}
	}
	if fitted != 5 {
		t.Errorf("%d losses fitted, want 5", fitted)
	}
}

// TestLANRoundTripIsFittedOnCubic: no round trip a tenth longer or shorter suits the five
// CUBIC values better (least squares of the logarithms).
func TestLANRoundTripIsFittedOnCubic(t *testing.T) {
	misfit := func(rtt float64) (sum float64) {
		for _, c := range calibrations() {
			if c.Fitted == "round trip" {
				c.Path.RTTSeconds = rtt
				log := math.Log(c.predict(cubic, model.Cubic).Ratio)
				sum += log * log
			}
		}
		return sum
	}
	best := misfit(lanRTT)
	for _, rtt := range []float64{lanRTT / 1.1, lanRTT * 1.1} {
		if other := misfit(rtt); other <= best {
			t.Errorf("%.1f ms: misfit %.4f; %.1f ms: %.4f", rtt*1e3, other, lanRTT*1e3, best)
		}
	}
	if best > 0.05 {
		t.Errorf("misfit %.3f: off by %.0f %% a row", best, 100*math.Sqrt(best/5))
	}
}

// TestPredictions writes what the models say of every calibrated row, for people.
func TestPredictions(t *testing.T) {
	var b strings.Builder
	for _, p := range predictions() {
		what := "predicted"
		if p.Fitted != "" {
			what = "fitted: " + p.Fitted
		}
		fmt.Fprintf(&b, "%-14s %-13s %-5s published %7.2f, model %7.2f (%.2f to %.2f), ratio %.2f, %s\n",
			p.Table, p.Key, p.Cong, p.Published, p.Expected, p.Low, p.High, p.Ratio, what)
		if p.Why != "" {
			fmt.Fprintf(&b, "    %s\n", p.Why)
		}
		if p.Fitted == "" && math.Abs(p.Ratio-1) > tie && p.Why == "" {
			t.Errorf("%s %s: ratio %.2f without a reason", p.Key, p.Cong, p.Ratio)
		}
	}
	golden(t, "testdata/predictions.txt", b.String())
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	if *rewrite {
		if err := os.WriteFile(name, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s differs (rewrite with -rewrite, then read the diff); got\n%s", name, got)
	}
}
