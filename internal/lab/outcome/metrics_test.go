package outcome

import (
	"math"
	"testing"

	"github.com/congctl/congctl/internal/lab/scenario"
	"github.com/congctl/congctl/internal/tcp/stat"
)

func near9(a, b float64) bool { return math.Abs(a-b) <= 1e-9*max(1, math.Abs(b)) }

// pair is a run of two flows, small enough to be worked out by hand. a sends all the
// time, b in two connections with a gap:
//
//	      0s        1s        2s        3s        4s
//	a     |---------------------------------------|      4 MB, evenly
//	b               |---------|         |---------|      1 MB and 0.5 MB
func pair() (*scenario.Cell, *Run) {
	c := cell100()
	c.Path.RTTUs, c.WarmUpUs = 10_000, 500_000
	c.Path.RateBitPerS, c.Path.BufferPacket = 16_000_000, 20
	c.Flows = []scenario.Flow{{Name: "a", Cong: "bbr", Bytes: 4_000_000}, {Name: "b", Cong: "cubic", Repeat: 2, Bytes: 500_000}}
	r := &Run{
		Flows: []FlowRun{
			{Name: "a", Cong: "bbr", MSS: 1448, BytesSent: 4_100_000, BytesRetrans: 100_000,
				Conns:   []Transfer{{StartUs: 0, EndUs: 4_000_000, Bytes: 4_000_000}},
				Arrived: []Mark{{1_000_000, 1_000_000}, {4_000_000, 4_000_000}}},
			{Name: "b", Cong: "cubic", MSS: 1448, BytesSent: 1_900_000, BytesRetrans: 400_000,
				Conns:   []Transfer{{StartUs: 1_000_000, EndUs: 2_000_000, Bytes: 1_000_000}, {StartUs: 3_000_000, EndUs: 4_000_000, Bytes: 500_000}},
				Arrived: []Mark{{2_000_000, 1_000_000}, {3_000_000, 1_000_000}, {4_000_000, 1_500_000}}},
		},
		Idle:   []Probe{{0, 10_100}, {1, 0}, {2, 10_000}},
		Probes: []Probe{{0, 10_000}, {1, 12_000}, {2, 0}, {3, 14_000}, {4, 9_900}},
		Samples: []Sample{
			{AtUs: 500_000, Flow: "a", SrttUs: 13_000, MinRTTUs: 10_000, WireBytes: 1000},
			{AtUs: 500_000, Flow: "b", SrttUs: 0, MinRTTUs: 10_000, WireBytes: 1000},
			{AtUs: 1_500_000, Flow: "a", SrttUs: 9_000, MinRTTUs: 10_000, WireBytes: 2_000},
			{AtUs: 2_500_000, Flow: "a", SrttUs: 11_000, MinRTTUs: 10_000, WireBytes: 2_002_000},
			{AtUs: 3_500_000, Flow: "a", SrttUs: 12_000, MinRTTUs: 10_000, WireBytes: 4_002_000},
			{AtUs: 4_500_000, Flow: "b", SrttUs: 12_000, MinRTTUs: 10_000, WireBytes: 9_002_000},
		},
		Hops: []Hop{{Roles: []string{RoleBottleneck}, Bytes: 6_000_000}},
		Host: Host{DurationUs: 4_000_000},
	}
	return &c, r
}

