package effect

import (
	"math"
	"os"
	"strconv"
	"testing"

	"github.com/congctl/congctl/internal/tcp/record"
	"github.com/congctl/congctl/internal/tcp/stat"
)

// path is a client network with a known effect. ln rate of a connection = level + drift of
// an hour's memory + day + a block's own luck + ln(effect) if treated + the connection's.
type path struct {
	level       float64 // ln bytes/s
	drift       float64 // standard deviation of the drift
	day         float64 // amplitude of the daily swing
	block, conn float64 // standard deviations
	perWindow   float64 // eligible connections in five minutes, on average
	effect      float64 // a factor
	group       int     // blocks in a group
	elastic     float64 // connections go with the level to this power; -1: twice as many while it is half as fast
}

var (
	// steady has exactly DefaultNoise.
	steady = path{level: 14, block: 0.2, conn: 0.66, perWindow: 3, effect: 1, group: 2}
	// city is a fixed network of the simulated city, mobile one that drifts more than twice as much.
	city   = path{level: 14, drift: 0.25, day: 0.2, conn: 0.78, perWindow: 6, effect: 1, group: 2}
	mobile = path{level: 14, drift: 0.6, day: 0.2, conn: 0.78, perWindow: 6, effect: 1, group: 2}
)

func (c path) with(effect, perWindow float64, group int) path {
	c.effect, c.perWindow, c.group = effect, perWindow, group
	return c
}

const windows = 6 // in a block, the first of which does not count: more than a wash-out takes

// walk lives through hours and calls seen for each connection that counts.
func (c path) walk(r *stat.Rand, hours int, seen func(block int, arm record.Arm, ln float64)) {
	drift, phase := c.drift*gauss(r), 2*math.Pi*r.Float64()
	keep := math.Exp(-1.0 / 12)
	for group := range 2 * hours / c.group {
		control := r.Index(c.group)
		for block := range c.group {
			arm, shift := record.ArmControl, c.block*gauss(r)
			if block != control {
				arm, shift = record.ArmTreatment, shift+math.Log(c.effect)
			}
			for w := range windows {
				drift = keep*drift + c.drift*math.Sqrt(1-keep*keep)*gauss(r)
				hour := float64(group*c.group+block)/2 + float64(w)/12
				moved := drift + c.day*math.Sin(phase+2*math.Pi*hour/24)
				for n := poisson(r, c.perWindow*math.Exp(c.elastic*moved)); n > 0 && w > 0; n-- {
					seen(group*c.group+block, arm, c.level+moved+shift+c.conn*gauss(r))
				}
			}
		}
	}
}

// pairs of the path over hours, in time order.
func (c path) pairs(r *stat.Rand, p record.Prefix, hours int) []Pair {
	list := make([]Pair, 2*hours/c.group)
	for g := range list {
		list[g] = Pair{Prefix: p, Group: int64(g), End: int64((g + 1) * c.group * 1800)}
	}
	last := -1
	c.walk(r, hours, func(block int, arm record.Arm, ln float64) {
		pair := &list[block/c.group]
		side := &pair.C
		if arm == record.ArmTreatment {
			if block != last {
				pair.T = append(pair.T, Block{})
			}
			side = &pair.T[len(pair.T)-1]
		}
		last = block
		*side = side.Join(Block{N: 1, MeanLog: ln})
	})
	return list
}

// samples of the path over hours, weighted.
func (c path) samples(r *stat.Rand, p record.Prefix, hours int) (list []Sample) {
	c.walk(r, hours, func(block int, arm record.Arm, ln float64) {
		list = append(list, Sample{p, 0, int64(block / c.group), int64(block), arm, math.Exp(ln), Weight(arm, 1-1/float64(c.group))})
	})
	return list
}

// gauss is a standard normal number.
func gauss(r *stat.Rand) float64 {
	return stat.NormalQuantile((float64(r.Uint32()) + 0.5) / (1 << 32))
}

// poisson counts how many uniform numbers it takes to fall below e^-mean (Knuth).
func poisson(r *stat.Rand, mean float64) (n int) {
	for p, least := r.Float64(), math.Exp(-mean); p > least; n++ {
		p *= r.Float64()
	}
	return n
}

// replicates is how often a simulation is repeated: few times always, and as many as
// CONGCTL_REPLICATES says for the figures of docs/measured.md. Few of 0 is only for those.
func replicates(t *testing.T, few int) int {
	t.Helper()
	text := os.Getenv("CONGCTL_REPLICATES")
	if text == "" && few == 0 {
		t.Skip("takes minutes: CONGCTL_REPLICATES=2000 go test -v -timeout 3h ./internal/loop/effect; no minimum kernel")
	}
	if text == "" {
		return few
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < few {
		t.Fatalf("CONGCTL_REPLICATES=%q: want a number of at least %d", text, few)
	}
	return n
}

// slack is what a share p may be off in n replicates: 3.3 standard deviations, one in 1,000.
func slack(p float64, n int) float64 { return 3.3 * math.Sqrt(p*(1-p)/float64(n)) }
