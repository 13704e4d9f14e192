package window

import (
	"math"

	"github.com/congctl/congctl/internal/tcp/record"
)

// row is one prefix under one arm and congestion control, in one window.
type row struct {
	next      *row // another row of the same prefix
	cong      string
	kinds     uint8 // of cong in this row and those behind it
	arm       record.Arm
	carryover bool
	plain     bool // what counts ran on its namespace's default
	capped    bool

	control bool // set when the window ends

	big                            bool   // a connection reached the threshold: sums are over those only, by client
	eligible, rateMeans, lateConns uint32 // records; all other numbers stand for what was thinned out too
	conns, bytes, episodes         uint64

	clients                       []clientSums // by client; all in one before a connection reached the threshold
	eligibleSent, eligibleRetrans uint64
	samples                       []sample
}

type sums struct {
	sent, retrans, busyUs, rwndUs, elapsedUs uint64
	limited, rateSamples                     uint64
}

// add counts any connection of the row, and returns how many more clients that makes. Its shares
// are pooled (sum over sum, so that a connection weighs by what it moved) over the connections that
// reached the threshold past a wash-out, and over all as long as none has.
func (r *row) add(c *record.Conn, isBig bool, mask uint8) (more int) {
	n := c.Times()
	r.conns += n
	r.bytes += n * c.WinBytesAcked
	if isBig && !r.big {
		more, r.big, r.clients = -len(r.clients), true, nil
	}
	if isBig != r.big {
		return more
	}
	if !r.big {
		mask = 0 // no guard looks at such a row
	}
	s, fresh := r.sumsOf(c.ClientNumber() & mask)
	if fresh {
		more++
	}
	s.join(&sums{sent: n * c.WinBytesSent, retrans: n * c.WinBytesRetrans, busyUs: n * c.WinBusyUs, rwndUs: n * c.WinRwndLimitedUs,
		elapsedUs: n * c.WinElapsedUs, limited: n * uint64(c.WinLimitedSamples), rateSamples: n * uint64(c.WinRateSamples)})
	return more
}

func (s *sums) join(o *sums) {
	s.sent, s.retrans, s.busyUs, s.rwndUs = s.sent+o.sent, s.retrans+o.retrans, s.busyUs+o.busyUs, s.rwndUs+o.rwndUs
	s.elapsedUs, s.limited, s.rateSamples = s.elapsedUs+o.elapsedUs, s.limited+o.limited, s.rateSamples+o.rateSamples
}

