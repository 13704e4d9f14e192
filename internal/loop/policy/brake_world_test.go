package policy

import (
	"cmp"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"testing"

	"github.com/congctl/congctl/internal/loop/plan"
	"github.com/congctl/congctl/internal/tcp/record"
)

// fleetWorld is a PoP with known truth, made to break the brake: so many slow networks, and as
// many fast ones that nothing ever treats. The slow ones lose packets one by one, and belief tries them. Its rows go through the real
// engine. Where there is no harm, what left comes back after four hours.
type fleetWorld struct {
	slow    int     // networks
	drift   float64 // standard deviation of ln rate, of an hour's memory
	elastic float64 // connections go with the level to this power
	shock   float64 // standard deviation of what all networks share in a block
	uneven  float64 // standard deviation of ln traffic
	often   float64 // connections of a slow network in a window, geometric mean
	churn   bool    // each network is there for four hours of six
	kept    bool    // effect takes no network out: the operator lists them all
	all     bool    // treated as one, the fast ones with them, in 15 blocks of 16
	oneSite float64 // share of the slow networks that lie in one /48; the others have one each

	harmed float64 // share of the slow networks, the first of them, under harm
	harm   float64 // effect on those; 0 is 1
	rest   float64 // effect on the others; 0 is 1
	swings bool    // harm from 0 to 12 h each day, its inverse from 12 to 24 h
}

func (f fleetWorld) under(i int, hour float64) treated {
	switch {
	case !f.isHarmed(i):
		return treated{effect: f.rest}
	case f.swings && math.Mod(hour+24, 24) >= 12:
		return treated{effect: 1 / f.harm}
	}
	return treated{effect: f.harm}
}

func (f fleetWorld) isHarmed(i int) bool { return float64(i) < f.harmed*float64(f.slow) }

// net is the slow network i, or from slow on a fast one.
func (f fleetWorld) net(i int) record.Prefix {
	if float64(i) < f.oneSite*float64(f.slow) {
		return record.Prefix(0x2001_0db8_ffff_0000|uint64(i)<<8) | 56
	}
	return record.Prefix(0x2001_0db8_0000_0000|uint64(i)<<16) | 56
}

func (f fleetWorld) rules() Rules {
	r := DefaultRules()
	r.Cap, r.MaxNewPerRound = false, f.slow
	if f.harmed == 0 {
		r.Trial.CooldownSeconds = 4 * 3600
	}
	if f.all {
		r.Select = SelectAll
	}
	for i := range f.slow {
		if f.kept {
			r.Always = append(r.Always, Listed{Net: f.net(i).Netip(), Reason: "kept"})
		}
	}
	return r
}

// fleetRun is what became of some hours.
type fleetRun struct {
	brake   float64 // hours since the first treatment; -1 is never
	left    int     // harmed networks that are treated still after five hours
	weight  float64 // what the harmed networks have of connections that are treated still then, 0..1
	demoted int
	top     float64                   // the largest evidence
	shown   map[record.Prefix]float64 // hours until a network's benefit was first shown
	why     string
}

// life is one slow network's.
type life struct{ drift, phase, often, here float64 }

func (f fleetWorld) lives(rng *rand.Rand) []life {
	list := make([]life, f.slow)
	for i := range list {
		list[i] = life{f.drift * rng.NormFloat64(), 2 * math.Pi * rng.Float64(), f.often * math.Exp(f.uneven*rng.NormFloat64()), rng.Float64()}
	}
	return list
}

// row is a slow network's window, untreated.
func (f fleetWorld) row(l *life, p record.Prefix, start int64, hour, shock float64, rng *rand.Rand) record.Window {
	keep := math.Exp(-1.0 / 12)
	l.drift = keep*l.drift + f.drift*math.Sqrt(1-keep*keep)*rng.NormFloat64()
	moved := l.drift + 0.2*math.Sin(l.phase+2*math.Pi*hour/24) + shock
	n := poissonOf(rng, l.often*math.Exp(f.elastic*moved))
	level := math.Log(1e5) + moved
	w := quiet(start, p, n, math.Exp(level))
	w.LogRateMean, w.LogRateVar = level+0.78*rng.NormFloat64()/math.Sqrt(max(1, float64(n))), 0.6
	w.RetransShare, w.MinRTTUs, w.SRTTUs, w.EligibleRetransBytes = 0.02, 60_000, 62_000, w.EligibleSentBytes/50
	return w
}

