package world

import (
	"fmt"
	"math"

	"github.com/congctl/congctl/internal/lab/outcome"
	"github.com/congctl/congctl/internal/lab/scenario"
	"github.com/congctl/congctl/internal/linux/qdisc"
	"github.com/congctl/congctl/internal/tcp/inetdiag"
)

// flow is one flow of the cell: one transfer, or several one after another.
type flow struct {
	spec     *scenario.Flow
	out      *outcome.FlowRun
	port     uint16
	listener int
	now      *transfer // the one that runs, nil between two
	begun    int       // transfers
	earlier  uint64    // bytes of those that ended
	open     int       // transfers that are not closed yet
	sinceUs  uint64    // of the running transfer's first byte, for the application's rate
}

func (f *flow) count() int { return max(f.spec.Repeat, 1) }

// over reports whether nothing more will come.
func (f *flow) over() bool { return f.begun == f.count() && f.open == 0 }

// startFlow begins the next transfer of a flow.
func (r *runner) startFlow(f *flow) {
	t, err := r.connect(f, f.begun)
	if err != nil {
		r.fail(err)
		return
	}
	t.result = &f.out.Conns[f.begun]
	f.now = t
	f.begun++
	f.open++
	if d := f.spec.DurationUs; d > 0 {
		r.loop.at(t.result.StartUs+d, func() { r.finish(t, "") })
	}
}

// endTransfer notes the receiver's end of a transfer, plans the next one, and waits
// for the sender's end.
func (r *runner) endTransfer(t *transfer, trouble string) {
	if t.ended {
		return
	}
	t.ended = true
	f, now := t.flow, r.loop.now()
	t.result.Bytes, t.result.Error = t.got, trouble
	if trouble == "" {
		t.result.EndUs = now
	}
	f.earlier += t.got
	f.mark(now, f.earlier)
	f.now = nil
	if f.begun < f.count() && trouble == "" {
		r.loop.at(now+f.spec.GapUs, func() { r.startFlow(f) })
	} else {
		f.begun = f.count()
	}
	r.settle(t)
}

const (
	settleEveryUs = 1_000
	settleWithin  = 5_000_000 // us: some retransmission timeouts
)

// settle closes a transfer when the sender knows that everything has arrived, or at once
// if its time was over: its counters are read just before.
func (r *runner) settle(t *transfer) {
	until := r.loop.now() + settleWithin + 2*max(r.cell.Path.RTTUs, t.flow.spec.RTTUs)
	finish := func() bool {
		s := r.state(t)
		whole := t.bytes > 0 && t.got == t.bytes
		if s != nil && whole && (s.Info.Unacked > 0 || s.Info.NotsentBytes > 0) && r.loop.now() < until {
			return false
		}
		if s != nil {
			t.flow.add(s)
		}
		r.abandon(t)
		t.flow.open--
		return true
	}
	if !finish() {
		r.loop.every(settleEveryUs, func() bool { return !finish() })
	}
}

// add sums the counters of the sender's socket; where a sum means nothing it keeps the
// last transfer's values.
func (f *flow) add(s *inetdiag.Sock) {
	o, i := f.out, &s.Info
	o.CongSeen, o.MSS, o.MinRTTUs = s.Cong.String(), i.SndMss, i.MinRttUs
	o.SegsOut += uint64(i.SegsOut)
	o.DataSegsOut += uint64(i.DataSegsOut)
	o.BytesSent += i.BytesSent
	o.BytesRetrans += i.BytesRetrans
	o.TotalRetrans += uint64(i.TotalRetrans)
	o.BusyUs += i.BusyTimeUs
	o.RwndLimitedUs += i.RwndLimitedUs
	o.SndbufLimitedUs += i.SndbufLimitedUs
	o.ReordSeen += uint64(i.ReordSeen)
}

// mark notes progress, once for each count.
func (f *flow) mark(us, bytes uint64) {
	if n := len(f.out.Arrived); n > 0 && f.out.Arrived[n-1].Bytes == bytes {
		return
	}
	f.out.Arrived = append(f.out.Arrived, outcome.Mark{AtUs: us, Bytes: bytes})
}

// allowance is how many bytes the application has for the socket now. Its own rate
// grows by whole ticks: by the clock, a few more bytes would always be due.
func (f *flow) allowance(t *transfer, nowUs uint64) uint64 {
	left := uint64(math.MaxInt64)
	if t.bytes > 0 {
		left = t.bytes - t.sent
	}
	if f.spec.RateBitPerS == 0 {
		return left
	}
	written := (nowUs - f.sinceUs) / f.tickUs() * f.tickUs()
	due := uint64(float64(written) * float64(f.spec.RateBitPerS) / 8e6)
	return min(left, due-min(due, t.sent))
}

// tickUs returns how often an application with its own rate writes: for two packets'
// worth, between one and twenty milliseconds.
func (f *flow) tickUs() uint64 {
	const twoPackets = 2 * 1448 * 8 * 1_000_000 // bit-us
	return min(max(twoPackets/f.spec.RateBitPerS, 1_000), 20_000)
}

// sample looks at each running transfer and at the bottleneck.
func (r *runner) sample() bool {
	if r.ended {
		return false
	}
	now := r.loop.now()
	bottleneck, err := r.bottleneckCounters()
	if err != nil {
		r.fail(err)
		return false
	}
	for _, f := range r.flows {
		t := f.now
		if t == nil {
			continue
		}
		f.mark(now, f.earlier+r.arrived(t))
		if s := r.state(t); s != nil {
			r.run.Samples = append(r.run.Samples, sampleOf(s, f.spec.Name, now, bottleneck))
		}
	}
	return true
}

func (r *runner) bottleneckCounters() (c qdisc.Counters, err error) {
	if r.bottleneck == nil {
		return c, nil
	}
	n := r.net.node(r.bottleneck.node)
	if c, err = n.counters(r.bottleneck); err != nil {
		return c, fmt.Errorf("sample bottleneck: %w", err)
	}
	return c, nil
}

func sampleOf(s *inetdiag.Sock, name string, atUs uint64, bottleneck qdisc.Counters) outcome.Sample {
	i := &s.Info
	out := outcome.Sample{
		AtUs: atUs, Flow: name, CAState: i.CaState, Cwnd: i.SndCwnd, Ssthresh: i.SndSsthresh,
		SrttUs: i.RttUs, MinRTTUs: i.MinRttUs, PacingBytesPerS: i.PacingRate, DeliveryBytesPS: i.DeliveryRate,
		Unacked: i.Unacked, Lost: i.Lost, TotalRetrans: i.TotalRetrans, BytesAcked: i.BytesAcked,
		QueueBytes: bottleneck.QueueBytes, WireBytes: bottleneck.Bytes,
	}
	if s.Has&inetdiag.HasBBR != 0 {
		out.BBRBwBytesPerS, out.BBRMinRTTUs = s.BBR.BwBytesPerS, s.BBR.MinRttUs
		out.BBRPacingGain, out.BBRCwndGain = s.BBR.PacingGain, s.BBR.CwndGain
	}
	return out
}
