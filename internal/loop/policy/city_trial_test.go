package policy

import (
	"math"
	"math/rand/v2"

	"github.com/congctl/congctl/internal/loop/plan"
	"github.com/congctl/congctl/internal/tcp/record"
)

// triedCity is a city whose rows follow the plan of an experiment. What treatment
// does to a prefix follows from its number and the seed.
type triedCity struct {
	city
	paced bool // rows of treated connections have late rates, and some ran under a cap
}

func cityDraws() Draws { return plan.NewDraws([]byte("sixteen bytes or"), 120, 120) }

// triedRules are so short that states turn over many times.
func triedRules() Rules {
	r := cityRules()
	r.Select, r.MaxSelected, r.MaxNewPerRound = SelectBenefit, 12, 3
	r.Trial = Trial{BlockSeconds: 600, WashoutSeconds: 300, GroupTrial: 2, GroupPromoted: 4,
		CooldownSeconds: 4500, MaxCooldownSeconds: 12000, EvidenceSeconds: 12000}
	return r
}

// under is what treatment does to prefix i: helped, harmed, costly, or nothing; for
// some it turns after a while.
func (c triedCity) under(i, w int) treated {
	if c.seed%4 == 0 { // harm on the whole, too mild to demote many
		return treated{effect: 0.7}
	}
	turned := i%3 == 0 && w > 90
	switch (i + int(c.seed%5)) % 5 {
	case 0:
		if turned {
			return treated{effect: 0.8}
		}
		return treated{effect: 6}
	case 1:
		return treated{effect: 0.2}
	case 2:
		return treated{effect: 0.8, retrans: 0.2}
	case 3:
		if turned {
			return treated{effect: 1}
		}
		return treated{effect: 4}
	}
	if i%3 == 0 {
		return treated{goodput: 0.2}
	}
	return treated{}
}

func (c triedCity) rows(w int, start int64, inPlan []Selected, r Trial, draws Draws) (rows []record.Window) {
	for i := range c.prefixes {
		rng := rand.New(rand.NewPCG(c.seed, uint64(w)<<20|uint64(i)))
		base := c.row(i, w, start, rng)
		if base.Conns == 0 {
			continue
		}
		base.LogRateMean += rng.NormFloat64() * 0.1
		if i%3 == 0 && base.SRTTUs < 50_000 { // losses one by one: worth a trial by benefit
			base.SRTTUs, base.EligibleRetransBytes = base.MinRTTUs, base.EligibleSentBytes/50
			base.Episodes = base.EligibleRetransBytes / 2000
		}
		if i%2 == 1 || w > 20 { // the others' rows are older at first
			base.LogGoodputMean, base.LogGoodputVar = base.LogRateMean-0.3+rng.NormFloat64()*0.1, 0.4
		}
		own := planned(base, inPlan, r, draws, c.under(i, w))
		if c.paced && own.Cong == "bbr" {
			rows = append(rows, c.capped(&own, i, w))
		}
		rows = append(rows, own)
		if rng.IntN(8) == 0 { // a second namespace with another default, or connections switched earlier
			other := own
			other.Cong, other.Carryover = "reno", rng.IntN(2) == 0
			other.Control = own.Control && !other.Carryover
			other.Eligible, other.Conns = uint32(rng.IntN(4)), 4
			other.RateMeans = uint32(rng.IntN(1 + int(other.Eligible))) // the others were not followed
			other.Bytes += 100_000 * uint64(other.Eligible)
			rows = append(rows, other)
		}
	}
	rng := rand.New(rand.NewPCG(c.seed, 1<<40|uint64(w)))
	rng.Shuffle(len(rows), func(i, j int) { rows[i], rows[j] = rows[j], rows[i] })
	return rows
}

// capped gives a treated row late rates, of a level that moves by the hour, and returns another of capped connections.
func (c triedCity) capped(free *record.Window, i, w int) record.Window {
	rng := rand.New(rand.NewPCG(c.seed, 1<<45|uint64(w)<<20|uint64(i)))
	level := 1e5 * float64(1+i) * float64(1+(w/12)%3)
	late := func(r *record.Window, high float64) {
		r.LateConns = uint32(rng.IntN(12))
		r.LateBytesPerS = [2]float64{level, level * (1 + high*rng.Float64())}
		r.LogGoodputMean = math.Log(level) + rng.NormFloat64()*0.1
	}
	held := *free
	held.Capped = true
	held.LogRateMean += 0.01
	late(free, 0.4)
	late(&held, 0.3)
	return held
}

// input is window w with what may befall a host, the kill switch included.
func (c triedCity) input(w int, inPlan []Selected, r Trial, draws Draws) Input {
	in := c.city.input(w, true, nil)
	if in.Rows != nil {
		in.Rows = c.rows(w, in.Start, inPlan, r, draws)
	}
	rng := rand.New(rand.NewPCG(c.seed, 1<<53|uint64(w/4)))
	in.Stopped = rng.IntN(60) == 0
	return in
}

// run plays the city in a closed loop and calls each after every round. A brake
// stops the treatment for some windows.
func (c triedCity) run(r Rules, windows int, each func(w int, e *Engine, in Input, d Decision)) {
	c.runWith(r, func(_ int, e *Engine) *Engine { return e }, windows, each)
}

// runWith is run with an engine that may be another one from some window on.
func (c triedCity) runWith(r Rules, turn func(w int, e *Engine) *Engine, windows int, each func(w int, e *Engine, in Input, d Decision)) {
	draws := cityDraws()
	e := New(r, cityDraws())
	var inPlan []Selected
	stopped := 0
	for w := range windows {
		if c.skips(w) {
			continue
		}
		in := c.input(w, inPlan, r.Trial, draws)
		in.Stopped = in.Stopped || w < stopped
		e = turn(w, e)
		d := e.Round(in)
		each(w, e, in, d)
		if inPlan = d.Selection; d.Brake != "" {
			stopped = w + 5
		}
	}
}
