package outcome

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/congctl/congctl/internal/lab/scenario"
)

// Each mistake turns an honest run of cell100, or of its tbf sister, into what a world
// would see that makes it.
var mistakes = map[string]func(c *scenario.Cell) *Run{
	"netem on the sender's root": func(c *scenario.Cell) *Run {
		r := honest(c)
		srv, wan := &r.Hops[0], &r.Hops[2]
		srv.Qdisc, srv.Drops = "netem", wan.Drops
		srv.Packets -= wan.Drops
		srv.Roles = []string{RoleSender, RoleLoss}
		wan.Roles, wan.Drops = []string{RoleDelay}, 0
		r.Links[0].GSOMax = 65535
		return r
	},
	"super-packets on the sender's link": func(c *scenario.Cell) *Run {
		r := honest(c)
		for _, i := range []int{1, 3} { // into bn and wan: skbs of 20 packets, with one header
			r.Links[i].RxPackets /= 20
			r.Links[i].RxBytes = r.Links[i].RxPackets * (20*mssBytes + 66)
		}
		return r
	},
	"a few super-packets among short flows": func(c *scenario.Cell) *Run {
		r := honest(c)
		r.Links[3].RxPackets, r.Links[3].RxBytes = 40_000, 40_000*1300
		return r
	},
	"GRO on the link before the place of loss": func(c *scenario.Cell) *Run {
		r := honest(c)
		r.Hops[2].Drops /= 10 // skbs of ten packets are counted once when dropped
		return r
	},
	"limit of the delay line too small": func(c *scenario.Cell) *Run {
		r := honest(c)
		r.Hops[2].Packets -= 3000
		r.Hops[2].Drops += 3000
		r.Hops[2].LimitDrops += 3000
		return r
	},
	"limit of the delay line too small, not told from losses": func(c *scenario.Cell) *Run {
		r := honest(c)
		r.Hops[2].Packets -= 300
		r.Hops[2].Drops += 300
		return r
	},
	"limit of the way back too small": func(c *scenario.Cell) *Run {
		r := honest(c)
		r.Hops[3].Drops, r.Hops[3].LimitDrops = 12, 12
		return r
	},
	"receive buffer too small": func(c *scenario.Cell) *Run {
		r := honest(c)
		r.Flows[0].RwndLimitedUs = r.Flows[0].BusyUs * 2 / 5
		return r
	},
	"send buffer too small": func(c *scenario.Cell) *Run {
		r := honest(c)
		r.Flows[0].SndbufLimitedUs = r.Flows[0].BusyUs / 20
		return r
	},
	"send buffer of a few segments, filled again at once": func(c *scenario.Cell) *Run {
		r := honest(c)
		r.Host.Sysctls["net.ipv4.tcp_wmem"] = "4096 8192 8192"
		return r
	},
	"wrong congestion control": func(c *scenario.Cell) *Run {
		r := honest(c)
		r.Flows[0].CongSeen = "cubic"
		return r
	},
	"stale metrics": func(c *scenario.Cell) *Run {
		r := honest(c)
		r.Host.MetricsCached, r.Host.Sysctls[noMetrics] = 1, "0"
		return r
	},
	"burst below a packet": func(c *scenario.Cell) *Run {
		c.Path.Bottleneck, c.Path.BurstBytes = "tbf", 1500
		return honest(c)
	},
	"bits for bytes": func(c *scenario.Cell) *Run { return atRate(c, c.Path.RateBitPerS*8) },
	"bits for bytes, TCP mostly below": func(c *scenario.Cell) *Run {
		r := atRate(c, c.Path.RateBitPerS*8)
		for i := range r.Samples { // a third of it but for one interval
			s := &r.Samples[i]
			s.QueueBytes, s.WireBytes = 0, s.WireBytes/3
			if i > 20 {
				s.WireBytes += 600_000
			}
		}
		return r
	},
	"bytes for bits": func(c *scenario.Cell) *Run { return atRate(c, c.Path.RateBitPerS/8) },
	"no shaper on the path": func(c *scenario.Cell) *Run {
		r := atRate(c, 350_000_000)
		for i := range r.Samples {
			r.Samples[i].QueueBytes = 0
		}
		return r
	},
	"buffer left at netem's default": func(c *scenario.Cell) *Run {
		r := honest(c)
		c.Path.BufferPacket = 100
		for i := range r.Samples {
			r.Samples[i].QueueBytes = 900 * frameBytes
		}
		return r
	},
	"guest CPU saturated": func(c *scenario.Cell) *Run {
		r := honest(c)
		r.Host.BusyShare = 0.97
		return r
	},
	"veth drops": func(c *scenario.Cell) *Run {
		r := honest(c)
		r.Links[3].RxDropped = 7
		return r
	},
	"backlog of the CPU overflows": func(c *scenario.Cell) *Run {
		r := honest(c)
		r.Host.SoftnetDropped = 41
		return r
	},
	"delay on one way only":  func(c *scenario.Cell) *Run { return withIdle(c, c.Path.RTTUs/2+40) },
	"all the delay each way": func(c *scenario.Cell) *Run { return withIdle(c, c.Path.RTTUs*2+40) },
	"delay in milliseconds":  func(c *scenario.Cell) *Run { return withIdle(c, c.Path.RTTUs/1000+40) },
	"per cent for a share":   func(c *scenario.Cell) *Run { return withLoss(c, 100) },
	"a share for per cent": func(c *scenario.Cell) *Run {
		c.Path.Loss.PPM = 1000
		return withLoss(c, 100_000)
	},
	"the delay line keeps the order": func(c *scenario.Cell) *Run {
		c.Path.ReorderPPM = 10_000
		return honest(c)
	},
	"twice as many reordered": func(c *scenario.Cell) *Run {
		c.Path.ReorderPPM = 10_000
		r := honest(c)
		r.Hops[2].Requeues = r.Hops[2].Packets / 50
		return r
	},
	"loss on both qdiscs": func(c *scenario.Cell) *Run { return withLoss(c, 20_000) },
	"loss forgotten":      func(c *scenario.Cell) *Run { return withLoss(c, 0) },
	"netem missing": func(c *scenario.Cell) *Run {
		r := honest(c)
		r.Hops = slices.Delete(r.Hops, 2, 3)
		return r
	},
	"flow does not end": func(c *scenario.Cell) *Run {
		r := honest(c)
		r.Flows[0].Conns[0].EndUs, r.Flows[0].Conns[0].Bytes = 0, 63_999_000
		return r
	},
	"connection reset": func(c *scenario.Cell) *Run {
		r := honest(c)
		r.Flows[0].Conns[0].Error = "connection reset by peer"
		return r
	},
	"flow never started": func(c *scenario.Cell) *Run {
		r := honest(c)
		r.Flows = nil
		return r
	},
	"guest ended": func(c *scenario.Cell) *Run {
		return &Run{Cell: c.ID, Seed: 1, Error: "guest hung: no line for 60 s"}
	},
	"fq's flow limit reached": func(c *scenario.Cell) *Run {
		r := honest(c)
		r.Hops[0].Drops = 118
		return r
	},
	"qdisc not replaced": func(c *scenario.Cell) *Run {
		r := honest(c)
		r.Hops[0].Qdisc = "pfifo_fast"
		return r
	},
	"TCP paces where nothing shall": func(c *scenario.Cell) *Run {
		c.Sender.Pacing = scenario.PacingNone
		r := honest(c)
		r.Samples[40].PacingBytesPerS = 12_312_500
		return r
	},
	"no sample tells of pacing": func(c *scenario.Cell) *Run {
		c.Sender.Pacing = scenario.PacingNone
		r := honest(c)
		for i := range r.Samples { // as if of another flow
			r.Samples[i].Flow = "other"
		}
		return r
	},
	"htb at the sender": func(c *scenario.Cell) *Run {
		r := honest(c)
		r.Hops[0].Qdisc = "htb"
		return r
	},
	"sysctl refused": func(c *scenario.Cell) *Run {
		c.Sysctls = map[string]string{"net.ipv4.tcp_ecn": "1", "net.ipv4.tcp_rmem": "4096 131072 6291456"}
		r := honest(c)
		r.Host.Sysctls["net.ipv4.tcp_ecn"] = "2"
		r.Host.Sysctls["net.ipv4.tcp_rmem"] = "4096\t131072\t6291456\n"
		return r
	},
}

