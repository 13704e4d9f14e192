package theory

import (
	"github.com/congctl/congctl/internal/core/outcome"
	"github.com/congctl/congctl/internal/core/scenario"
	"github.com/congctl/congctl/internal/core/theory/model"
)

// Names of the models, as results have them.
const (
	cubicModel = "CUBIC, rounds simulated (RFC 9438, RACK/TLP to PFTK timeouts)"
	bbrModel   = "BBRv1, fluid rounds (gains 1.25/0.75/6x1, 1 % margin, policer detector)"
)

// Predict gives the bound, and the band where a model fits. The verdict is empty until
// something was measured, but for a cell without a model.
func Predict(c *scenario.Cell) outcome.Theory {
	t := outcome.Theory{BoundBitPerS: BoundBitPerS(c)}
	if Unmodelled(c) != "" {
		t.Verdict = NoModel
		return t
	}
	t.Model = cubicModel
	if c.Flows[0].Cong == bbr {
		t.Model = bbrModel
	}
	b := bandOf(c)
	t.LowBitPerS, t.HighBitPerS = min(b.Low, t.BoundBitPerS), min(b.High, t.BoundBitPerS)
	return t
}

// A run loses its first request as often as packets are lost. The simulated runs show it
// from oftenRequest on; below, it is rarer than the edge that they leave out (5 % of
// runs), yet a scenario has a dozen cells, and one of a dozen in a hundred must not read
// as a finding. Shares of packets.
const (
	rareRequest  = 0.005 // one cell of 200: then it may stand out
	oftenRequest = 0.08
)

func bandOf(c *scenario.Cell) model.Band {
	f := &c.Flows[0]
	t := model.Transfer{Bytes: float64(f.Bytes), Seconds: seconds(f.DurationUs)}
	predict := model.Cubic
	if f.Cong == bbr {
		predict = model.BBR
	}
	b := predict(pathOf(c), t)
	if p := pathOf(c).Loss; p >= rareRequest && p < oftenRequest && f.Repeat <= 1 {
		b.Low = model.AfterLostRequest(b.Low, t)
	}
	b.Low *= 1 - probeShare(c)
	if app := float64(f.RateBitPerS); app > 0 {
		b.Low, b.Expected, b.High = min(b.Low, app), min(b.Expected, app), min(b.High, app)
	}
	return b
}

// probeBytes is what one of the lab's own probes takes of the link, as tc counts it.
const probeBytes = 100

// probeShare is what the probes take, which a full link then lacks.
func probeShare(c *scenario.Cell) float64 {
	if c.ProbeUs == 0 {
		return 0
	}
	return min(1, probeBytes*8/seconds(c.ProbeUs)/float64(c.Path.RateBitPerS))
}

// pathOf is the cell's path at its start.
func pathOf(c *scenario.Cell) model.Path {
	p := &c.Path
	mtu := float64(p.MTU)
	m := model.Path{
		RateBitPerS: float64(p.RateBitPerS), RTTSeconds: seconds(p.RTTUs), MTUBytes: mtu,
		Loss: p.Loss.MeanPPM() / 1e6, LossAfter: p.Loss.At == scenario.LossAfter,
		BufferPackets: float64(p.BufferPacket),
	}
	m.WindowPackets = max(1, float64(min(c.Sender.SndbufBytes, c.Sender.RcvbufBytes))/m.MSSBytes())
	if tbf := float64(c.Sender.TbfBitPerS); tbf > 0 && tbf < m.RateBitPerS {
		m.RateBitPerS, m.BufferPackets = tbf, float64(c.Sender.TbfLimit)/m.FrameBytes()
	}
	return m
}

func seconds(us uint64) float64 { return float64(us) / 1e6 }
