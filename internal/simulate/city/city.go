package city

import (
	"math"
	"slices"

	"github.com/congctl/congctl/internal/tcp/record"
	"github.com/congctl/congctl/internal/tcp/stat"
)

// One window of one prefix:
//
//	load(t)  = 1 + 0.6 sin(2 pi t / day)
//	level    = median * (1 - swing (1 + sin(2 pi t / day))/2) * exp(drift(t))
//	drift    = AR(1): x' = rho x + sd sqrt(1 - rho^2) N,  rho = exp(-window / hour)
//	n        = Poisson(conns * load)
//	ln(rate) = ln(level) + 0.78 N, for each of n connections, + ln(factor) where treated
//
// Nuisances (world.go) change this where this file asks for them. Without any, connections are
// independent given the level: none shares a bottleneck with another, and prefixes drift apart. So
// shares of false decisions are optimistic there.
//
// All draws depend only on seed, window and prefix, never on the treatment: two runs of one city
// differ only where decisions differ.

const (
	loadSwing   = 0.6  // of the eligible connections, around their mean over the day
	connSpread  = 0.78 // standard deviation of ln(rate) between connections of a window
	driftTime   = 3600 // s: the drift's correlation falls to 1/e
	daySeconds  = 86400
	bytesOfConn = 2_000_000 // of an eligible connection; nothing depends on it
)

// City is the PoP. Not for concurrent use.
type City struct {
	Places []Place // by the order of Served

	world  World
	seed   uint64
	window int64 // seconds
	drift  []float64
	moves  *draws
	jump   []float64 // with Rerouting
	jumps  *draws
	start  int64 // of the first window; only differences count

	// Seen, if set, is called with each eligible connection and the index of its place.
	Seen func(place int, c Conn)
}

// Conn is a connection's ln of rate in bytes/s.
type Conn struct {
	Off, On float64 // where nothing is treated; where every connection of the city is
	Now     float64 // as it is
}

// New returns a city of n prefixes, with windows of that many seconds.
func New(seed uint64, n int, windowSeconds int64, world World) *City {
	c := &City{Places: places(seed, n, world), world: world, seed: seed, window: windowSeconds, drift: make([]float64, n), jump: make([]float64, n),
		moves: newDraws(seed, driftStream), jumps: newDraws(seed, jumpStream), start: -1}
	for i := range c.drift {
		c.drift[i] = c.Places[i].Drift * c.moves.normal()
		if world&Rerouting != 0 {
			c.jump[i] = reroute * c.jumps.normal()
		}
	}
	return c
}

// Served is what happens to a prefix in a window.
type Served struct {
	Arm    record.Arm
	Washed float64 // share of what crosses in the window that lies in a block's wash-out: the kernel does not count it
}

// Window returns the rows of the next window, by place. The next call reuses its rows.
func (c *City) Window(start int64, served func(place int) Served, rows []record.Window) []record.Window {
	if c.start < 0 {
		c.start = start
	} else {
		c.driftOn()
	}
	wave := math.Sin(2 * math.Pi * float64(start-c.start) / daySeconds)
	arms := make([]Served, len(c.Places))
	for i := range arms {
		arms[i] = served(i)
	}
	crowd := c.crowding(arms)
	shift := 0.0
	if c.world&Shifts != 0 {
		shift = 0.4 * newDraws(c.seed^mixed(uint64(start/1800)), 77).normal()
	}
	var rates []float64
	for i := range c.Places {
		p := &c.Places[i]
		d := newDraws(c.seed^mixed(uint64(start)), windowStream+uint64(i))
		odd := newDraws(c.seed^mixed(uint64(start)), nuisanceStream+uint64(i))
		off := c.drift[i] + c.jump[i] + shift // from the level that it usually has at this hour
		level := math.Log(p.BytesPerS*(1-p.Kind.Swing*(1+wave)/2)) + off
		n := d.poisson(c.world.load(p.Conns*(1+loadSwing*wave), off) * (1 - arms[i].Washed))
		gain, push := c.world.gain(p, wave, off), crowd(i)
		rates = rates[:0]
		for range n {
			v := c.world.conn(p, odd, level+connSpread*d.normal(), gain, arms[i].Arm == record.ArmTreatment, push)
			if c.Seen != nil {
				c.Seen(i, v)
			}
			rates = append(rates, v.Now)
		}
		if n == 0 {
			continue
		}
		slices.Sort(rates)
		rows = append(rows, p.row(start, arms[i], rates))
	}
	return rows
}

func (c *City) driftOn() {
	rho := math.Exp(-float64(c.window) / driftTime)
	step := math.Sqrt(1 - rho*rho)
	for i := range c.drift {
		c.drift[i] = rho*c.drift[i] + c.Places[i].Drift*step*c.moves.normal()
	}
	c.reroute()
}

// row is what an agent would report: rates are logarithms, sorted.
func (p *Place) row(start int64, s Served, rates []float64) record.Window {
	n := uint32(len(rates))
	w := record.Window{
		Start: start, Prefix: p.Prefix, Arm: s.Arm, Cong: "cubic", Control: s.Arm != record.ArmTreatment,
		Conns: 2 * n, Eligible: n, RateMeans: n, Bytes: uint64(n) * bytesOfConn,
		MinRTTUs: p.MinRTTUs, SRTTUs: (1 + p.Queue) * p.MinRTTUs,
		RetransShare: p.Retrans, RwndShare: 0.05, BusyShare: 0.9,
		EligibleSentBytes: uint64(n) * bytesOfConn,
	}
	if s.Arm == record.ArmTreatment {
		w.Cong = "bbr"
		w.RetransShare = max(0, p.Retrans+p.Resent)
	}
	w.EligibleRetransBytes = uint64(w.RetransShare * float64(w.EligibleSentBytes))
	for i, q := range record.RateQuantiles {
		w.RateBytesPerS[i] = quantile(rates, q)
	}
	w.LogRateMean, w.LogRateVar = stat.Moments(rates)
	return w
}

// quantile is type 7 of exp(rates), with two exponentials instead of n.
func quantile(rates []float64, q float64) float64 {
	h := q * float64(len(rates)-1)
	i := int(h)
	v := math.Exp(rates[i])
	if i+1 < len(rates) {
		v += (h - float64(i)) * (math.Exp(rates[i+1]) - v)
	}
	return v
}
