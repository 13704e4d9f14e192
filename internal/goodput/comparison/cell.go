package comparison

import (
	"cmp"
	"hash/fnv"
	"slices"
	"strconv"

	"github.com/congctl/congctl/internal/loop/effect"
	"github.com/congctl/congctl/internal/tcp/record"
)

// Metric is what is compared.
type Metric uint8

const (
	Rate       Metric = iota // delivery rate of eligible connections, from window rows
	Goodput                  // of responses of at least the threshold, from access logs
	GoodputAll               // of all responses
	Acked                    // bytes acknowledged over busy time, of connections with at least the threshold
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
	prefix, drawn record.Prefix // drawn: whose draw decided, the network's own or that of all
	group         int64
}

// ofDraw is the key of what one draw decided.
func (k pairKey) ofDraw() pairKey { return pairKey{k.drawn, k.drawn, k.group} }

// value is one response or connection, or what stands for several.
type value struct {
	at, weight float64
	block      int64
}

// maxSamples go into one estimate, and 2,000 draws of the bootstrap go over them, which
// takes a second. Pairs, not values, make the interval: more would not tighten it.
const maxSamples = 20_000

// cells hold all values.
type cells map[cellKey][]value

func (c cells) add(k cellKey, block int64, at, weight float64) {
	if at > 0 {
		c[k] = append(c[k], value{at, weight, block})
	}
}

// samples returns those of one estimate in order, thinned where there are too many, each
// weighted by 1/P(arm). P counts the blocks that have values: of a group that the period cuts, or
// of which a network or a tenant saw a part, the control block is one of those, each with the
// same chance.
func (b *Builder) samples(keep func(metricOf) bool) []effect.Sample {
	c := b.cells
	var keys []cellKey
	treated := map[pairKey]map[int64]bool{}
	for k, list := range c {
		if !keep(k.metric) {
			continue
		}
		keys = append(keys, k)
		if k.arm != record.ArmTreatment {
			continue
		}
		of := k.pair.ofDraw()
		if treated[of] == nil {
			treated[of] = map[int64]bool{}
		}
		for _, v := range list {
			treated[of][v.block] = true
		}
	}
	slices.SortFunc(keys, func(a, b cellKey) int {
		return cmp.Or(cmp.Compare(a.pair.prefix, b.pair.prefix), cmp.Compare(a.pair.group, b.pair.group), cmp.Compare(a.arm, b.arm),
			cmp.Compare(a.metric.tenant, b.metric.tenant), cmp.Compare(a.pair.drawn, b.pair.drawn))
	})
	var out []effect.Sample
	// Of networks that one draw decided about there are more than samples: some of them, each with the same chance.
	some := min(1, maxSamples/float64(len(keys)))
	for _, k := range keys {
		chance, start := 1.0, k.start()
		if k.pair.drawn == record.All {
			chance = some
		}
		if start >= chance {
			continue
		}
		n := float64(len(treated[k.pair.ofDraw()]))
		w := effect.Weight(k.arm, n/(n+1)) / chance
		for _, v := range thinned(c[k], max(maxSamples/len(keys), 1), start/chance) {
			out = append(out, effect.Sample{Prefix: k.pair.prefix, Drawn: cmp.Or(b.cfg.Drawn, k.pair.drawn), Group: k.pair.group, Block: v.block, Arm: k.arm, Value: v.at, Weight: v.weight * w})
		}
	}
	return out
}

// thinned takes every n-th value of a sorted list, from a start of 0 to 1 that the cell's name
// draws (systematic sampling): each value has the same chance, so that pooled
// quantiles stay where they are.
func thinned(list []value, limit int, start float64) []value {
	slices.SortFunc(list, func(a, b value) int {
		return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.weight, b.weight), cmp.Compare(a.block, b.block))
	})
	if len(list) <= limit {
		return list
	}
	step := float64(len(list)) / float64(limit)
	out := make([]value, limit)
	for i := range out {
		out[i] = list[int((float64(i)+start)*step)]
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
