package plot

import (
	"encoding/xml"
	"flag"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

var rewrite = flag.Bool("rewrite", false, "write the golden files anew")

var small = map[string]*Plot{
	"line": {Title: "cwnd over time", Width: 300, Height: 80,
		X:      Axis{Label: "time, s", Scale: Fit(0, 10)},
		Y:      Axis{Scale: Fit(0, 100)},
		Legend: []Entry{{"bbr", "c0", -1}, {"cubic <&>", "c1", -1}},
		Marks: []Mark{
			Line{Points: []Point{{0, 0}, {5, 50}, {6, math.NaN()}, {7, 100}, {10, 100}}, Class: "c0", Title: "bbr"},
			Line{Points: []Point{{0, 10}, {5, 10}, {10, 20}}, Class: "c1", Step: true},
		}},
	"bars": {Title: "goodput", Width: 300, Height: 60,
		X:      Axis{Label: "Mbit/s", Scale: Fit(0.5, 90)},
		Y:      Axis{Scale: Scale{Lo: 2, Hi: 0}, Ticks: []Tick{{0.5, "bbr"}, {1.5, "cubic"}}, Lines: []float64{1}},
		Legend: []Entry{{"median", "c0", 0}, {"model", "band c1", -2}},
		Marks: []Mark{
			Box{X0: 0.5, X1: 90, Y0: 0.1, Y1: 0.9, Class: "band c0"},
			Whisker{Low: 70, High: 90, Y: 0.5, Class: "c0"},
			Dot{X: 80, Y: 0.5, Class: "c0", Title: "bbr: 80 Mbit/s"},
			Note{X0: 0.5, X1: 0.5, Y: 1.5, Text: "INVALID", Class: "bad"},
			Note{X0: 70, X1: 90, Y: 0.5, Text: "80 [70, 90]"},
		}},
}

// The drawings are small enough to be checked by hand.
func TestGolden(t *testing.T) {
	for name, p := range small {
		path := filepath.Join("testdata", name+".svg")
		got := p.SVG()
		if *rewrite {
			if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if got != string(want) {
			t.Errorf("%s (-rewrite makes the file anew):\n%s\nwant:\n%s", path, got, want)
		}
		if err := wellFormed(got); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func wellFormed(svg string) error {
	for d := xml.NewDecoder(strings.NewReader(svg)); ; {
		if _, err := d.Token(); err == io.EOF {
			return nil
		} else if err != nil {
			return err
		}
	}
}

func TestTicks(t *testing.T) {
	for _, c := range []struct {
		values []float64
		n      int
		want   string
	}{
		{nil, 5, "0 0.2 0.4 0.6 0.8 1.0"},
		{[]float64{0}, 5, "0 0.2 0.4 0.6 0.8 1.0"},
		{[]float64{0, 95.6}, 5, "0 20 40 60 80 100"},
		{[]float64{0, 102}, 6, "0 20 40 60 80 100 120"},
		{[]float64{3, 95.6}, 8, "2 5 10 20 50 100"},
		{[]float64{4, 95.6}, 5, "0 20 40 60 80 100"},
		{[]float64{0.9, 31_000}, 8, "1 10 100 1000 10,000"},
		{[]float64{0.07, 95.6}, 8, "0.05 0.1 0.2 0.5 1 2 5 10 20 50 100"},
		{[]float64{1e-6, 1e6}, 5, "0.000001 0.001 1 1000 1,000,000"},
		{[]float64{-3.5, 2.5}, 3, "-4 -2 0 2"},   // every fifth would be 0 alone
		{[]float64{2, 1000.5}, 3, "10 100 1000"}, // every second power would be one tick
		{[]float64{-0.03, 0.02}, 5, "-0.03 -0.02 -0.01 0 0.01 0.02"},
		{[]float64{math.NaN(), math.Inf(1), 12_345}, 3, "0 5000 10,000 15,000"},
	} {
		var got []string
		for _, tick := range Fit(c.values...).Ticks(c.n) {
			got = append(got, tick.Label)
		}
		if s := strings.Join(got, " "); s != c.want {
			t.Errorf("%v, %d: %s, want %s", c.values, c.n, s, c.want)
		}
	}
}

// Any finite values fit on their axis, in order, and it has at least two ticks within.
func TestFitHoldsItsValues(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		values := rapid.SliceOfN(rapid.Float64Range(-1e12, 1e12), 1, 20).Draw(t, "values")
		s := Fit(values...)
		for _, v := range values {
			if v < min(s.Lo, s.Hi)-1e-9*math.Abs(v) || v > max(s.Lo, s.Hi)+1e-9*math.Abs(v) {
				t.Fatalf("%v is not on %+v", v, s)
			}
			if at := s.At(v); !(at >= 0 && at <= 1) {
				t.Fatalf("%v stands at %v of %+v", v, at, s)
			}
		}
		n := rapid.IntRange(3, 12).Draw(t, "n")
		if ticks := s.Ticks(n); len(ticks) < 2 || len(ticks) > 3*n+2 {
			t.Fatalf("%+v has %d ticks of %d", s, len(ticks), n)
		}
	})
}

func TestThinKeepsTheExtremes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 3000).Draw(t, "points")
		points := make([]Point, n)
		for i := range points {
			points[i] = Point{float64(i), float64(rapid.IntRange(0, 1_000_000).Draw(t, "y"))}
		}
		thin := Thin(points, 50)
		if len(thin) > 2*51 || extremes(thin) != extremes(points) {
			t.Fatalf("%d points: %v, of %d: %v", len(thin), extremes(thin), n, extremes(points))
		}
		for i := 1; i < len(thin); i++ {
			if thin[i].X <= thin[i-1].X {
				t.Fatalf("not in order at %d: %v", i, thin)
			}
		}
	})
}

func extremes(points []Point) string {
	lo, hi := math.Inf(1), math.Inf(-1)
	for _, p := range points {
		lo, hi = min(lo, p.Y), max(hi, p.Y)
	}
	return fmt.Sprint(lo, hi)
}

func TestCDF(t *testing.T) {
	if got := fmt.Sprint(CDF([]float64{3, 1, 2, 4}, 10)); got != "[{1 0} {1 0.25} {2 0.5} {3 0.75} {4 1}]" {
		t.Error(got)
	}
	if got := fmt.Sprint(CDF([]float64{3, 1, 2, 4}, 2)); got != "[{1 0} {2 0.5} {4 1}]" {
		t.Error(got)
	}
	if CDF(nil, 2) != nil {
		t.Error("points of no values")
	}
}