// run lives through hours of treatment and one before it.
func (f fleetWorld) run(seed uint64, hours int64) (out fleetRun) {
	r, rng := f.rules(), rand.New(rand.NewPCG(seed, 14))
	draws := drawn{plan.NewDraws(append([]byte("a fleet by its seed "), byte(seed), byte(seed>>8)), 0, 0).ByPoP(r.PoPGroup())}
	e, lives, shock := New(r, draws), f.lives(rng), 0.0
	chosen := map[record.Prefix]Selected{}
	out.brake, out.shown = -1, map[record.Prefix]float64{}
	for start := int64(noon); start < noon+(hours+1)*3600; start += r.WindowSeconds {
		hour := float64(start-noon)/3600 - 1
		if start%r.Trial.BlockSeconds == 0 {
			shock = f.shock * rng.NormFloat64()
		}
		var rows []record.Window
		for i := range lives {
			w := f.row(&lives[i], f.net(i), start, hour, shock, rng)
			if at := hour/6 + lives[i].here; f.churn && at-math.Floor(at) > 2.0/3 {
				continue
			}
			in := []Selected{cmp.Or(chosen[w.Prefix], chosen[record.All])}
			rows = append(rows, planned(w, in, r.Trial, draws, f.under(i, hour)))
			if w = quiet(start, f.net(f.slow+i), 6, 1e7); f.all {
				w = planned(w, in, r.Trial, draws, f.under(i, hour))
			}
			rows = append(rows, w)
		}
		d := e.Round(Input{Start: start, RoundStart: start + r.WindowSeconds, Rows: rows, Stopped: out.brake >= 0})
		harm, _ := e.harm.Evidence(r.Trial.groupSeconds())
		out.see(f, d, lives, harm, hour+1.0/12)
		for _, t := range e.tracks {
			if c, _ := e.claim(t); c == ClaimShown && out.shown[t.prefix] == 0 {
				out.shown[t.prefix] = max(hour, 0.1)
			}
		}
		clear(chosen)
		for _, s := range d.Selection {
			chosen[s.Prefix] = s
		}
	}
	return out
}

func (out *fleetRun) see(f fleetWorld, d Decision, lives []life, harm, hour float64) {
	out.top = max(out.top, harm)
	if d.Brake != "" {
		out.brake, out.why = hour, d.Brake
	}
	for _, ev := range d.Events {
		if ev.Kind == EventDemoted {
			out.demoted++
		}
	}
	if hour > 5 && hour < 5.1 {
		var all float64
		for i := range f.slow {
			if !f.isHarmed(i) {
				continue
			}
			all += lives[i].often
			if slices.ContainsFunc(d.Selection, func(s Selected) bool { return s.Prefix == f.net(i) }) {
				out.left, out.weight = out.left+1, out.weight+lives[i].often
			}
		}
		out.weight /= max(all, 1e-9)
	}
}

func poissonOf(r *rand.Rand, mean float64) (n uint32) {
	if mean > 30 {
		return uint32(max(0, math.Round(mean+math.Sqrt(mean)*r.NormFloat64())))
	}
	for p, least := r.Float64(), math.Exp(-mean); p > least; n++ {
		p *= r.Float64()
	}
	return n
}

// replicates is how often a world is lived through: few times always, and as often as
// CONGCTL_REPLICATES says for the figures of docs/measured.md.
func replicates(t *testing.T, few int) int {
	t.Helper()
	text := os.Getenv("CONGCTL_REPLICATES")
	if text == "" {
		return few
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < few {
		t.Fatalf("CONGCTL_REPLICATES=%q: want a number of at least %d", text, few)
	}
	return n
}
