package report

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/congctl/congctl/internal/lab/outcome"
	"github.com/congctl/congctl/internal/lab/scenario"
)

// A loss sweep as it could have come out: numbers near theory, series with the shapes
// of CUBIC's and BBR's windows, one cell that broke a gate.

const sweepText = `# a made-up loss sweep
name: loss-sweep
about: CUBIC and BBR over seven loss rates at 100 Mbit/s and 40 ms, packets lost one by one
published: loss-sweep.csv
arms: [cubic, bbr]
matrix:
  loss: [0%, 0.1%, 1%, 2%, 4%, 8%, 16%]
where:
  - match: {loss: 16%}
    seeds: {count: 10, max: 40, half_width: 5%}
path: {rate: 100mbit, rtt: 40ms, buffer: 1bdp, loss_at: before}
flows:
  - {size: 64MB, duration: 300s}
`

const smallText = `name: small
about: three loss rates, one of which broke a gate
notes: |
  Loss is after the bottleneck,
  so it takes capacity.
exempt: {cpu: the machine is slow on purpose}
arms: [cubic, bbr]
matrix: {loss: [0%, 1%, 4%]}
path: {rate: 10mbit, rtt: 40ms, buffer: 1bdp, loss_at: after}
flows:
  - {size: 2MB, duration: 60s}
`

const matrixText = `name: rtt-sweep
about: three arms over loss and round trip
arms: [{name: cubic, cong: cubic, qdisc: fq}, {name: bbr, cong: bbr, qdisc: fq}, {name: bbr+codel, cong: bbr, qdisc: fq_codel}]
matrix:
  loss: [0%, 1%, 4%]
  rtt: [6ms, 99ms]
path: {rate: 10mbit, buffer: 1bdp, loss_at: after}
flows:
  - {size: 2MB, duration: 60s}
`

const flowsText = `name: coexist
about: four flows share a bottleneck
arms: [cubic, bbr]
path: {rate: 20mbit, rtt: 40ms, buffer: 2bdp}
flows:
  - {name: one, duration: 20s}
  - {name: two, duration: 20s, start: 2s}
  - {name: rival, duration: 20s, cong: cubic}
`

// folder is a results folder's content for a scenario's text.
func folder(t testing.TB, text string) *Folder {
	t.Helper()
	s, err := scenario.Parse("made-up.yml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	f := &Folder{Manifest: Manifest{
		Format: Format, Scenario: NewText("somewhere/made-up.yml", []byte(text)), Seeds: scenario.Seeds{First: 1, Count: 5, Max: 40, HalfWidth: 0.05}, World: "vm", HZ: 250,
		Kernel:  Kernel{Release: "6.1.0-37-cloud-amd64", SHA256: hash([]byte("kernel")), Source: "Debian linux-image-6.1.0-37-cloud-amd64"},
		QEMU:    &QEMU{Version: "7.2.17", Options: []string{"-accel", "tcg", "-icount", "shift=0,sleep=off", "-kernel", "vmlinuz", "-nodefaults"}},
		Congctl: Binary{Version: "0.3.0", SHA256: hash([]byte("congctl"))},
	}}
	runs := map[string]*outcome.Run{}
	for i := range s.Cells {
		c := &s.Cells[i]
		for n := range max(5, c.Seeds.Count) {
			run := invent(c, c.Seeds.First+uint64(n))
			runs[fmt.Sprint(c.ID, run.Seed)] = run
			f.Results = append(f.Results, judge(c, run))
		}
	}
	f.Summary = outcome.Summarise(s, f.Results, false)
	for i := range f.Summary.Rows {
		predict(&f.Summary.Rows[i], &s.Cells[i])
	}
	f.Load = func(cell string, seed uint64) (*outcome.Run, error) {
		if r := runs[fmt.Sprint(cell, seed)]; r != nil {
			return r, nil
		}
		return nil, fmt.Errorf("no run of %s, seed %d", cell, seed)
	}
	return f
}

