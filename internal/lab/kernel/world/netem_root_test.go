package world

import (
	"bytes"
	"context"
	"errors"
	"math"
	"os"
	"testing"
	"time"

	"github.com/congctl/congctl/internal/lab/outcome"
	"github.com/congctl/congctl/internal/lab/scenario"
)

// netemCell has delay, and is otherwise the common cell without fq.
func netemCell(t *testing.T, also ...string) scenario.Cell {
	t.Helper()
	needs(t, append(also, "netem", "cubic")...)
	c := baseCell()
	c.Sender.Qdisc = "noqueue"
	return c
}

// virtual reports whether time is the guest's own, so that nothing else takes any of it.
func virtual(t *testing.T) bool {
	t.Helper()
	line, err := os.ReadFile("/proc/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	return bytes.Contains(line, []byte("CONGCTL_GUEST=1"))
}

// RTT and rate are right where time is virtual; on a busy machine neither can be too
// good.
func TestRTTAndRate(t *testing.T) {
	for _, kind := range []string{"netem", "tbf", "fq_codel", "fq", "pfifo_fast"} {
		t.Run(kind, func(t *testing.T) {
			c := netemCell(t, "tbf", kind)
			c.Path.Bottleneck = kind
			run := runIt(t, c)
			for _, p := range run.Idle[1:] { // the first warms caches
				if p.RTTUs < 20_000 || virtual(t) && p.RTTUs > 20_000+probeBytes*8/20+100 {
					t.Errorf("idle probe %+v", p)
				}
			}
			checkRate(t, &run, 20e6)
		})
	}
}

// checkRate compares what the bottleneck sent in its busy middle with its rate.
func checkRate(t *testing.T, run *outcome.Run, bitPerS float64) {
	t.Helper()
	var busy []outcome.Sample
	for _, s := range run.Samples {
		if s.QueueBytes >= 2*1514 {
			busy = append(busy, s)
		} else if len(busy) > 20 {
			break
		} else {
			busy = nil
		}
	}
	if len(busy) < 2 {
		t.Fatalf("the bottleneck was never busy: %d samples", len(run.Samples))
	}
	first, last := busy[0], busy[len(busy)-1]
	bytes, us := float64(last.WireBytes-first.WireBytes), float64(last.AtUs-first.AtUs)
	// A sample's time and counter are taken one after the other, a packet apart at most.
	if got, share := bytes*8e6/us, 0.005+2*1514/bytes; got > bitPerS*(1+share) || virtual(t) && got < bitPerS*(1-share) {
		t.Errorf("rate %.6g bit/s, want %.6g within %.2f %%", got, bitPerS, share*100)
	}
}

// within99 reports whether k of n events fit a probability: normal bounds at 99.9 %, since
// several places are tested.
func within99(t *testing.T, what string, k, n uint64, p float64) {
	t.Helper()
	mean, sd := float64(n)*p, math.Sqrt(float64(n)*p*(1-p))
	if d := math.Abs(float64(k) - mean); d > 3.3*sd+1 {
		t.Errorf("%s: %d of %d lost, expected %.0f", what, k, n, mean)
	}
}

func TestLossPlaces(t *testing.T) {
	for _, at := range []string{scenario.LossBefore, scenario.LossAfter, scenario.LossSender} {
		t.Run(at, func(t *testing.T) {
			c := netemCell(t, "bbr")
			c.Path.Loss = scenario.Loss{PPM: 30_000, At: at, BackPPM: 10_000}
			c.Flows[0] = scenario.Flow{Name: "a", Cong: "bbr", Bytes: 6_000_000}
			if at == scenario.LossSender {
				c.Sender.Qdisc = "netem"
			}
			run := runIt(t, c)
			loss, back := hopOf(&run, outcome.RoleLoss), hopOf(&run, outcome.RoleBack)
			within99(t, at, loss.Drops, loss.Packets+loss.Drops, 0.03)
			within99(t, "back", back.Drops, back.Packets+back.Drops, 0.01)
			if loss.LimitDrops+back.LimitDrops != 0 || run.Flows[0].TotalRetrans == 0 {
				t.Errorf("%+v, %+v", loss, back)
			}
			// Single packets where they are lost: TCP's own count is that of the packets.
			if bottleneck := hopOf(&run, outcome.RoleBottleneck); float64(bottleneck.Bytes)/float64(bottleneck.Packets) > 1514 {
				t.Errorf("bottleneck %+v", bottleneck)
			}
		})
	}
}

// A full queue is told apart from losses at random just before it.
func TestOverflowBesideLoss(t *testing.T) {
	c := netemCell(t)
	c.Path.Loss, c.Path.BufferPacket = scenario.Loss{PPM: 1000, At: scenario.LossBefore}, 10
	run := runIt(t, c)
	loss, bottleneck := hopOf(&run, outcome.RoleLoss), hopOf(&run, outcome.RoleBottleneck)
	within99(t, "loss", loss.Drops, loss.Packets+loss.Drops, 0.001)
	if bottleneck.LimitDrops == 0 || bottleneck.LimitDrops != bottleneck.Drops {
		t.Errorf("bottleneck %+v", bottleneck)
	}
}

// The share of the four-parameter model, within what its runs of losses allow: their
// mean length is 1/r, so the deviation is about sqrt(2/r) times the independent one.
func TestGilbert(t *testing.T) {
	c := netemCell(t, "bbr")
	g := &scenario.Gilbert{P: 10_000, R: 250_000, LossBad: 800_000}
	c.Path.Loss = scenario.Loss{At: scenario.LossAfter, Gilbert: g}
	c.Flows[0] = scenario.Flow{Name: "a", Cong: "bbr", Bytes: 8_000_000}
	run := runIt(t, c)
	h := hopOf(&run, outcome.RoleLoss)
	n, p := float64(h.Packets+h.Drops), c.Path.Loss.MeanPPM()/1e6
	if d := math.Abs(float64(h.Drops) - n*p); d > 3.3*math.Sqrt(n*p*(1-p)*2/0.25) {
		t.Errorf("%d of %.0f lost, expected %.0f", h.Drops, n, n*p)
	}
}

func TestSuperPackets(t *testing.T) {
	c := netemCell(t)
	c.Path.Loss = scenario.Loss{PPM: 1000, At: scenario.LossAfter}
	c.Sender.SuperPackets = true
	run := runIt(t, c)
	in := linkOf(&run, bn, srv)
	if mean := in.RxBytes / max(in.RxPackets, 1); mean < 2000 {
		t.Errorf("%d bytes a packet", mean)
	}
	c.Sender.SuperPackets = false
	run = runIt(t, c)
	in = linkOf(&run, bn, srv)
	if mean := in.RxBytes / max(in.RxPackets, 1); mean > 1514 {
		t.Errorf("%d bytes a packet", mean)
	}
}

func TestPolicer(t *testing.T) {
	c := netemCell(t, "policer", "bbr")
	c.Path.Bottleneck, c.Path.BurstBytes = "policer", 30_000
	c.Path.RateBitPerS = 2_000_000 // less than a slow machine can send
	c.Flows[0] = scenario.Flow{Name: "a", Cong: "bbr", DurationUs: 3_000_000}
	run := runIt(t, c)
	h := hopOf(&run, outcome.RoleBottleneck)
	if h.Qdisc != "police" || h.Drops == 0 || h.LimitDrops != h.Drops || h.Packets == 0 {
		t.Errorf("%+v", h)
	}
	if most := 2e6/8*float64(run.Host.DurationUs)/1e6 + 30_000; float64(h.Bytes) > most*1.01 {
		t.Errorf("%d bytes passed, at most %.0f", h.Bytes, most)
	}
}

// fq_codel marks instead of dropping where both ends speak ECN.
func TestECN(t *testing.T) {
	c := netemCell(t, "tbf", "fq_codel")
	c.Path.Bottleneck, c.Sender.ECN = "fq_codel", true
	c.Flows[0] = scenario.Flow{Name: "a", Cong: "cubic", DurationUs: 3_000_000}
	run := runIt(t, c)
	if h := hopOf(&run, outcome.RoleBottleneck); h.Marked == 0 {
		t.Errorf("%+v", h)
	}
}

// The RTT and the loss of a path change, and packets stay in order.
func TestPathSchedule(t *testing.T) {
	c := netemCell(t, "tbf")
	c.Path.Bottleneck, c.Path.JitterUs = "tbf", 2_000
	c.Path.Schedule = []scenario.Step{
		{AtUs: 1_000_000, RateBitPerS: 20_000_000, RTTUs: 60_000},
		{AtUs: 2_000_000, RateBitPerS: 20_000_000, RTTUs: 10_000, LossPPM: 100_000},
	}
	c.Flows[0] = scenario.Flow{Name: "a", Cong: "cubic", DurationUs: 3_000_000, RateBitPerS: 2_000_000}
	run := runIt(t, c)
	for _, p := range run.Probes {
		want := uint64(20_000)
		switch at := p.AtUs; {
		case at > 2_000_000 || p.RTTUs == 0:
			continue
		case at > 1_000_000:
			want = 60_000
		case at > 900_000: // it may come back in the next step
			continue
		}
		if p.RTTUs < want-2_000 || virtual(t) && p.RTTUs > want+8_000 {
			t.Errorf("probe %+v", p)
		}
	}
	if h := hopOf(&run, outcome.RoleLoss); h.Drops == 0 {
		t.Errorf("%+v", h)
	}
	if f := run.Flows[0]; f.ReordSeen != 0 {
		t.Errorf("%d times out of order", f.ReordSeen)
	}
}

// fq paces at the sender, and loses nothing there.
func TestFqSender(t *testing.T) {
	c := netemCell(t, "fq", "bbr")
	c.Sender.Qdisc, c.Flows[0].Cong = "fq", "bbr"
	run := runIt(t, c)
	if h := hopOf(&run, outcome.RoleSender); h.Drops != 0 || h.Packets == 0 {
		t.Errorf("%+v", h)
	}
}

// A flow with a longer round trip of its own has it, from the handshake on, and no other flow does.
func TestFlowsOwnRTT(t *testing.T) {
	c := netemCell(t, "prio")
	one := c.Flows[0]
	c.Flows = nil
	for i, rtt := range []uint64{0, 40_000, 100_000, 40_000} {
		one.Name, one.RTTUs = string(rune('a'+i)), rtt
		c.Flows = append(c.Flows, one)
	}
	run := runIt(t, c)
	for i, f := range run.Flows {
		want := max(c.Path.RTTUs, c.Flows[i].RTTUs)
		if got := uint64(f.MinRTTUs); got < want || virtual(t) && got > want+3_000 {
			t.Errorf("%s: %d us, want %d", f.Name, got, want)
		}
	}
}

// A cancelled run ends soon and leaves no descriptor behind.
func TestCancel(t *testing.T) {
	needs(t)
	before := descriptors(t)
	c := tbfCell("cubic")
	c.Flows[0] = scenario.Flow{Name: "a", Cong: "cubic", DurationUs: 60_000_000}
	ctx, cancel := context.WithTimeout(context.Background(), 300*time.Millisecond)
	defer cancel()
	run, err := Run(ctx, &c, 1, Options{})
	if !errors.Is(err, context.DeadlineExceeded) || run.Error == "" {
		t.Errorf("got %v, %q", err, run.Error)
	}
	if after := descriptors(t); after > before {
		t.Errorf("%d descriptors before, %d after", before, after)
	}
}