// joinRows joins the rows of a prefix that a row's columns cannot distinguish: in
// treatment blocks it does not matter which connections are plain.
func (a *Aggregator) joinRows(p *pane) {
	for prefix, first := range p.rows {
		now := a.armNow(p.start, prefix)
		for r := first; r != nil; r = r.next {
			r.place(now)
		}
		for r := first; r != nil; r = r.next {
			for at := &r.next; *at != nil; {
				if o := *at; r.arm == o.arm && r.carryover == o.carryover && r.cong == o.cong && r.control == o.control && r.capped == o.capped {
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
	r.episodes, r.lateConns = r.episodes+o.episodes, r.lateConns+o.lateConns
	r.samples = append(r.samples, o.samples...)
	if o.big != r.big {
		if o.big {
			r.big, r.clients = true, o.clients
		}
		return
	}
	for i := range o.clients {
		s, _ := r.sumsOf(o.clients[i].client)
		s.join(&o.clients[i].sums)
	}
}

func (r *row) addEligible(c *record.Conn) {
	n := c.Times()
	r.eligible++
	r.episodes += n * uint64(c.WinEpisodes)
	if hasLate(c) {
		r.lateConns++
	}
	if c.RateSource != record.RateMean { // nothing followed it: the whole window stands for what counts
		r.eligibleSent += n * c.WinBytesSent
		r.eligibleRetrans += n * c.WinBytesRetrans
		return
	}
	r.rateMeans++
	r.eligibleSent += n * c.WinCountedBytesSent
	r.eligibleRetrans += n * c.WinCountedBytesRetrans
}

// finish computes the row's figures.
func (x *scratch) finish(p *pane, prefix record.Prefix, r *row) record.Window {
	w := record.Window{
		Start: p.start, Prefix: prefix, Arm: r.arm, Cong: r.cong, Control: r.control, Carryover: r.carryover, Capped: r.capped,
		Conns: uint32(min(r.conns, math.MaxUint32)), Bytes: r.bytes,
		EligibleSentBytes: r.eligibleSent, EligibleRetransBytes: r.eligibleRetrans, Episodes: r.episodes,
	}
	w.Eligible = r.worth(r.eligible, func(sample) bool { return true })
	w.RateMeans = min(r.worth(r.rateMeans, func(s sample) bool { return s.goodput > 0 }), w.Eligible)
	w.LateConns = min(r.worth(r.lateConns, func(s sample) bool { return s.late > 0 }), w.Eligible)
	x.shares(&w, r)
	x.weigh(r, func(sample) bool { return true })
	rates := x.columnOf(r, func(s sample) float64 { return float64(s.rate) })
	for i, q := range record.RateQuantiles {
		w.RateBytesPerS[i] = rates.quantile(q)
	}
	w.LogRateMean, w.LogRateVar = rates.logMoments()
	w.LogGoodputMean, w.LogGoodputVar = x.columnOf(r, func(s sample) float64 { return float64(s.goodput) }).logMoments()
	w.MinRTTUs = x.columnOf(r, func(s sample) float64 { return float64(s.minRttUs) }).quantile(0.5)
	w.SRTTUs = x.columnOf(r, func(s sample) float64 { return float64(s.srttUs) }).quantile(0.5)
	x.late(&w, r)
	return w
}

// late weighs anew: of those that have a late rate, too, no client has more than its share.
func (x *scratch) late(w *record.Window, r *row) {
	if r.lateConns == 0 {
		return
	}
	x.weigh(r, func(s sample) bool { return s.late > 0 })
	rates := x.columnOf(r, func(s sample) float64 { return float64(s.late) })
	if len(rates.values) == 0 {
		w.LateConns = 0 // none of the few was kept when a crowded row was thinned
		return
	}
	for i, q := range record.LateQuantiles {
		w.LateBytesPerS[i] = rates.quantile(q)
	}
}

// shares are what guards compare with limits.
func (x *scratch) shares(w *record.Window, r *row) {
	w.RetransShare = pooled(x.bounded(r, func(s *sums) uint64 { return s.retrans }, func(s *sums) uint64 { return s.sent })).share()
	w.RwndShare = withoutOne(x.bounded(r, func(s *sums) uint64 { return s.rwndUs }, func(s *sums) uint64 { return s.busyUs }), 1)
	w.BusyShare = withoutOne(x.bounded(r, func(s *sums) uint64 { return s.busyUs }, func(s *sums) uint64 { return s.elapsedUs }), -1)
	w.AppLimitedShare = pooled(x.bounded(r, func(s *sums) uint64 { return s.limited }, func(s *sums) uint64 { return s.limited + s.rateSamples })).share()
}

// place sets where a row stands in the experiment.
//
// A connection of arm none can belong to a prefix that is treated now (accepted before
// the agent's start, or before the plan): beside treated neighbours it does not measure an
// untreated level.
func (r *row) place(now record.Arm) {
	r.control = r.arm != record.ArmTreatment && now != record.ArmTreatment && r.plain && !r.carryover
}

// washed reports whether a record is of a block's wash-out: a prefix in a plan carries what the previous block left in its
// queues. The kernel leaves that out in every network; without it hold-out and unplanned prefixes have no blocks.
func (a *Aggregator) washed(c *record.Conn) bool {
	return c.Washed(a.cfg.BlockSeconds, a.cfg.WashoutSeconds) &&
		(c.RateSource != record.RateLast || c.Assigned.Drawn() || a.armNow(c.Window, c.Prefix).Drawn())
}

// armNow returns the prefix's arm at the window's start; none without a plan.
func (a *Aggregator) armNow(start int64, prefix record.Prefix) record.Arm {
	if a.cfg.ArmAt != nil {
		if arm, in := a.cfg.ArmAt(prefix, start); in {
			return arm
		}
	}
	return record.ArmNone
}

func planned(a record.Arm) bool { return a == record.ArmTreatment || a == record.ArmControl }
