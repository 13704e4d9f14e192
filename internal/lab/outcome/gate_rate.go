package outcome

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/congctl/congctl/internal/lab/scenario"
)

const (
	rateShare = 0.005 // a tenth of a difference that counts
	seenShare = 0.5   // see seldomEmpty
)

// bottleneck is the rate limit that the cell measures: the bottleneck, or the sender's own
// token bucket where that is narrower.
type bottleneck struct {
	hop   *Hop
	rate  float64 // bit/s, of the cell's start
	burst float64 // bytes that may pass at once
	queue float64 // bytes that may wait
	path  scenario.Path
}

// superBytes is the largest super-packet that TCP builds: what one packet in progress
// then moves.
const superBytes = 64 << 10

func (v *view) bottleneck() bottleneck {
	path, s, frame := v.c.Path, v.c.Sender, v.frame()
	least := frame
	if s.SuperPackets {
		least = superBytes
	}
	if s.Qdisc == "tbf" && s.TbfBitPerS > 0 && (path.RateBitPerS == 0 || s.TbfBitPerS < path.RateBitPerS) {
		path.RateBitPerS, path.Schedule = s.TbfBitPerS, nil
		return bottleneck{v.hop(RoleSender), float64(s.TbfBitPerS), max(float64(s.TbfBurst), least), float64(s.TbfLimit), path}
	}
	return bottleneck{v.hop(RoleBottleneck), float64(path.RateBitPerS), max(float64(path.BurstBytes), least), float64(path.BufferPacket) * frame, path}
}

// rate: the bottleneck sends what it should: never more than its rate and one burst,
// and its rate within 0.5 % while it had packets to send.
func rate(v *view) Gate {
	n := v.bottleneck()
	g := Gate{OK: true, Got: "no rate limit", Want: "no rate limit"}
	if n.rate == 0 {
		return g
	}
	g.Want = fmt.Sprintf("at most %s, and within %s of it while its queue lasts", bits(n.rate), percent(rateShare))
	if n.hop == nil {
		g.OK, g.Got, g.Why = false, "no qdisc at the bottleneck", "the shaper is missing: was its qdisc refused?"
		return g
	}
	all := v.sampled(n)
	if all.could == 0 {
		all = v.counted(n)
	}
	g.Got = bits(n.rate*all.ratio()) + " over all"
	g.OK = all.sent <= all.could*(1+rateShare)+all.slack
	measured := max(all.ratio(), v.peak(n))
	if busy, within := v.busy(n); busy.could > 0 && g.OK {
		g.Got += ", " + bits(n.rate*busy.ratio()) + " with a queue"
		g.OK = busy.sent <= busy.could*(1+rateShare)+busy.slack && busy.sent >= busy.could*(1-within)-busy.slack
		measured = busy.ratio()
	}
	g.Why = whyRate(measured)
	return g
}

// buffer: no more waits than the cell's buffer holds; one burst more, since a bucket's
// limit is set with its burst in it.
func buffer(v *view) Gate {
	n, most := v.bottleneck(), 0.0
	for _, s := range v.r.Samples {
		most = max(most, float64(s.QueueBytes))
	}
	allowed := n.queue + n.burst
	return Gate{OK: most <= allowed || v.c.Sender.SuperPackets, Got: digits(most) + " bytes", Want: "at most " + digits(allowed) + " bytes in the queue",
		Why: "the bottleneck queues more than its buffer: its limit is netem's default of 1000 packets, or it counts super-packets"}
}

func whyRate(ratio float64) string {
	switch {
	case near(ratio, 8):
		return "eight times the rate: bits instead of bytes; tc's bps, kbps and mbps are bytes a second, netlink's rate too"
	case near(ratio, 1.0/8):
		return "an eighth of the rate: bytes instead of bits; tc's bit, kbit and mbit are bits a second"
	case ratio > 1:
		return "more passes than the rate allows: a wrong unit, the wrong link, or super-packets that pass whole within a large burst"
	}
	return "the bottleneck idles although packets wait: the CPU is too slow, the clock is coarse, or the burst is below rate x timer period"
}

