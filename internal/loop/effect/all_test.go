package effect

import (
	"math"
	"strings"
	"testing"
)

// TestAllHarm: groups in which the whole PoP's control block is the faster one pull the brake, and those in which it loses less, if
// that is much and the rate does not pay for it; a treatment that gains, or costs little, does not.
func TestAllHarm(t *testing.T) {
	for _, c := range []struct {
		name         string
		rate, resent float64 // treated by control; share sent again under treatment, of 1 % in control blocks
		says         string
	}{
		{"alike", 1, 0.01, ""},
		{"gains", 1.5, 0.01, ""},
		{"half", 0.5, 0.01, "control blocks of the whole PoP are faster"},
		{"dear", 1, 0.06, "retransmits 6.0 % instead of 1.0 %"},
		{"dear and worth it", 1.5, 0.06, ""},
		{"a little dear", 1, 0.02, ""},
	} {
		block := func(rate, resent float64) Block {
			return Block{N: 1000, MeanLog: math.Log(1e6 * rate), VarLog: 0.4, SentBytes: 1e9, RetransBytes: uint64(1e9 * resent)}
		}
		var h AllHarm
		var pairs []Pair
		for range 40 {
			p := Pair{C: block(1, 0.01)}
			for range 15 {
				p.T = append(p.T, block(c.rate, c.resent))
			}
			h, pairs = h.Next(p), append(pairs, p)
		}
		pull, why := h.Brake(pairs, DefaultNoise, 16*1800)
		if pull != (c.says != "") || !strings.Contains(why, c.says) {
			t.Errorf("%s: %t, %s", c.name, pull, why)
		}
	}
}
