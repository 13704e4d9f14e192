package theory

import (
	"math"
	"testing"

	"github.com/congctl/congctl/internal/lab/outcome"
	"github.com/congctl/congctl/internal/lab/scenario"
)

// cell is 64 MB of one flow over 100 Mbit/s and 100 ms, lost before the bottleneck.
func cell(cong string, lossPPM uint32) *scenario.Cell {
	return &scenario.Cell{
		Arm:    scenario.Arm{Name: cong, Cong: cong, Qdisc: "fq"},
		Sender: scenario.Sender{Qdisc: "fq", Pacing: "auto", SndbufBytes: 20 << 20, RcvbufBytes: 20 << 20},
		Path: scenario.Path{RateBitPerS: 100e6, RTTUs: 100_000, MTU: 1500, Bottleneck: scenario.Netem, BufferPacket: 830,
			Loss: scenario.Loss{PPM: lossPPM, At: scenario.LossBefore}},
		Flows: []scenario.Flow{{Name: "f", Cong: cong, Bytes: 64e6}},
	}
}

const capBitPerS = 100e6 * 1448 / 1514

func TestPredictHasBoundAndBand(t *testing.T) {
	for _, cong := range []string{"cubic", "bbr"} {
		got := Predict(cell(cong, 10_000))
		if got.BoundBitPerS != capBitPerS || got.Model == "" || got.Verdict != "" {
			t.Errorf("%s: %+v", cong, got)
		}
		if !(0 < got.LowBitPerS && got.LowBitPerS < got.HighBitPerS && got.HighBitPerS < got.BoundBitPerS) {
			t.Errorf("%s: edges out of order: %+v", cong, got)
		}
	}
}

func TestPredictIsRepeatable(t *testing.T) {
	if a, b := Predict(cell("cubic", 40_000)), Predict(cell("cubic", 40_000)); a != b {
		t.Errorf("%+v and %+v", a, b)
	}
}

// TestProbesTakeTheirShare of the low edge, not of the bound.
func TestProbesTakeTheirShare(t *testing.T) {
	c := cell("bbr", 0)
	bare := Predict(c)
	c.ProbeUs = 1600 // 100 bytes in it are 0.5 Mbit/s
	if got := Predict(c); math.Abs(got.LowBitPerS/bare.LowBitPerS-0.995) > 1e-9 || got.BoundBitPerS != bare.BoundBitPerS {
		t.Errorf("%+v, without probes %+v", got, bare)
	}
}

// TestConstantRate: an application that asks for little gets it.
func TestConstantRate(t *testing.T) {
	c := cell("cubic", 0)
	c.Flows[0].RateBitPerS = 1e6
	got := Predict(c)
	if got.BoundBitPerS != 1e6 || got.HighBitPerS != 1e6 || got.LowBitPerS != 1e6 {
		t.Errorf("%+v", got)
	}
}

func TestUnmodelledCellsHaveABoundOnly(t *testing.T) {
	for name, change := range map[string]func(*scenario.Cell){
		"flows": func(c *scenario.Cell) { c.Flows = append(c.Flows, c.Flows[0]) },
		"schedule": func(c *scenario.Cell) {
			c.Path.Schedule = []scenario.Step{{AtUs: 1e6, RateBitPerS: 100e6, RTTUs: 50_000}}
		},
		"policer":   func(c *scenario.Cell) { c.Path.Bottleneck = scenario.Policer },
		"aqm":       func(c *scenario.Cell) { c.Path.Bottleneck = "fq_codel" },
		"bursts":    func(c *scenario.Cell) { c.Path.Loss.Gilbert = &scenario.Gilbert{P: 1, R: 1} },
		"acks":      func(c *scenario.Cell) { c.Path.Loss.BackPPM = 1 },
		"jitter":    func(c *scenario.Cell) { c.Path.JitterUs = 1 },
		"overtaken": func(c *scenario.Cell) { c.Path.ReorderPPM = 1 },
		"trains":    func(c *scenario.Cell) { c.Sender.SuperPackets = true },
		"unpaced":   func(c *scenario.Cell) { c.Sender.Pacing = "none" },
		"vegas":     func(c *scenario.Cell) { c.Flows[0].Cong = "vegas" },
	} {
		c := cell("bbr", 10_000)
		change(c)
		want := outcome.Theory{BoundBitPerS: capBitPerS, Verdict: NoModel}
		if got := Predict(c); got != want || Unmodelled(c) == "" {
			t.Errorf("%s: %+v, reason %q", name, got, Unmodelled(c))
		}
	}
	if why := Unmodelled(cell("bbr", 10_000)); why != "" {
		t.Errorf("plain cell: %s", why)
	}
}
