package scenario

import (
	"math"
	"testing"
)

func one(t *testing.T, text string) *Cell {
	t.Helper()
	s, err := Parse("a.yml", []byte("name: a\nabout: b\n"+text))
	if err != nil {
		t.Fatal(err)
	}
	return &s.Cells[0]
}

// TestCostByHand: the cap, the textbook's rates, a duration, a repeated flow.
func TestCostByHand(t *testing.T) {
	for _, c := range []struct {
		name, text string
		seconds    float64
		packets    float64
	}{
		// 10 MB at 10 Mbit/s x 1448/1514, and 2 + log2(1 + 690.6) rounds of 10 ms
		{"cap", "arms: [cubic]\npath: {rate: 10mbit, rtt: 10ms}\nflows: [{size: 10MB}]\n", 8.365 + 0.114, 6906},
		// Reno's 12.25 packets in 99 ms are 123.7 a second, Padhye's 115.8: the mean is 119.7
		{"cubic", "arms: [cubic]\npath: {rate: 100mbit, rtt: 99ms, loss: 1%, loss_at: after}\nflows: [{size: 10MB}]\n", 57.7 + 1.1, 6976},
		{"bbr", "arms: [bbr]\npath: {rate: 100mbit, rtt: 99ms, loss: 10%, loss_at: after}\nflows: [{size: 10MB}]\n", 0.889 + 1.13, 7673},
		{"duration", "arms: [bbr]\npath: {rate: 10mbit, rtt: 10ms}\nflows: [{start: 3s, duration: 10s}]\n", 13, 8256},
		{"application", "arms: [bbr]\npath: {rate: 10mbit, rtt: 10ms}\nflows: [{app_rate: 1158400bit, duration: 10s}]\n", 10, 1000},
		// ten rounds of 3 (2 and log2 2 for one window), nine gaps
		{"repeat", "arms: [cubic]\npath: {rate: 1gbit, rtt: 100ms}\nflows: [{size: 14480B, repeat: 10, gap: 1s}]\n", 10*0.3 + 9, 100},
		{"two", "arms: [cubic]\npath: {rate: 10mbit, rtt: 10ms}\nflows: [{name: x, count: 2, duration: 10s}]\n", 10, 8256},
	} {
		cost := one(t, c.text).Cost()
		if math.Abs(seconds(cost.VirtualUs)/c.seconds-1) > 0.03 || math.Abs(float64(cost.Packets)/c.packets-1) > 0.01 {
			t.Errorf("%s: %.3f s and %d packets, by hand %.3f s and %.0f", c.name, seconds(cost.VirtualUs), cost.Packets, c.seconds, c.packets)
		}
	}
}

// TestMeanRate: half of the time at a tenth.
func TestMeanRate(t *testing.T) {
	c := one(t, "arms: [bbr]\npath: {rate: 10mbit, rtt: 10ms, bottleneck: tbf}\nschedule: [{at: 5s, rate: 1mbit}]\nflows: [{duration: 10s}]\n")
	if got := c.meanRate(); got != 5.5e6 {
		t.Errorf("mean rate %v", got)
	}
}

// TestSamplesAreEnough: 240 to 600 of the likely time.
func TestSamplesAreEnough(t *testing.T) {
	for _, rate := range []string{"1mbit", "7mbit", "30mbit", "90mbit"} {
		c := one(t, "arms: [bbr]\npath: {rate: "+rate+", rtt: 10ms}\nflows: [{size: 20MB}]\n")
		if n := c.Cost().VirtualUs / c.SampleUs; n < 240 || n > 600 {
			t.Errorf("%s: %d samples", rate, n)
		}
	}
}
