package outcome

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/congctl/congctl/internal/lab/scenario"
)

// finished: each requested connection ended by its own rule, in time. Anything else is
// part of a transfer, without its slowest part.
func finished(v *view) Gate {
	g := Gate{Want: fmt.Sprintf("all flows ended by themselves within %s", micros(float64(v.c.LimitUs))),
		Why: "the flow is slower than expected (send less, or raise limit), or its connection broke (is the return path up, does the receiver read, does the burst hold a packet?)"}
	if v.r.Error != "" {
		g.Got, g.Why = v.r.Error, "the world broke, not the flow: fix that and run the cell again"
		return g
	}
	var faults []string
	for i := range v.c.Flows {
		if f := unfinished(&v.c.Flows[i], v.r.flow(v.c.Flows[i].Name), v.c.LimitUs); f != "" {
			faults = append(faults, v.c.Flows[i].Name+": "+f)
		}
	}
	g.OK, g.Got = len(faults) == 0, listed(faults, "all ended")
	return g
}

// unfinished returns what is missing of a flow, "" if nothing.
func unfinished(asked *scenario.Flow, seen *FlowRun, limitUs uint64) string {
	if seen == nil {
		return "did not run"
	}
	for i, t := range seen.Conns {
		switch {
		case t.Error != "":
			return fmt.Sprintf("connection %d: %s", i+1, t.Error)
		case t.EndUs == 0:
			return fmt.Sprintf("connection %d did not end, %d bytes arrived", i+1, t.Bytes)
		case t.EndUs > limitUs && limitUs > 0:
			return fmt.Sprintf("connection %d ended after %s", i+1, micros(float64(t.EndUs)))
		case asked.DurationUs > 0 && t.EndUs-t.StartUs >= asked.DurationUs: // which came first
		case asked.Bytes > 0 && t.Bytes != asked.Bytes:
			return fmt.Sprintf("connection %d: %d of %d bytes arrived", i+1, t.Bytes, asked.Bytes)
		}
	}
	if want := max(asked.Repeat, 1); len(seen.Conns) != want {
		return fmt.Sprintf("%d of %d connections", len(seen.Conns), want)
	}
	return ""
}

// flow returns the run of a flow by name, nil if it did not run.
func (r *Run) flow(name string) *FlowRun {
	for i := range r.Flows {
		if r.Flows[i].Name == name {
			return &r.Flows[i]
		}
	}
	return nil
}

// cong: the kernel's own word for each connection. A listener's sockets, a missing
// module or a denied one silently leave another congestion control in place.
func cong(v *view) Gate {
	var want, wrong []string
	for _, f := range v.c.Flows {
		want = append(want, f.Cong)
		if seen := v.r.flow(f.Name); seen != nil && seen.CongSeen != f.Cong {
			wrong = append(wrong, fmt.Sprintf("%s: %q", f.Name, seen.CongSeen))
		}
	}
	return Gate{OK: len(wrong) == 0, Got: listed(wrong, strings.Join(want, ", ")), Want: strings.Join(want, ", ") + " by inet_diag",
		Why: "the module is not loaded, or not in tcp_allowed_congestion_control: load it, and set TCP_CONGESTION on the socket that sends"}
}

// limitedShare is how much of its busy time a connection may be held back by a
// buffer: what buffers take then stays below the 5 % that make a difference.
const limitedShare = 0.01

// rwndLimited: the receiver's window did not limit the sender.
func rwndLimited(v *view) Gate {
	g := v.limited(func(f *FlowRun) uint64 { return f.RwndLimitedUs })
	g.Why = "the receive buffer is smaller than 8 x rate x RTT + 4 MB, or the application reads slowly: raise rcvbuf (tcp_rmem[2])"
	return g
}

// sndbufLimited: neither did its own buffer. The kernel does not count what a buffer of a few segments takes where the program
// fills it again in the same instant, as on a clock that stands still meanwhile; so the buffer must be the cell's, too.
func sndbufLimited(v *view) Gate {
	g := v.limited(func(f *FlowRun) uint64 { return f.SndbufLimitedUs })
	if wmem := strings.Fields(v.r.Host.Sysctls["net.ipv4.tcp_wmem"]); len(wmem) == 3 {
		if most, err := strconv.ParseUint(wmem[2], 10, 64); err != nil || most < v.c.Sender.SndbufBytes {
			g.OK, g.Got, g.Want = false, fmt.Sprintf("tcp_wmem[2] = %s B", wmem[2]), fmt.Sprintf("the cell's %d B", v.c.Sender.SndbufBytes)
		}
	}
	g.Why = "the send buffer is smaller than 8 x rate x RTT + 4 MB: raise sndbuf (tcp_wmem[2])"
	return g
}

// limited looks at the worst flow. One with a rate of its own is limited by that.
func (v *view) limited(us func(*FlowRun) uint64) Gate {
	worst, name := 0.0, ""
	for _, f := range v.c.Flows {
		seen := v.r.flow(f.Name)
		if seen == nil || seen.BusyUs == 0 || f.RateBitPerS > 0 {
			continue
		}
		if share := float64(us(seen)) / float64(seen.BusyUs); share > worst {
			worst, name = share, f.Name+": "
		}
	}
	return Gate{OK: worst <= limitedShare, Got: name + percent(worst) + " of the busy time", Want: "at most " + percent(limitedShare)}
}

// listed joins what was found, or returns the word for nothing.
func listed(found []string, none string) string {
	if len(found) == 0 {
		return none
	}
	return strings.Join(found, "; ")
}

// pacing: where nothing should pace, TCP's pacing rate is 0 in every sample of every
// connection that would pace itself. TCP paces only by that rate, so packets waited for
// any other value. Other pacing is the congestion control's choice.
func pacing(v *view) Gate {
	g := Gate{OK: true, Got: "as the congestion control sets it", Want: "pacing rate 0 only",
		Why: "TCP paces BBR itself since Linux 4.13, with any qdisc: cap the rate at 0 (SO_MAX_PACING_RATE), and sample while the flow sends"}
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
