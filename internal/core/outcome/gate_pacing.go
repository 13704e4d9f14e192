package outcome

import "fmt"

// pacing: where nothing shall pace, TCP's pacing rate is 0 in every sample of every
// connection that would pace itself. TCP paces by that rate alone, so any other value is
// one that packets waited for. Who paces otherwise is the congestion control's affair.
func pacing(v *view) Gate {
	g := Gate{OK: true, Got: "as the congestion control asks", Want: "no pacing rate but 0",
		Why: "TCP paces BBR itself since Linux 4.13, whatever the qdisc: cap the rate at 0 (SO_MAX_PACING_RATE), and sample while the flow sends"}
	for i := range v.c.Flows {
		f := &v.c.Flows[i]
		if !v.c.Unpaced(f.Cong) || !g.OK {
			continue
		}
		seen, most := v.pacingRate(f.Name)
		g.OK = seen > 0 && most == 0
		g.Got = fmt.Sprintf("%s: %s in %d samples", f.Name, bits(8*float64(most)), seen)
	}
	return g
}

// pacingRate is the largest of a flow's samples.
func (v *view) pacingRate(flow string) (samples int, mostBytesPerS uint64) {
	for i := range v.r.Samples {
		if s := &v.r.Samples[i]; s.Flow == flow {
			samples++
			mostBytesPerS = max(mostBytesPerS, s.PacingBytesPerS)
		}
	}
	return samples, mostBytesPerS
}
