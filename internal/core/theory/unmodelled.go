package theory

import "github.com/congctl/congctl/internal/core/scenario"

const (
	bbr   = "bbr"
	cubic = "cubic"
)

// Unmodelled says why no model fits the cell, "" where one does. The models know one
// connection on a path that stays as it is, with a tail-drop queue and independent loss.
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