// model is the goodput that a cell should have, bit/s, and half of its band.
func model(c *scenario.Cell) (bitPerS, half float64) {
	limit := float64(c.Path.RateBitPerS) * 1448 / 1514
	p := c.Path.Loss.MeanPPM() / 1e6
	if c.Arm.Cong == "bbr" {
		return limit * (0.99 - p), 0.05
	}
	if p == 0 {
		return limit, 0.02
	}
	rtt := float64(c.Path.RTTUs) / 1e6
	window := max(1.0538*math.Pow(rtt/p, 0.75), math.Sqrt(1.5/p))
	return min(limit, window*1448*8/rtt), 0.2
}

func predict(r *outcome.Row, c *scenario.Cell) {
	x, half := model(c)
	bound := float64(c.Path.RateBitPerS) * 1448 / 1514
	r.Theory = &outcome.Theory{BoundBitPerS: bound, LowBitPerS: x * (1 - half), HighBitPerS: min(bound, x*(1+half)), Model: "RFC 9438", Verdict: "as predicted"}
	switch {
	case c.Arm.Cong == "bbr":
		r.Theory.Model = "BBRv1, fluid"
	case r.Goodput != nil && r.Goodput.Median < x*(1-half):
		r.Theory.Verdict = "below: investigate"
	}
}

// judge makes a result of an invented run: CUBIC at 4 % saw too little loss.
func judge(c *scenario.Cell, run *outcome.Run) outcome.Result {
	r := outcome.Result{Cell: c.ID, Seed: run.Seed, Valid: true, Gates: []outcome.Gate{
		{Name: "finished", OK: true, Got: "all connections ended", Want: "all connections end"},
		{Name: "single_mtu", OK: true, Got: "1514 bytes a packet", Want: "at most 1514 bytes a packet"},
		{Name: "loss", OK: true, Got: fmt.Sprintf("%.3g %%", c.Path.Loss.MeanPPM()/1e4), Want: "within the 99 % interval of the asked rate"},
		{Name: "idle_rtt", OK: true, Got: "40.02 ms", Want: "40 ms, within 1 % or 0.1 ms"},
	}}
	if c.Path.Loss.PPM == 40_000 && c.Arm.Cong == "cubic" {
		r.Valid, r.Gates[2].OK = false, false
		r.Gates[2].Got, r.Gates[2].Want = "3.1 % of 12000 packets", "4 %, 3.55 % to 4.47 %"
		r.Gates[2].Why = "losses were drawn for packets of several segments: set gso_max_segs to 1 on the sender's link"
		return r
	}
	f := &run.Flows[0]
	queue := 0.2 * float64(c.Path.RTTUs)
	if c.Arm.Cong == "cubic" {
		queue = 0.9 * float64(c.Path.RTTUs) / (1 + c.Path.Loss.MeanPPM()/300)
	}
	rate := float64(f.Conns[0].Bytes) * 8e6 / float64(f.Conns[0].EndUs)
	r.Metrics = &outcome.Metrics{
		GoodputBitPerS: rate, SteadyBitPerS: rate * 1.01, CompletionUs: f.Conns[0].EndUs, Jain: 1,
		RetransShare: c.Path.Loss.MeanPPM()/1e6 + 1e-5*float64(run.Seed), LinkUse: rate / 95.6e6,
		QueueUs: outcome.Spread{P50: queue / 3, P95: queue, P99: queue * 1.3},
	}
	if c.Path.Loss.PPM == 160_000 && c.Arm.Cong == "bbr" {
		r.Metrics.PolicerShare = 0.01 * float64(run.Seed%4)
	}
	for i := range run.Flows {
		r.Metrics.Flows = append(r.Metrics.Flows, outcome.FlowMetrics{Name: run.Flows[i].Name, Cong: run.Flows[i].Cong,
			GoodputBitPerS: rate / float64(len(run.Flows)), SteadyBitPerS: rate / float64(len(run.Flows))})
	}
	return r
}

