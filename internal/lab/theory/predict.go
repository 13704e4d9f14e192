package theory

import (
	"strings"

	"github.com/congctl/congctl/internal/lab/outcome"
	"github.com/congctl/congctl/internal/lab/scenario"
	"github.com/congctl/congctl/internal/lab/theory/model"
)

// Names of the models, as results have them.
const (
	cubicModel = "CUBIC, rounds simulated (RFC 9438, RACK/TLP to PFTK timeouts)"
	bbrModel   = "BBRv1, fluid rounds (gains 1.25/0.75/6x1, 1 % margin, policer detector)"
)

// Predict returns the bound, and the band if a model fits. The verdict stays empty until
// something is measured, except for a cell without a model.
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

// probeShare returns the share of a full link that the probes take.
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

const (
	bbr   = "bbr"
	cubic = "cubic"
)

// Unmodelled returns why no model fits the cell, "" if one does. The models cover one
// connection on an unchanging path, with a tail-drop queue and independent loss.
func Unmodelled(c *scenario.Cell) string {
	for _, k := range []struct {
		holds bool
		why   string
	}{
		{len(c.Flows) != 1, "several flows share the path"},
		{len(c.Path.Schedule) > 0, "the path changes over time"},
		{c.Path.Bottleneck == scenario.Policer, "a policer drops what others queue"},
		{c.Path.Bottleneck == "fq_codel" || c.Path.Bottleneck == "fq", "the queue drops by its own rule"},
		{c.Path.Loss.Gilbert != nil, "losses come in bursts"},
		{c.Path.Loss.BackPPM > 0, "acknowledgements are lost"},
		{c.Path.JitterUs > 0, "jitter reorders packets"},
		{c.Path.ReorderPPM > 0, "packets overtake each other"},
		{c.Sender.SuperPackets && c.Path.Loss.MeanPPM() > 0, "super-packets are lost as a whole"},
		{c.Sender.Pacing == "none", "the sender does not pace"},
	} {
		if k.holds {
			return k.why
		}
	}
	if cong := c.Flows[0].Cong; cong != cubic && cong != bbr {
		return "no model of " + cong
	}
	return ""
}

// The verdicts.
const (
	AsPredicted = "as predicted"
	Above       = "above the model: suspect the emulator"
	Below       = "below: investigate"
	NoModel     = "no model"
)

// When a measurement is a finding. A model's error and a run's luck must not be one, so
// the edges have room; physics needs only what the clock and the last packets blur.
const (
	// aboveBound, ratio to the physical bound: 1 % is what a handshake and a burst add to
	// the shortest transfers of the shipped scenarios.
	aboveBound = 1.01
	// aboveHigh, ratio to the upper edge. The closed responses and the rounds differ by up
	// to a fifth. Losing super-packets as a whole, the mistake to find, gives 2 to 9.
	aboveHigh = 1.25
	// bbrBelow, ratio to the lower edge: what short buffers, a busy CPU or the policer
	// detector take from BBR is more than a tenth.
	bbrBelow = 0.9
	// bbrClear, share of packets: up to it BBR's model has no cliff. The detector trips at
	// 16.3 %, by chance much earlier where few packets make an interval.
	bbrClear = 0.08
	// cubicBelow, ratio to the lower edge, which has PFTK's timeouts in it already.
	cubicBelow = 0.8
)

// Verdict compares a measurement with t. The loss is the path's, as a share.
func Verdict(t outcome.Theory, measuredBitPerS float64, cong string, loss float64) string {
	switch {
	case measuredBitPerS > t.BoundBitPerS*aboveBound:
		return Above
	case t.Model == "":
		return NoModel
	case measuredBitPerS > t.HighBitPerS*aboveHigh:
		return Above
	case strings.HasPrefix(cong, bbr) && loss <= bbrClear && measuredBitPerS < t.LowBitPerS*bbrBelow,
		cong == cubic && measuredBitPerS < t.LowBitPerS*cubicBelow:
		return Below
	}
	return AsPredicted
}