func TestMetricsByHand(t *testing.T) {
	c, r := pair()
	m := measure(&view{scenarioOf(*c), c, r})
	for name, k := range map[string][2]float64{
		"goodput: 5.5 MB in 4 s":                      {m.GoodputBitPerS, 11e6},
		"steady from 0.5 s to 4 s: 3.5 MB and 1.5 MB": {m.SteadyBitPerS, 5e6 * 8 / 3.5},
		"a's goodput": {m.Flows[0].GoodputBitPerS, 8e6},
		"b's goodput: 1.5 MB in 2 s, without the gap": {m.Flows[1].GoodputBitPerS, 6e6},
		"b steady":   {m.Flows[1].SteadyBitPerS, 1.5e6 * 8 / 3.5},
		"completion": {float64(m.CompletionUs), 4e6},
		"connections of 4 s, 1 s, 1 s: the median":  {m.ConnUs.P50, 1e6},
		"and the 95th percentile":                   {m.ConnUs.P95, 1e6 + 0.9*3e6},
		"retransmitted":                             {m.RetransShare, 500.0 / 6000},
		"b retransmitted":                           {m.Flows[1].RetransShare, 400.0 / 1900},
		"queue of 0, 2, 4 and no less than 0 ms":    {m.QueueUs.P50, 1000},
		"its 99th percentile":                       {m.QueueUs.P99, 2000 + 0.97*2000},
		"srtt's queue of 3, 0, 1, 2, 2 ms":          {m.SrttQueueUs.P50, 2000},
		"Jain of 3.5 and 1.5":                       {m.Jain, 25 / (2 * (3.5*3.5 + 1.5*1.5))},
		"6 MB of 8 MB":                              {m.LinkUse, 0.75},
		"wire: after a frame, 2.5 s to 3.5 s: 2 MB": {m.WireBitPerS, 16e6},
		"bytes of it":                               {float64(m.WireBytes), 2e6},
		"ideal":                                     {m.IdealShare, 5e6 * 8 / 3.5 / (16e6 * 1448 / 1514)},
	} {
		if !near9(k[0], k[1]) {
			t.Errorf("%s: %v, want %v", name, k[0], k[1])
		}
	}
}

// TestSteadyNeedsTenRoundTrips: less is one phase of BBR's cycle, not a rate.
func TestSteadyNeedsTenRoundTrips(t *testing.T) {
	c, r := pair()
	for rtt, want := range map[uint64]bool{350_000: true, 350_001: false} {
		c.Path.RTTUs = rtt
		m := measure(&view{scenarioOf(*c), c, r})
		if (m.SteadyBitPerS > 0) != want {
			t.Errorf("RTT %d us: steady %v", rtt, m.SteadyBitPerS)
		}
		if !want && !near9(m.Jain, stat.Jain([]float64{8, 6})) {
			t.Errorf("Jain %v is not of the whole", m.Jain)
		}
	}
}

// TestOpenAgainstTicks: the time with a connection, counted tick by tick.
func TestOpenAgainstTicks(t *testing.T) {
	r := stat.NewRand(2, 2)
	for range 500 {
		var conns []Transfer
		ticks := map[uint64]bool{}
		for range r.Index(6) {
			from := uint64(r.Index(50))
			conn := Transfer{StartUs: from, EndUs: from + uint64(r.Index(20))}
			conns = append(conns, conn)
			for at := conn.StartUs; at < conn.EndUs; at++ {
				ticks[at] = true
			}
		}
		if got := open(conns); got != float64(len(ticks)) {
			t.Fatalf("%v: open for %v, want %d", conns, got, len(ticks))
		}
	}
}

func TestArrivedAt(t *testing.T) {
	f := FlowRun{Conns: []Transfer{{StartUs: 100, EndUs: 400}}, Arrived: []Mark{{200, 10}, {300, 30}, {300, 40}, {400, 50}}}
	for us, want := range map[float64]float64{math.Inf(-1): 0, 0: 0, 100: 0, 150: 5, 200: 10, 250: 20, 300: 40, 350: 45, 400: 50, 500: 50, math.Inf(1): 50} {
		if got := f.arrivedAt(us); got != want {
			t.Errorf("at %v: %v, want %v", us, got, want)
		}
	}
}

// TestTokenBucketIsMeasurable: what a simulated bucket lets through, with its first
// burst at once, is measured to 0.1 % of its rate; the mean of the whole is not.
func TestTokenBucketIsMeasurable(t *testing.T) {
	c := cell100()
	c.Path.Bottleneck, c.Path.BurstBytes, c.Path.RateBitPerS = "tbf", 200_000, 8_000_000
	c.Path.Loss.PPM, c.Flows[0].Bytes = 0, 40_000_000
	r := honest(&c)
	for i := range r.Samples {
		s := &r.Samples[i]
		passed := min(float64(s.AtUs)*12.5, 200_000) + float64(s.AtUs) // 100 Mbit/s until the burst is through
		s.WireBytes = uint64(passed/1514) * 1514
	}
	m := measure(&view{scenarioOf(c), &c, r})
	if math.Abs(m.WireBitPerS/8e6-1) > 0.001 || m.WireBytes < 190*200_000 {
		t.Errorf("wire %v bit/s over %d bytes", m.WireBitPerS, m.WireBytes)
	}
}
