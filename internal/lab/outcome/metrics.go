package outcome

import (
	"math"
	"slices"
	"sort"

	"github.com/congctl/congctl/internal/tcp/stat"
)

// Whole: payload bits received over the time in which at least one connection was
// open, from its connect to its last byte.
//
// Steady: payload bits received from WarmUpUs after the first connect until the first flow
// ends: while all flows are active, past their start. At least ten round trips, since
// BBR's gain cycle alone takes eight; else 0.

// steadyRTTs is the least steady time, in round trips.
const steadyRTTs = 10

// measure returns the numbers of a valid run.
func measure(v *view) *Metrics {
	m := &Metrics{Flows: []FlowMetrics{}}
	from, to := v.steadyTime()
	var conns []Transfer
	var bytes, sent, again float64
	var repeats bool
	for i := range v.r.Flows {
		f := &v.r.Flows[i]
		m.Flows = append(m.Flows, f.measure(from, to))
		m.SteadyBitPerS += m.Flows[i].SteadyBitPerS
		m.CompletionUs = max(m.CompletionUs, f.end())
		conns = append(conns, f.Conns...)
		repeats = repeats || len(f.Conns) > 1
		sent += float64(f.BytesSent)
		again += float64(f.BytesRetrans)
	}
	bytes = received(conns)
	m.GoodputBitPerS = perS(bytes, open(conns))
	m.RetransShare = again / max(sent, 1)
	if repeats {
		var us []float64
		for _, t := range conns {
			us = append(us, float64(t.EndUs-t.StartUs))
		}
		m.ConnUs = spread(us)
	}
	m.Jain = fairness(m.Flows)
	m.QueueUs, m.SrttQueueUs = spread(v.r.QueueUs()), v.srttQueue()
	m.PolicerShare = policerShare(v.r.Samples)
	v.measureWire(m)
	return m
}

// steadyTime returns the bounds in us; from = to where nothing is left.
func (v *view) steadyTime() (from, to float64) {
	first, to := math.Inf(1), v.firstEnd()
	for i := range v.r.Flows {
		first = min(first, float64(v.r.Flows[i].start()))
	}
	from = first + float64(v.c.WarmUpUs)
	if math.IsInf(to, 0) || to-from < steadyRTTs*float64(v.c.Path.RTTUs) {
		return 0, 0
	}
	return from, to
}

func (f *FlowRun) measure(from, to float64) FlowMetrics {
	return FlowMetrics{
		Name: f.Name, Cong: f.Cong,
		GoodputBitPerS: perS(received(f.Conns), open(f.Conns)),
		SteadyBitPerS:  perS(f.arrivedAt(to)-f.arrivedAt(from), to-from),
		RetransShare:   float64(f.BytesRetrans) / float64(max(f.BytesSent, 1)),
	}
}

func received(conns []Transfer) (bytes float64) {
	for _, t := range conns {
		bytes += float64(t.Bytes)
	}
	return bytes
}

// fairness returns Jain's index of the flows while all were active, or else of the whole.
func fairness(flows []FlowMetrics) float64 {
	var steady, whole []float64
	for _, f := range flows {
		steady, whole = append(steady, f.SteadyBitPerS), append(whole, f.GoodputBitPerS)
	}
	if slices.Max(append(steady, 0)) > 0 {
		return stat.Jain(steady)
	}
	return stat.Jain(whole)
}

// QueueUs is by how much probes took longer than the fastest on the idle path.
func (r *Run) QueueUs() []float64 {
	idle := replies(r.Idle)
	if len(idle) == 0 {
		return nil
	}
	least := slices.Min(idle)
	us := replies(r.Probes)
	for i := range us {
		us[i] = max(us[i]-least, 0)
	}
	return us
}

// srttQueue is what TCP itself could know of the queue.
func (v *view) srttQueue() Spread {
	var us []float64
	for _, s := range v.r.Samples {
		if s.SrttUs > 0 && s.MinRTTUs > 0 {
			us = append(us, max(float64(s.SrttUs)-float64(s.MinRTTUs), 0))
		}
	}
	return spread(us)
}

