package outcome

import (
	"github.com/congctl/congctl/internal/lab/scenario"
)

// cell100 is 100 Mbit/s with 100 ms, 1 % lost after the bottleneck, 16 MB by BBR.
func cell100() scenario.Cell {
	return scenario.Cell{
		ID: "loss=1%/bbr", Arm: scenario.Arm{Name: "bbr", Cong: "bbr", Qdisc: "fq"},
		Seeds:  scenario.Seeds{First: 1, Count: 5, Max: 40, HalfWidth: 0.05},
		Sender: scenario.Sender{Qdisc: "fq", Pacing: "auto", SndbufBytes: 16 << 20, RcvbufBytes: 16 << 20},
		Path: scenario.Path{RateBitPerS: 100_000_000, RTTUs: 100_000, MTU: 1500, Bottleneck: "netem", BufferPacket: 825,
			Loss: scenario.Loss{PPM: 10_000, At: scenario.LossAfter}},
		Flows:    []scenario.Flow{{Name: "main", Cong: "bbr", Bytes: 64_000_000}},
		SampleUs: 10_000, ProbeUs: 20_000, WarmUpUs: 1_000_000, LimitUs: 60_000_000,
	}
}

func scenarioOf(cells ...scenario.Cell) *scenario.Scenario {
	return &scenario.Scenario{Name: "test", Cells: cells, Arms: []scenario.Arm{cells[0].Arm}}
}

const (
	mssBytes   = 1448
	frameBytes = 1514
	ackBytes   = 66
	idleProbes = 10
	probeFrame = 106
)

// honest is a run of c as a world without fault would see it: the bottleneck full from
// the start to the end with a quarter of its buffer, one share of the packets lost.
func honest(c *scenario.Cell) *Run {
	p := &c.Path
	loss := p.Loss.MeanPPM() / 1e6
	var payload, rateShare float64
	for _, f := range c.Flows {
		payload += float64(f.Bytes)
	}
	needed := uint64(payload / mssBytes / (1 - loss)) // packets into the place of loss
	lost := uint64(float64(needed) * loss)
	us := float64(needed*frameBytes) * 8e6 / float64(p.RateBitPerS)
	r := &Run{
		Schema: 1, Cell: c.ID, Seed: 1, World: "vm", Kernel: "6.1.0-42-cloud-amd64", HZ: 250, ProbeBytes: probeFrame,
		Host: Host{BusyShare: 0.3, Sysctls: map[string]string{noMetrics: "1"}, DurationUs: uint64(us) + p.RTTUs, PairedLosses: true},
	}
	for k, v := range c.Sysctls {
		r.Host.Sysctls[k] = v
	}
	for range idleProbes {
		r.Idle = append(r.Idle, Probe{RTTUs: p.RTTUs + 40})
	}
	rateShare = 1 / float64(len(c.Flows))
	for _, f := range c.Flows {
		r.Flows = append(r.Flows, honestFlow(c, f, us/rateShare*float64(f.Bytes)/payload, loss))
	}
	honestSamples(c, r, us)
	honestCounters(c, r, needed, lost)
	return r
}

// honestFlow arrives evenly until us and half a round trip.
func honestFlow(c *scenario.Cell, f scenario.Flow, us, loss float64) FlowRun {
	end := uint64(us) + c.Path.RTTUs/2
	seen := FlowRun{Name: f.Name, Cong: f.Cong, CongSeen: f.Cong, MSS: mssBytes, MinRTTUs: uint32(c.Path.RTTUs),
		BytesSent: uint64(float64(f.Bytes) / (1 - loss)), BusyUs: end,
		Conns: []Transfer{{EndUs: end, Bytes: f.Bytes}}}
	seen.BytesRetrans = seen.BytesSent - f.Bytes
	for at := c.Path.RTTUs / 2; at < end; at += c.SampleUs {
		seen.Arrived = append(seen.Arrived, Mark{at, uint64(float64(f.Bytes) * float64(at-c.Path.RTTUs/2) / us)})
	}
	seen.Arrived = append(seen.Arrived, Mark{end, f.Bytes})
	return seen
}

func honestSamples(c *scenario.Cell, r *Run, us float64) {
	queue := c.Path.BufferPacket / 4 * frameBytes
	queueUs := uint32(uint64(queue) * 8e6 / c.Path.RateBitPerS)
	for at := uint64(0); float64(at) < us; at += c.SampleUs {
		for _, f := range c.Flows {
			r.Samples = append(r.Samples, Sample{AtUs: at, Flow: f.Name, SrttUs: uint32(c.Path.RTTUs) + queueUs, MinRTTUs: uint32(c.Path.RTTUs),
				QueueBytes: queue, WireBytes: idleProbes*probeFrame + at*c.Path.RateBitPerS/8e6})
		}
		r.Probes = append(r.Probes, Probe{at, c.Path.RTTUs + uint64(queueUs)})
	}
}

// honestCounters are those of srv - bn - wan - cli.
func honestCounters(c *scenario.Cell, r *Run, needed, lost uint64) {
	probes := uint64(idleProbes)
	acks := needed / 2
	link := func(node, name string, rx, bytes, gso uint64) {
		r.Links = append(r.Links, Link{Node: node, Name: name, RxPackets: rx, RxBytes: bytes, GSOMax: uint32(gso)})
	}
	data := needed*frameBytes + probes*probeFrame
	link("srv", "eth0", acks, acks*ackBytes, 1)
	link("bn", "in", needed+probes, data, 65535)
	link("bn", "out", acks, acks*ackBytes, 65535)
	link("wan", "in", needed+probes, data, 65535)
	link("wan", "out", acks, acks*ackBytes, 65535)
	link("cli", "eth0", needed-lost, data-lost*frameBytes, 65535)
	sent := Hop{Packets: needed + probes, Bytes: data}
	hop := func(h Hop, node, link, qdisc string, roles ...string) {
		h.Node, h.Link, h.Qdisc, h.Roles = node, link, qdisc, roles
		r.Hops = append(r.Hops, h)
	}
	hop(sent, "srv", "eth0", c.Sender.Qdisc, RoleSender)
	hop(sent, "bn", "out", c.Path.Bottleneck, RoleBottleneck)
	hop(Hop{Packets: needed + probes - lost, Bytes: data - lost*frameBytes, Drops: lost}, "wan", "out", "netem", RoleDelay, RoleLoss)
	hop(Hop{Packets: acks, Bytes: acks * ackBytes}, "wan", "in", "netem", RoleBack)
}