// sending is what a bottleneck sent in some time, and could have sent at its rate.
type sending struct {
	sent, could float64 // bytes
	slack       float64 // bytes by which a packet in progress, and a burst, may move the ends
}

func (s sending) ratio() float64 {
	if s.could == 0 {
		return 0
	}
	return s.sent / s.could
}

// counted returns the qdisc's final counters: with the idle probes before, and what was
// still queued when the last flow was complete.
func (v *view) counted(n bottleneck) sending {
	idle := float64(len(v.r.Idle)) * float64(v.r.ProbeBytes)
	all := stretch(wirePoint{}, wirePoint{at: float64(v.r.Host.DurationUs), sent: float64(n.hop.Bytes)}, n)
	all.slack += idle + n.queue
	return all
}

// sampled returns what it sent from the first sample to the last.
func (v *view) sampled(n bottleneck) sending {
	points := v.wire()
	if len(points) < 2 {
		return sending{}
	}
	return stretch(points[0], points[len(points)-1], n)
}

// peak returns the highest rate between two samples, as a multiple of the configured one:
// a shaper's shows there even if TCP was mostly below it.
func (v *view) peak(n bottleneck) (ratio float64) {
	points := v.wire()
	for i := range points[:max(len(points)-1, 0)] {
		ratio = max(ratio, stretch(points[i], points[i+1], n).ratio())
	}
	return ratio
}

// sampleLate is by how much a sample's time and its reading of the qdisc may differ, in
// us: sockets and qdisc are read one after another, with a scheduler between.
const sampleLate = 1000

// stretch returns what it sent between two samples. Each change of a token bucket's rate
// fills the bucket (tbf_change in net/sched/sch_tbf.c).
func stretch(from, to wirePoint, n bottleneck) sending {
	fills := 1 + float64(len(n.path.Schedule))
	return sending{to.sent - from.sent, n.path.Capacity(from.at, to.at) / 8e6, n.burst*fills + n.rate*sampleLate/8e6}
}

// busy adds up the times in which the bottleneck surely had packets: from one sample to
// the next the backlog at the first is enough to last. If no sample is that certain, long
// rows of samples with any backlog stand in, with a wide margin. A schedule has no such
// time: waiting packets were timed at the previous rate.
func (v *view) busy(n bottleneck) (total sending, within float64) {
	points := v.wire()
	if len(v.c.Path.Schedule) > 0 {
		return sending{}, 0
	}
	sure := func(i int) bool {
		return points[i].queue >= n.path.Capacity(points[i].at, points[i+1].at)/8e6
	}
	if total = add(points, n, 1, sure); total.could > 0 {
		return total, rateShare
	}
	some := func(i int) bool { return points[i].queue > 0 && points[i+1].queue > 0 }
	return add(points, n, seldomEmpty, some), seenShare
}

// seldomEmpty samples in a row saw a queue: were it empty half of the time, that would
// happen once in a million.
const seldomEmpty = 20

// add sums the rows of at least that many steps between points for which holds is true.
func add(points []wirePoint, n bottleneck, atLeast int, holds func(int) bool) (total sending) {
	for i := 0; i+1 < len(points); {
		j := i
		for j+1 < len(points) && holds(j) {
			j++
		}
		if j-i >= atLeast {
			row := stretch(points[i], points[j], n)
			total = sending{total.sent + row.sent, total.could + row.could, total.slack + row.slack}
		}
		i = max(j, i+1)
	}
	return total
}

// wirePoint is the bottleneck at a sample: one for all flows that were sampled then.
type wirePoint struct{ at, sent, queue float64 }

func (v *view) wire() (points []wirePoint) {
	for _, s := range v.r.Samples {
		points = append(points, wirePoint{float64(s.AtUs), float64(s.WireBytes), float64(s.QueueBytes)})
	}
	slices.SortStableFunc(points, func(a, b wirePoint) int { return cmp.Compare(a.at, b.at) })
	points = slices.CompactFunc(points, func(a, b wirePoint) bool { return a.at == b.at })
	if len(points) > 0 && points[len(points)-1].sent == 0 {
		return nil // the world did not count
	}
	return points
}
