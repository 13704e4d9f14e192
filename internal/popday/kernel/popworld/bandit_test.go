package popworld

import (
	"fmt"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"pgregory.net/rapid"
)

// TestBanditGolden: a next hop's life, one line an event.
//
//	begin random=N             a connection begins
//	end arm=N rtt=US rate=B    one ends
//	retransmit lost=N sent=N   one has just retransmitted
func TestBanditGolden(t *testing.T) {
	datadriven.Walk(t, "testdata/bandit", func(t *testing.T, path string) {
		var h nextHop
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			arg := func(key string) (n uint64) { d.ScanArgs(t, key, &n); return n }
			switch d.Cmd {
			case "begin":
				arm, ok := h.Begin(uint32(arg("random")))
				if !ok {
					return fmt.Sprintf("connection %d: left alone\n", h.Connections)
				}
				return fmt.Sprintf("connection %d: %s\n", h.Connections, banditArms[arm])
			case "end":
				h.End(int(arg("arm")), arg("rtt"), arg("rate"))
				return h.text()
			case "retransmit":
				return fmt.Sprintln(byLoss(uint32(arg("lost")), uint32(arg("sent"))))
			}
			return "unknown command"
		})
	})
}

func (h *nextHop) text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "best %d us, %d bytes/s\n", h.BestRTTUs, h.BestRate)
	for arm, name := range banditArms {
		fmt.Fprintf(&b, "  %-5s max %d bytes/s, cost %d\n", name, h.MaxRate[arm], h.Cost[arm])
	}
	return b.String()
}

// TestBanditGreedy: whatever was learnt, the choice costs least, and the best are the best of
// all that was seen.
func TestBanditGreedy(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var h nextHop
		bestRTT, bestRate := uint64(0), uint64(0)
		for range rapid.IntRange(1, 50).Draw(t, "ends") {
			rtt, rate := rapid.Uint64Range(1, 1<<32-1).Draw(t, "rtt"), rapid.Uint64Range(1, 1<<40).Draw(t, "rate")
			h.End(rapid.IntRange(0, len(banditArms)-1).Draw(t, "arm"), rtt, rate)
			bestRate = max(bestRate, rate)
			if bestRTT == 0 || rtt < bestRTT {
				bestRTT = rtt
			}
		}
		if h.BestRTTUs != bestRTT || h.BestRate != bestRate {
			t.Fatalf("best %d us, %d bytes/s: %+v", bestRTT, bestRate, h)
		}
		h.Connections = learnAfter
		arm, ok := h.Begin(1)
		for _, cost := range h.Cost {
			if !ok || cost < h.Cost[arm] {
				t.Fatalf("chose %s: %+v", banditArms[arm], h)
			}
		}
	})
}

// TestBanditExplore: once in 20, and each arm alike.
func TestBanditExplore(t *testing.T) {
	h := nextHop{Connections: learnAfter, Cost: [4]uint64{0, 1, 1, 1}}
	chosen := map[int]int{}
	for random := range uint32(8000) {
		arm, _ := h.Begin(random)
		chosen[arm]++
	}
	if chosen[0] != 7700 || chosen[1] != 100 || chosen[2] != 100 || chosen[3] != 100 {
		t.Errorf("chosen: %v", chosen)
	}
}
