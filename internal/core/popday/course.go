package popday

import (
	"math"
	"slices"

	"github.com/congctl/congctl/internal/core/comparison"
	"github.com/congctl/congctl/internal/core/stat"
)

// Course is how a class fared over the day under one policy, a point each block.
type Course struct {
	Policy string  `json:"policy"`
	Metric string  `json:"metric"` // goodput (of large responses, as the clients saw it) or delivery_rate (as congctl did)
	Class  string  `json:"class"`  // "" for all networks
	Points []Point `json:"points"`
}

// Point is one block. Quantiles are bytes/s, 0 where there were too few values.
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

// fewestOfPoint: of fewer the 5th percentile is the smallest one's luck.
const fewestOfPoint = 10

// bin holds the values of one block with how many each stands for.
type bin struct{ values, weights []float64 }

func (b *bin) add(v, w float64) { b.values, b.weights = append(b.values, v), append(b.weights, w) }

func (b *bin) point(fromS int64) Point {
	n := 0.0
	for _, w := range b.weights {
		n += w
	}
	p := Point{FromS: fromS, N: int(math.Round(n))}
	if p.N < fewestOfPoint {
		return p
	}
	order := seq(len(b.values))
	slices.SortFunc(order, func(x, y int32) int {
		switch {
		case b.values[x] < b.values[y]:
			return -1
		case b.values[x] > b.values[y]:
			return 1
		}
		return 0
	})
	values, weights := make([]float64, len(order)), make([]float64, len(order))
	for i, k := range order {
		values[i], weights[i] = b.values[k], b.weights[k]
	}
	sums := stat.Running(weights)
	for i, at := range []*float64{&p.P5, &p.P10, &p.P50} {
		*at = stat.Weighted(values, sums, n, percentiles[i])
	}
	return p
}

// courses of every class and policy, and of all networks together.
func courses(in *Input, t *table, mix []Class) (out []Course) {
	names := []string{""}
	for _, c := range mix {
		names = append(names, c.Name)
	}
	bins := int((int64(in.Day.EndUs/1e6) + in.Experiment.BlockS - 1) / in.Experiment.BlockS)
	for p, policy := range t.policies {
		goods, rates := newBins(names, bins), newBins(names, bins)
		measured := false
		for seed, row := range t.runs {
			if row[p] == nil {
				continue
			}
			t.goodputs(goods, seed, p, in.Experiment.BlockS)
			if row[p].Loop != nil {
				measured = true
				t.rates(rates, row[p], in.Experiment.BlockS)
			}
		}
		out = append(out, courseOf(policy, metricGoodput, names, goods, in.Experiment.BlockS)...)
		if measured {
			out = append(out, courseOf(policy, metricRate, names, rates, in.Experiment.BlockS)...)
		}
	}
	return out
}

func newBins(names []string, n int) map[string][]bin {
	m := map[string][]bin{}
	for _, name := range names {
		m[name] = make([]bin, n)
	}
	return m
}

func put(m map[string][]bin, class string, at int64, v, w float64) {
	for _, name := range []string{"", class} {
		if list := m[name]; at >= 0 && at < int64(len(list)) {
			list[at].add(v, w)
		}
	}
}

func (t *table) goodputs(m map[string][]bin, seed, p int, blockS int64) {
	for i := range t.units {
		if u := &t.units[i]; u.seed == seed && u.large() {
			put(m, t.classOf[u.network], int64(u.startUs/1e6)/blockS, u.at[p].goodput(), 1)
		}
	}
}

func (t *table) rates(m map[string][]bin, r *Run, blockS int64) {
	class := map[any]string{}
	for _, n := range r.Facts.Networks {
		class[n.Prefix] = n.Class
	}
	for i := range r.Loop.Rows {
		w := &r.Loop.Rows[i]
		name, ok := class[w.Prefix]
		if !ok || w.Start < r.Facts.BeganUnixS {
			continue
		}
		values, weight := comparison.Rebuilt(w)
		for _, v := range values {
			put(m, name, (w.Start-r.Facts.BeganUnixS)/blockS, v, weight)
		}
	}
}

func courseOf(policy, metric string, names []string, m map[string][]bin, blockS int64) (out []Course) {
	for _, name := range names {
		c := Course{Policy: policy, Metric: metric, Class: name}
		for i := range m[name] {
			c.Points = append(c.Points, m[name][i].point(int64(i)*blockS))
		}
		out = append(out, c)
	}
	return out
}
