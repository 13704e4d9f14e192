package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/congctl/congctl/internal/lab/outcome"
	"github.com/congctl/congctl/internal/lab/plot"
)

const (
	// slices of time in a line: two points each, on a plot some 400 pixels wide.
	slicesOfTime = 200
	// bins of the receiver's progress: coarse enough that each has many packets.
	goodputBins = 100
	// notPaced is the least rate, bytes/s, at which the kernel means "as fast as you can".
	notPaced = 1e12
)

// series is one thing that changed while a run went on.
type series struct {
	title, unit string
	step        bool                                           // each value holds until the next
	shared      bool                                           // of the path: the same whichever flow tells it
	points      func(r *outcome.Run, flow string) []plot.Point // seconds, unit
}

var allSeries = []series{
	{"Goodput at the receiver", "Mbit/s", true, false, arrivals},
	{"Congestion window", "packets", false, false, sampled(func(s *outcome.Sample) float64 { return float64(s.Cwnd) })},
	{"Pacing rate", "Mbit/s", false, false, sampled(func(s *outcome.Sample) float64 { return pacing(s) * 8 / mbit })},
	{"Delivery rate", "Mbit/s", false, false, sampled(func(s *outcome.Sample) float64 { return float64(s.DeliveryBytesPS) * 8 / mbit })},
	{"Smoothed round trip", "ms", false, false, sampled(func(s *outcome.Sample) float64 { return known(float64(s.SrttUs)) / milli })},
	{"Queue at the bottleneck", "kB", false, true, sampled(func(s *outcome.Sample) float64 { return float64(s.QueueBytes) / kilo })},
}

func pacing(s *outcome.Sample) float64 {
	if x := float64(s.PacingBytesPerS); x < notPaced {
		return known(x)
	}
	return math.NaN()
}

// known returns NaN, a gap in a line, for what the kernel had not measured yet.
func known(x float64) float64 {
	if x == 0 {
		return math.NaN()
	}
	return x
}

// sampled takes one value of each of a flow's samples; of all where flow is "".
func sampled(of func(*outcome.Sample) float64) func(*outcome.Run, string) []plot.Point {
	return func(r *outcome.Run, flow string) []plot.Point {
		var points []plot.Point
		for i := range r.Samples {
			if s := &r.Samples[i]; flow == "" || s.Flow == flow {
				if y := of(s); !math.IsNaN(y) {
					points = append(points, plot.Point{X: float64(s.AtUs) / second, Y: y})
				}
			}
		}
		slices.SortStableFunc(points, func(a, b plot.Point) int { return cmp.Compare(a.X, b.X) })
		return plot.Thin(points, slicesOfTime)
	}
}

// arrivals is a flow's progress as a rate, for each of a hundred parts of its time.
func arrivals(r *outcome.Run, flow string) []plot.Point {
	i := slices.IndexFunc(r.Flows, func(f outcome.FlowRun) bool { return f.Name == flow })
	if i < 0 || len(r.Flows[i].Arrived) < 2 {
		return nil
	}
	marks := r.Flows[i].Arrived
	bin := max(1, (marks[len(marks)-1].AtUs-marks[0].AtUs)/goodputBins)
	var points []plot.Point
	last := marks[0]
	for _, m := range marks[1:] {
		if us := m.AtUs - last.AtUs; us >= bin {
			points = append(points, plot.Point{X: float64(last.AtUs) / second, Y: float64(m.Bytes-last.Bytes) * 8 / float64(us)})
			last = m
		}
	}
	return append(points, plot.Point{X: float64(last.AtUs) / second, Y: math.NaN()})
}

// trace is a run that represents its cell, with how its flows are drawn.
type trace struct {
	line
	run   *outcome.Run
	flows []traceFlow
}

type traceFlow struct{ name, label, class string }

// trace picks the valid run with the median goodput, the lower of two.
func (f *Folder) trace(v *view, l line) (*trace, error) {
	runs := slices.DeleteFunc(f.of(l.Cell), func(r *outcome.Result) bool { return !r.Valid || r.Metrics == nil })
	if len(runs) == 0 || !valid(l.Row) {
		return nil, nil
	}
	slices.SortStableFunc(runs, func(a, b *outcome.Result) int {
		return cmp.Compare(a.Metrics.GoodputBitPerS, b.Metrics.GoodputBitPerS)
	})
	run, err := f.Load(l.Cell, runs[(len(runs)-1)/2].Seed)
	if err != nil {
		return nil, fmt.Errorf("time series of %s: %w", l.Cell, err)
	}
	return &trace{l, run, v.drawn(l, run)}, nil
}

// drawn names a run's flows. A single one has its arm's colour; several have those
// that the arms have left over.
func (v *view) drawn(l line, run *outcome.Run) []traceFlow {
	if len(run.Flows) == 1 {
		return []traceFlow{{run.Flows[0].Name, l.Arm, class(l.arm)}}
	}
	var out []traceFlow
	for i, f := range run.Flows {
		out = append(out, traceFlow{f.Name, f.Name + ", " + f.Cong, class(len(v.Scenario.Arms) + i)})
	}
	return out
}

// class is the colour of an arm or flow; from the ninth on they repeat, dashed.
func class(i int) string {
	c := fmt.Sprintf("c%d", i%8)
	if i/8%2 == 1 {
		c += " dash"
	}
	return c
}

func (t *trace) seconds() float64 {
	var us uint64
	for _, s := range t.run.Samples {
		us = max(us, s.AtUs)
	}
	return float64(us) / second
}
