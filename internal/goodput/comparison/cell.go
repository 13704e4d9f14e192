package comparison

import (
	"cmp"
	"hash/fnv"
	"slices"
	"strconv"

	"github.com/congctl/congctl/internal/core/effect"
	"github.com/congctl/congctl/internal/core/record"
)

// Metric is what is compared.
type Metric uint8

const (
	Rate       Metric = iota // delivery rate of eligible connections, from window rows
	Goodput                  // of responses of at least the threshold, from access logs
	GoodputAll               // of all responses
	Acked                    // bytes acknowledged by busy time, of connections with at least the threshold
	metrics
)

var metricNames = [metrics]string{"delivery rate", "goodput", "goodput of all", "acked by busy time"}

func (m Metric) String() string { return metricNames[m] }

// MarshalText prints a metric by name.
func (m Metric) MarshalText() ([]byte, error) { return []byte(m.String()), nil }

// cellKey names the values of one arm of a pair.
type cellKey struct {
	metric metricOf
	pair   pairKey
	arm    record.Arm
}

// metricOf separates what never meets in one estimate.
type metricOf struct {
	metric Metric
	aa     bool
	tenant string
}

// pairKey is a network and a group of blocks, or a network alone before and after.
type pairKey struct {
	prefix record.Prefix
	group  int64
}

// value is one response or connection, or what stands for several.
type value struct{ at, weight float64 }

// maxSamples go into one estimate, and 2,000 draws of the bootstrap go over them, which
// takes a second. Pairs, and not values, make the interval: more would not tighten it.
const maxSamples = 20_000

// cells hold all values.
type cells map[cellKey][]value

func (c cells) add(k cellKey, at, weight float64) {
	if at > 0 {
		c[k] = append(c[k], value{at, weight})
	}
}

// samples gives those of one estimate in order, thinned where there are too many. weight is 1/P(arm).
func (c cells) samples(of metricOf, keep func(record.Prefix) bool, weight func(pairKey, record.Arm) float64) []effect.Sample {
	var keys []cellKey
	for k := range c {
		if k.metric == of && keep(k.pair.prefix) {
			keys = append(keys, k)
		}
	}
	slices.SortFunc(keys, func(a, b cellKey) int {
		return cmp.Or(cmp.Compare(a.pair.prefix, b.pair.prefix), cmp.Compare(a.pair.group, b.pair.group), cmp.Compare(a.arm, b.arm))
	})
	var out []effect.Sample
	for _, k := range keys {
		w := weight(k.pair, k.arm)
		for _, v := range thinned(c[k], max(maxSamples/len(keys), 1), k) {
			out = append(out, effect.Sample{Prefix: k.pair.prefix, Group: k.pair.group, Arm: k.arm, Value: v.at, Weight: v.weight * w})
		}
	}
	return out
}

// thinned takes every n-th value of a sorted list, from a start that the cell's name
// draws (systematic sampling): each value has the same chance, so that pooled
// quantiles stay where they are.
func thinned(list []value, limit int, k cellKey) []value {
	slices.SortFunc(list, func(a, b value) int { return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.weight, b.weight)) })
	if len(list) <= limit {
		return list
	}
	step := float64(len(list)) / float64(limit)
	out := make([]value, limit)
	for i := range out {
		out[i] = list[int((float64(i)+k.start())*step)]
		out[i].weight *= step
	}
	return out
}

// start is an even draw from 0 to 1.
func (k cellKey) start() float64 {
	h := fnv.New64a()
	var b []byte
	for _, n := range []uint64{uint64(k.metric.metric), uint64(k.pair.prefix), uint64(k.pair.group), uint64(k.arm)} {
		b = strconv.AppendUint(append(b, ' '), n, 10)
	}
	h.Write(append(b, k.metric.tenant...))
	x := h.Sum64()
	x ^= x >> 33
	x *= 0xff51afd7ed558ccd
	x ^= x >> 33
	return float64(x>>11) / (1 << 53)
}
