package world

import (
	"fmt"

	"github.com/congctl/congctl/internal/core/inetdiag"
	"github.com/congctl/congctl/internal/core/outcome"
	"github.com/congctl/congctl/internal/kernel/qdisc"
)

// sample looks at each running transfer and at the bottleneck.
func (r *runner) sample() bool {
	if r.ended {
		return false
	}
	now := r.loop.now()
	neck, err := r.neckCounters()
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
			r.run.Samples = append(r.run.Samples, sampleOf(s, f.spec.Name, now, neck))
		}
	}
	return true
}

func (r *runner) neckCounters() (c qdisc.Counters, err error) {
	if r.neck == nil {
		return c, nil
	}
	n := r.net.node(r.neck.node)
	if c, err = n.counters(r.neck); err != nil {
		return c, fmt.Errorf("sample bottleneck: %w", err)
	}
	return c, nil
}

func sampleOf(s *inetdiag.Sock, name string, atUs uint64, neck qdisc.Counters) outcome.Sample {
	i := &s.Info
	out := outcome.Sample{
		AtUs: atUs, Flow: name, CAState: i.CaState, Cwnd: i.SndCwnd, Ssthresh: i.SndSsthresh,
		SrttUs: i.RttUs, MinRTTUs: i.MinRttUs, PacingBytesPerS: i.PacingRate, DeliveryBytesPS: i.DeliveryRate,
		Unacked: i.Unacked, Lost: i.Lost, TotalRetrans: i.TotalRetrans, BytesAcked: i.BytesAcked,
		QueueBytes: neck.QueueBytes, WireBytes: neck.Bytes,
	}
	if s.Has&inetdiag.HasBBR != 0 {
		out.BBRBwBytesPerS, out.BBRMinRTTUs = s.BBR.BwBytesPerS, s.BBR.MinRttUs
		out.BBRPacingGain, out.BBRCwndGain = s.BBR.PacingGain, s.BBR.CwndGain
	}
	return out
}
