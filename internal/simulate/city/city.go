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
//	level    = median * (1 - swing (1 + sin(2 pi t / day))/2) * exp(drift(t)) * (factor where treated)
//	drift    = AR(1): x' = rho x + sd sqrt(1 - rho^2) N,  rho = exp(-window / hour)
//	n        = Poisson(conns * load)
//	ln(rate) = ln(level) + 0.78 N, for each of n connections
//
// Connections are independent given the level: none shares a bottleneck with another, none continues
// into the next block, and prefixes drift apart. So shares of false decisions are optimistic here.
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

	seed   uint64
	window int64 // seconds
	drift  []float64
	moves  *draws
	start  int64 // of the first window; only differences count

	// Seen, if set, is called with each eligible connection: the index of its place, and ln of the
	// rate in bytes/s that it would have under CUBIC.
	Seen func(place int, lnRate float64)
}

// New returns a city of n prefixes, with windows of that many seconds.
func New(seed uint64, n int, windowSeconds int64) *City {
	c := &City{Places: places(seed, n), seed: seed, window: windowSeconds, drift: make([]float64, n), moves: newDraws(seed, driftStream), start: -1}
	for i := range c.drift {
		c.drift[i] = c.Places[i].Kind.Drift * c.moves.normal()
	}
	return c
}

// Served is what happens to a prefix in a window.
type Served struct {
	Arm     record.Arm
	Washout bool // the first window of a block of arm T or C
}

// Window returns the rows of the next window, by place. The next call reuses its rows.
func (c *City) Window(start int64, served func(place int) Served, rows []record.Window) []record.Window {
	if c.start < 0 {
		c.start = start
	} else {
		c.driftOn()
	}
	wave := math.Sin(2 * math.Pi * float64(start-c.start) / daySeconds)
	var rates []float64
	for i := range c.Places {
		p := &c.Places[i]
		d := newDraws(c.seed^mixed(uint64(start)), windowStream+uint64(i))
		n := d.poisson(p.Conns * (1 + loadSwing*wave))
		if n == 0 {
			continue
		}
		level := math.Log(p.BytesPerS*(1-p.Kind.Swing*(1+wave)/2)) + c.drift[i]
		s := served(i)
		rates = rates[:0]
		for range n {
			v := level + connSpread*d.normal()
			if c.Seen != nil {
				c.Seen(i, v)
			}
			rates = append(rates, v)
		}
		slices.Sort(rates)
		rows = append(rows, p.row(start, s, rates))
	}
	return rows
}

func (c *City) driftOn() {
	rho := math.Exp(-float64(c.window) / driftTime)
	step := math.Sqrt(1 - rho*rho)
	for i := range c.drift {
		c.drift[i] = rho*c.drift[i] + c.Places[i].Kind.Drift*step*c.moves.normal()
	}
}

// row is what an agent would report: rates are logarithms, sorted, under CUBIC.
func (p *Place) row(start int64, s Served, rates []float64) record.Window {
	n := uint32(len(rates))
	w := record.Window{
		Start: start, Prefix: p.Prefix, Arm: s.Arm, Cong: "cubic", Washout: s.Washout,
		Control: s.Arm != record.ArmTreatment && !s.Washout,
		Conns:   2 * n, Eligible: n, RateMeans: n, Bytes: uint64(n) * bytesOfConn,
		MinRTTUs: p.Kind.MinRTTUs, SRTTUs: 1.3 * p.Kind.MinRTTUs,
		RetransShare: p.Kind.Retrans, RwndShare: 0.05, BusyShare: 0.9,
		EligibleSentBytes: uint64(n) * bytesOfConn,
	}
	w.EligibleRetransBytes = uint64(p.Kind.Retrans * float64(w.EligibleSentBytes))
	gain := 0.0
	if s.Arm == record.ArmTreatment {
		gain = math.Log(p.Factor)
		w.Cong = "bbr"
	}
	for i, q := range record.RateQuantiles {
		w.RateBytesPerS[i] = quantile(rates, q, gain)
	}
	w.LogRateMean, w.LogRateVar = stat.Moments(rates)
	w.LogRateMean += gain
	return w
}

// quantile is type 7 of exp(rates + gain), with two exponentials instead of n.
func quantile(rates []float64, q, gain float64) float64 {
	h := q * float64(len(rates)-1)
	i := int(h)
	v := math.Exp(rates[i] + gain)
	if i+1 < len(rates) {
		v += (h - float64(i)) * (math.Exp(rates[i+1]+gain) - v)
	}
	return v
}
