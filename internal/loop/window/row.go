package window

import (
	"math"
	"slices"

	"github.com/congctl/congctl/internal/tcp/record"
	"github.com/congctl/congctl/internal/tcp/stat"
)

// row is one prefix under one arm and congestion control, in one window.
type row struct {
	next      *row // another row of the same prefix
	cong      string
	arm       record.Arm
	carryover bool
	plain     bool // what counts ran on its namespace's default

	control, washout bool // set when the window ends

	big                        bool // a connection reached the threshold: sums are over those only
	conns, eligible, rateMeans uint32
	bytes                      uint64

	sums
	eligibleSent, eligibleRetrans uint64
	samples                       []sample
}

type sums struct {
	sent, retrans, busyUs, rwndUs, elapsedUs uint64
	limited, rateSamples                     uint64
}

// add counts any connection of the row. Its shares are pooled (sum over sum, so that a
// connection weighs by what it moved) over the connections that reached the threshold, and
// over all as long as none has.
func (r *row) add(c *record.Conn, minBytes uint64) {
	r.conns++
	r.bytes += c.WinBytesAcked
	isBig := c.WinBytesAcked >= minBytes
	if isBig && !r.big {
		r.big, r.sums = true, sums{}
	}
	if isBig != r.big {
		return
	}
	r.sent += c.WinBytesSent
	r.retrans += c.WinBytesRetrans
	r.busyUs += c.WinBusyUs
	r.rwndUs += c.WinRwndLimitedUs
	r.elapsedUs += c.WinElapsedUs
	r.limited += uint64(c.WinLimitedSamples)
	r.rateSamples += uint64(c.WinRateSamples)
}

// joinRows joins the rows of a prefix that a row's columns cannot distinguish: in wash-out
// and treatment blocks it does not matter which connections are plain.
func (a *Aggregator) joinRows(p *pane) {
	for prefix, first := range p.rows {
		now := a.armNow(p, prefix)
		for r := first; r != nil; r = r.next {
			a.place(r, p.start, now)
		}
		for r := first; r != nil; r = r.next {
			for at := &r.next; *at != nil; {
				if o := *at; r.arm == o.arm && r.carryover == o.carryover && r.cong == o.cong && r.control == o.control {
					r.join(o)
					*at = o.next
				} else {
					at = &o.next
				}
			}
		}
	}
}

func (r *row) join(o *row) {
	r.conns, r.eligible, r.rateMeans, r.bytes = r.conns+o.conns, r.eligible+o.eligible, r.rateMeans+o.rateMeans, r.bytes+o.bytes
	r.eligibleSent, r.eligibleRetrans = r.eligibleSent+o.eligibleSent, r.eligibleRetrans+o.eligibleRetrans
	r.samples = append(r.samples, o.samples...)
	if o.big != r.big {
		if o.big {
			r.big, r.sums = true, o.sums
		}
		return
	}
	r.sent, r.retrans, r.busyUs, r.rwndUs = r.sent+o.sent, r.retrans+o.retrans, r.busyUs+o.busyUs, r.rwndUs+o.rwndUs
	r.elapsedUs, r.limited, r.rateSamples = r.elapsedUs+o.elapsedUs, r.limited+o.limited, r.rateSamples+o.rateSamples
}

func (r *row) addEligible(c *record.Conn) {
	r.eligible++
	if c.RateSource != record.RateMean { // nothing followed it: the whole window stands for what counts
		r.eligibleSent += c.WinBytesSent
		r.eligibleRetrans += c.WinBytesRetrans
		return
	}
	r.rateMeans++
	r.eligibleSent += c.WinCountedBytesSent
	r.eligibleRetrans += c.WinCountedBytesRetrans
}

// finish computes the row's figures.
func (a *Aggregator) finish(p *pane, prefix record.Prefix, r *row) record.Window {
	w := record.Window{
		Start: p.start, Prefix: prefix, Arm: r.arm, Cong: r.cong, Control: r.control, Carryover: r.carryover, Washout: r.washout,
		Conns: r.conns, Eligible: r.eligible, RateMeans: r.rateMeans, Bytes: r.bytes,
		RetransShare: share(r.retrans, r.sent), RwndShare: share(r.rwndUs, r.busyUs),
		BusyShare: share(r.busyUs, r.elapsedUs), AppLimitedShare: share(r.limited, r.limited+r.rateSamples),
		EligibleSentBytes: r.eligibleSent, EligibleRetransBytes: r.eligibleRetrans,
	}
	rates := column(r.samples, func(s sample) float64 { return float64(s.rate) })
	if len(rates) > 0 {
		for i, q := range record.RateQuantiles {
			w.RateBytesPerS[i] = stat.Sorted(rates, q)
		}
	}
	for i, v := range rates { // sorted, so that the sums do not depend on the order of arrival
		rates[i] = math.Log(v)
	}
	w.LogRateMean, w.LogRateVar = stat.Moments(rates)
	w.MinRTTUs = median(column(r.samples, func(s sample) float64 { return float64(s.minRttUs) }))
	w.SRTTUs = median(column(r.samples, func(s sample) float64 { return float64(s.srttUs) }))
	return w
}

// place sets where a row stands in the experiment.
//
// A prefix in a plan carries what the previous block left in its queues, so the first
// WashoutSeconds of its blocks do not count; hold-out, A/A and unplanned prefixes have no
// blocks. A connection of arm none can belong to a prefix that is treated now (accepted before
// the agent's start, or before the plan): beside treated neighbours it does not measure an
// untreated level.
func (a *Aggregator) place(r *row, start int64, now record.Arm) {
	r.washout = (planned(r.arm) || planned(now)) && start%a.cfg.BlockSeconds < a.cfg.WashoutSeconds
	r.control = r.arm != record.ArmTreatment && now != record.ArmTreatment && r.plain && !r.carryover && !r.washout
}

// armNow returns the prefix's arm at the window's start; none without a plan.
func (a *Aggregator) armNow(p *pane, prefix record.Prefix) record.Arm {
	if a.cfg.ArmAt != nil {
		if arm, in := a.cfg.ArmAt(prefix, p.start); in {
			return arm
		}
	}
	return record.ArmNone
}

func planned(a record.Arm) bool { return a == record.ArmTreatment || a == record.ArmControl }

// share returns part/whole, at most 1 (two counters of a record can be read a jiffy apart),
// and 0 if whole is 0.
func share(part, whole uint64) float64 {
	if whole == 0 {
		return 0
	}
	return min(float64(part)/float64(whole), 1)
}

// column takes one known value of each sample, sorted. 0 and the kernel's ~0 (tcp_min_rtt
// without a sample) are unknown.
func column(samples []sample, get func(sample) float64) []float64 {
	out := make([]float64, 0, len(samples))
	for _, s := range samples {
		if v := get(s); v > 0 && v != math.MaxUint32 {
			out = append(out, v)
		}
	}
	slices.Sort(out)
	return out
}

func median(sorted []float64) float64 {
	if len(sorted) == 0 {
		return 0
	}
	return stat.Sorted(sorted, 0.5)
}