// spread sorts us; all zero for an empty one.
func spread(us []float64) Spread {
	if len(us) == 0 {
		return Spread{}
	}
	slices.Sort(us)
	return Spread{stat.Sorted(us, 0.5), stat.Sorted(us, 0.95), stat.Sorted(us, 0.99)}
}

// measureWire adds the bottleneck's own counters.
//
// WireBitPerS is that of an empty bucket: from the first sample of the steady state at
// which more than a burst has passed until the last one with waiting packets before a flow
// ends. In slow start, and when everything is sent, the sender uses less than the bucket's
// rate.
func (v *view) measureWire(m *Metrics) {
	n := v.bottleneck()
	if n.hop == nil || n.rate == 0 {
		return
	}
	m.LinkUse = v.counted(n).ratio()
	if mss := v.mss(); mss > 0 {
		m.IdealShare = m.SteadyBitPerS / (n.rate * mss / v.frame())
	}
	ends := v.firstEnd()
	steady, _ := v.steadyTime()
	points := slices.DeleteFunc(v.wire(), func(p wirePoint) bool { return p.at > ends })
	if len(points) == 0 {
		return
	}
	first, last := points[0], points[len(points)-1]
	for _, p := range points {
		if first = p; p.at >= steady && p.sent > points[0].sent+n.burst {
			break
		}
	}
	for _, p := range slices.Backward(points) {
		if p.queue > 0 && p.at > first.at {
			last = p
			break
		}
	}
	m.WireBytes = uint64(last.sent - first.sent)
	m.WireBitPerS = perS(last.sent-first.sent, last.at-first.at)
}

// firstEnd is when the first flow ended: until then all send.
func (v *view) firstEnd() float64 {
	us := math.Inf(1)
	for i := range v.r.Flows {
		us = min(us, float64(v.r.Flows[i].end()))
	}
	return us
}

// mss is the payload of a full packet, the smallest of the flows'.
func (v *view) mss() float64 {
	mss := math.Inf(1)
	for i := range v.r.Flows {
		mss = min(mss, float64(v.r.Flows[i].MSS))
	}
	if math.IsInf(mss, 1) {
		return 0
	}
	return mss
}

// arrivedAt returns how many payload bytes the receiver had at a time (us), on a straight
// line between the marks around it.
func (f *FlowRun) arrivedAt(us float64) float64 {
	i := sort.Search(len(f.Arrived), func(i int) bool { return float64(f.Arrived[i].AtUs) > us })
	before := Mark{AtUs: f.start()}
	if i > 0 {
		before = f.Arrived[i-1]
	}
	if i == len(f.Arrived) || us <= float64(before.AtUs) {
		return float64(before.Bytes)
	}
	after := f.Arrived[i]
	part := (us - float64(before.AtUs)) / float64(after.AtUs-before.AtUs)
	return float64(before.Bytes) + part*float64(after.Bytes-before.Bytes)
}

// start is when the flow's first connection began.
func (f *FlowRun) start() uint64 {
	if len(f.Conns) == 0 {
		return 0
	}
	return f.Conns[0].StartUs
}

// end is when its last byte arrived.
func (f *FlowRun) end() (us uint64) {
	for _, t := range f.Conns {
		us = max(us, t.EndUs)
	}
	return us
}

// open is for how long at least one of the connections was open, in us: gaps between
// connections are no one's time.
func open(conns []Transfer) (us float64) {
	conns = slices.Clone(conns)
	slices.SortFunc(conns, func(a, b Transfer) int { return int(int64(a.StartUs) - int64(b.StartUs)) })
	var until uint64
	for _, t := range conns {
		if from := max(t.StartUs, until); t.EndUs > from {
			us += float64(t.EndUs - from)
			until = t.EndUs
		}
	}
	return us
}

// perS is bytes over us as bit/s; 0 where there was no time.
func perS(bytes, us float64) float64 {
	if us <= 0 || math.IsNaN(bytes) {
		return 0
	}
	return bytes * 8e6 / us
}