func atRate(c *scenario.Cell, bitPerS uint64) *Run {
	other := *c
	other.Path.RateBitPerS = bitPerS
	return honest(&other)
}

func withIdle(c *scenario.Cell, us uint64) *Run {
	r := honest(c)
	for i := range r.Idle {
		r.Idle[i].RTTUs = us
	}
	return r
}

func withLoss(c *scenario.Cell, ppm uint32) *Run {
	other := *c
	other.Path.Loss.PPM = ppm
	return honest(&other)
}

// TestMistakes: each one is flagged, by the gates and in the words of testdata/mistakes.
func TestMistakes(t *testing.T) {
	told := map[string]bool{}
	datadriven.RunTest(t, "testdata/mistakes", func(t *testing.T, d *datadriven.TestData) string {
		name := strings.TrimSpace(d.Input)
		if mistakes[name] == nil {
			d.Fatalf(t, "no mistake %q", name)
		}
		told[name] = true
		c := cell100()
		s := scenarioOf(c)
		run := mistakes[name](&c)
		result := Judge(s, &c, run)
		if result.Valid || result.Metrics != nil {
			t.Errorf("%s: passes as valid", name)
		}
		var b strings.Builder
		for _, g := range result.Gates {
			if !g.OK {
				fmt.Fprintf(&b, "%s: %s\n  want %s\n  why  %s\n", g.Name, g.Got, g.Want, g.Why)
			}
		}
		return b.String()
	})
	for name := range mistakes {
		if !told[name] {
			t.Errorf("testdata/mistakes does not tell of %q", name)
		}
	}
}

// TestExempt: a gate that the scenario breaks on purpose stays visible and does no
// harm; that a run ended is never given up.
func TestExempt(t *testing.T) {
	c := cell100()
	s := scenarioOf(c)
	s.Exempt = map[string]string{"cpu": "a test of that", "finished": "no use"}
	r := Judge(s, &c, mistakes["guest CPU saturated"](&c))
	i := slices.IndexFunc(r.Gates, func(g Gate) bool { return g.Name == "cpu" })
	if g := r.Gates[i]; g.OK || g.Exempt != "a test of that" || g.Why == "" || !r.Valid || r.Metrics == nil {
		t.Errorf("valid %v, gate %+v", r.Valid, g)
	}
	if Judge(s, &c, mistakes["flow does not end"](&c)).Valid || Judge(s, &c, mistakes["guest ended"](&c)).Valid {
		t.Error("a run that did not end is valid")
	}
}
