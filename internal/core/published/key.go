package published

import (
	"strconv"

	"github.com/congctl/congctl/internal/core/scenario"
)

// Which row of a table a cell reproduces. It goes by what the cell is and not by what
// its axes are called, wherever the article tells enough.

func lossPercent(c *scenario.Cell) string {
	return strconv.FormatFloat(float64(c.Path.Loss.PPM)/1e4, 'f', -1, 64)
}

// site goes by the round trip, in milliseconds as pinged.
func site(c *scenario.Cell) string {
	return map[uint64]string{6_000: "tokyo", 99_000: "seattle", 231_000: "paris"}[c.Path.RTTUs]
}

// network goes by name: attenuation is no quantity of a cell.
func network(c *scenario.Cell) string {
	for _, a := range c.Axes {
		if a.Name == "network" {
			return a.Value
		}
	}
	return ""
}

// The article's `tbf limit 1Mb buffer 200Kb rate 1Mbps`.
const (
	askedBitPerS = 8_000_000
	askedBurst   = 200 << 10
)

func shaping(c *scenario.Cell) string {
	s := &c.Sender
	switch {
	case s.TbfBitPerS != askedBitPerS || s.TbfBurst != askedBurst:
		return ""
	case s.SuperPackets:
		return "tbf_with_tso_gso_on"
	}
	return "tbf_with_tso_gso_off"
}
