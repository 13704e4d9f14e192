package popday

import (
	"cmp"
	"math"
	"slices"

	"github.com/congctl/congctl/internal/goodput/comparison"
	"github.com/congctl/congctl/internal/tcp/record"
	"github.com/congctl/congctl/internal/tcp/stat"
)

// Course is a class's performance over the day under one policy, one point per block.
type Course struct {
	Policy string  `json:"policy"`
	Metric string  `json:"metric"` // goodput (of large responses, as the clients saw it) or delivery_rate (as congctl did)
	Class  string  `json:"class"`  // "" for all networks
	Points []Point `json:"points"`
}

// Point is one block. Quantiles are bytes/s, 0 if there were too few values.
type Point struct {
	FromS int64   `json:"from_s"`
	N     int     `json:"n"`
	P5    float64 `json:"p5"`
	P10   float64 `json:"p10"`
	P50   float64 `json:"p50"`
}

// Metrics of a Course.
const (
	metricGoodput = "goodput"
	metricRate    = "delivery_rate"
)

// fewestOfPoint: with fewer, the 5th percentile is the smallest one's luck.
const fewestOfPoint = 10

// spot is where a value belongs.
type spot struct {
	policy, metric, class string
	block                 int64
}

// weighed is a value and how many it stands for.
type weighed struct{ value, weight float64 }

func pointOf(fromS int64, list []weighed) Point {
	slices.SortFunc(list, func(a, b weighed) int { return cmp.Compare(a.value, b.value) })
	var values, sums []float64
	n := 0.0
	for _, w := range list {
		n += w.weight
		values, sums = append(values, w.value), append(sums, n)
	}
	p := Point{FromS: fromS, N: int(math.Round(n))}
	if p.N >= fewestOfPoint {
		for i, at := range []*float64{&p.P5, &p.P10, &p.P50} {
			*at = stat.Weighted(values, sums, n, percentiles[i])
		}
	}
	return p
}

// courses of every class and policy, and of all networks together.
func courses(in *Input, t *table, mix []Class) (out []Course) {
	bins := map[spot][]weighed{}
	add := func(policy, metric, class string, atS int64, v, w float64) {
		for _, name := range []string{"", class} {
			k := spot{policy, metric, name, atS / in.Experiment.BlockS}
			bins[k] = append(bins[k], weighed{v, w})
		}
	}
	for i := range t.units {
		for p, r := range t.units[i].at {
			if u := &t.units[i]; r != nil && u.large() {
				add(t.policies[p], metricGoodput, t.classOf[u.network], int64(u.startUs/1e6), r.goodput(), 1)
			}
		}
	}
	measured := t.rates(add)
	for _, policy := range t.policies {
		for _, metric := range []string{metricGoodput, metricRate} {
			if metric == metricRate && !measured[policy] {
				continue
			}
			for _, class := range append([]Class{{}}, mix...) {
				if class.Kind == kindNeighbour {
					continue
				}
				c := Course{Policy: policy, Metric: metric, Class: class.Name}
				for from := int64(0); from < int64(in.Day.EndUs/1e6); from += in.Experiment.BlockS {
					c.Points = append(c.Points, pointOf(from, bins[spot{policy, metric, class.Name, from / in.Experiment.BlockS}]))
				}
				out = append(out, c)
			}
		}
	}
	return out
}

// rates adds the delivery rates that congctl stored, and returns the policies under which it ran.
func (t *table) rates(add func(policy, metric, class string, atS int64, v, w float64)) (measured map[string]bool) {
	measured = map[string]bool{}
	for _, row := range t.runs {
		for _, r := range row {
			if r == nil || r.Loop == nil {
				continue
			}
			measured[r.Facts.Policy] = true
			class := map[record.Prefix]string{}
			for _, n := range r.Facts.Networks {
				class[n.Prefix] = n.Class
			}
			for i := range r.Loop.Rows {
				w := &r.Loop.Rows[i]
				name, known := class[w.Prefix]
				if at := w.Start - r.Facts.BeganUnixS; known && at >= 0 {
					values, weight := comparison.Rebuilt(w)
					for _, v := range values {
						add(r.Facts.Policy, metricRate, name, at, v, weight)
					}
				}
			}
		}
	}
	return measured
}