// invent makes a run whose goodput is near the model's.
func invent(c *scenario.Cell, seed uint64) *outcome.Run {
	r := rand.New(rand.NewPCG(seed, uint64(len(c.ID))+c.Path.RTTUs+uint64(c.Path.Loss.PPM)))
	want, half := model(c)
	want *= 1 + half/3*r.NormFloat64()*0.6
	run := &outcome.Run{Schema: 1, Cell: c.ID, Seed: seed, World: "vm", Kernel: "6.1.0-37-cloud-amd64", HZ: 250}
	end, bytes := c.Flows[0].DurationUs, c.Flows[0].Bytes
	if us := uint64(float64(bytes) * 8e6 / want); bytes > 0 && (end == 0 || us < end) {
		end = us
	} else {
		bytes = uint64(want * float64(end) / 8e6)
	}
	for i := range c.Flows {
		share := uint64(len(c.Flows))
		run.Flows = append(run.Flows, outcome.FlowRun{Name: c.Flows[i].Name, Cong: c.Flows[i].Cong,
			Conns: []outcome.Transfer{{EndUs: end, Bytes: bytes / share}}, MSS: 1448})
		w := &wave{r: r, c: c, mean: want / float64(share), cwnd: 10}
		for at := uint64(0); at <= end; at += max(1, end/600) {
			run.Samples = append(run.Samples, w.sample(at, end, c.Flows[i].Name, c.Flows[i].Cong))
			run.Flows[i].Arrived = append(run.Flows[i].Arrived, outcome.Mark{AtUs: at, Bytes: uint64(w.arrived)})
		}
	}
	for at := uint64(0); at < end; at += max(1, end/400) {
		s := run.Samples[int(at*600/end)]
		run.Probes = append(run.Probes, outcome.Probe{AtUs: at, RTTUs: uint64(s.SrttUs)})
	}
	run.Idle = []outcome.Probe{{AtUs: 0, RTTUs: c.Path.RTTUs + 20}, {AtUs: 1, RTTUs: c.Path.RTTUs + 25}}
	return run
}

// wave draws a socket over time.
type wave struct {
	r             *rand.Rand
	c             *scenario.Cell
	mean          float64 // bit/s
	cwnd, arrived float64
}

func (w *wave) sample(at, end uint64, flow, cong string) outcome.Sample {
	rtt, t := float64(w.c.Path.RTTUs), float64(at)/1e6
	bdp := w.mean * rtt / 8e6 / 1514
	rate := w.mean * (1 + 0.05*w.r.NormFloat64())
	queue := 0.0
	if cong == "bbr" {
		w.cwnd = 2 * bdp
		gain := []float64{1.25, 0.75, 1, 1, 1, 1, 1, 1}[int(t*1e6/rtt)%8]
		rate *= gain
		queue = max(0, gain-1) * bdp * 1514 * (0.6 + 0.4*w.r.Float64())
		if math.Mod(t, 10) > 9.8 {
			w.cwnd, rate, queue = 4, w.mean*0.1, 0
		}
	} else {
		if w.cwnd *= 1 + 0.02*w.r.Float64(); w.cwnd > bdp*(0.9+0.6*w.r.Float64()) {
			w.cwnd *= 0.7
		}
		w.cwnd = max(2, w.cwnd)
		queue = max(0, w.cwnd-bdp) * 1514
	}
	w.arrived += min(rate, 1.1*w.mean) * float64(end) / 600 / 8e6
	line := float64(w.c.Path.RateBitPerS) / 8e6 // bytes per us
	return outcome.Sample{AtUs: at, Flow: flow, Cwnd: uint32(w.cwnd), Ssthresh: uint32(w.cwnd * 0.7),
		SrttUs: uint32(rtt + queue/line + 300*w.r.Float64()), MinRTTUs: uint32(rtt),
		PacingBytesPerS: uint64(rate / 8 * 1.2), DeliveryBytesPS: uint64(rate / 8), QueueBytes: uint32(queue)}
}
