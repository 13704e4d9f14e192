package world

import (
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/congctl/congctl/internal/lab/outcome"
	"github.com/congctl/congctl/internal/lab/scenario"
	"github.com/congctl/congctl/internal/linux/qdisc"
)

// A plan is a cell in the kernel's words: which qdisc on which link, what changes when,
// which sysctls. Decisions:
//
//   - Loss before the bottleneck is a netem of its own with the bottleneck as its child,
//     also where that is netem, which could draw losses itself: one netem counts losses
//     and a full queue as one number. A parent's drops include its children's, so the
//     difference is the loss.
//   - A delay line has room for a million packets, so it drops none.
//   - With jitter, or when the RTT changes, the delay line gets a rate far above any
//     path's: netem then keeps the order of packets. Without, a packet that drew a
//     shorter delay overtakes, and BBR and RACK take that for something else.
//   - TCP builds super-packets whatever the link says (sk_setup_caps). They are cut when
//     they leave the sender's qdisc, by switching segmentation off on its link; where the
//     sender's own qdisc loses or shapes, TCP is kept from building them (gso_max_segs 1).

// Nodes, from the sender to the receiver. A link is called after the node at its end.
const (
	srv = "srv"
	bn  = "bn"
	wan = "wan"
	cli = "cli"
)

// nodes in the order of the path.
var nodes = []string{srv, bn, wan, cli}

const (
	delayLimit   = 1_000_000      // packets; 12 Gbit/s for a second
	inOrderRate  = 12_500_000_000 // bytes/s: 0.12 us a packet
	frameHeader  = 14             // of Ethernet, which tc counts
	burstOfRate  = 1000           // a bucket holds 1/1000 s of its rate, two packets at least
	childOfShape = 3              // handle of what lies below a token bucket
)

// place is a qdisc on a link. major numbers it; parent is the major of the one above,
// 0 at the root.
type place struct {
	node, link    string
	major, parent uint16
	class         uint16 // of the parent, where that has several
	spec          qdisc.Spec
	roles         []string
}

// change sets other parameters of a placed qdisc at a time.
type change struct {
	atUs uint64
	at   int // in plan.places
	spec qdisc.Spec
}

type plan struct {
	mtu      int
	txQueue  int  // of the bottleneck's link, packets; 0: as it is
	segment  bool // segmentation off on the sender's link
	oneByOne bool // gso_max_segs 1 on the sender's link
	places   []place
	changes  []change
	ends     []Setting // sysctls of sender and receiver
	routers  []Setting // of bn and wan
}

// planOf plans a cell. The seed goes to netem if the kernel takes one; the same seed gives
// each arm the same losses there. Each step of a schedule is planned as the cell was, and
// what then differs is a change.
func planOf(c *scenario.Cell, seed uint64) (*plan, error) {
	p, err := planAt(c, scenario.Step{RateBitPerS: c.Path.RateBitPerS, RTTUs: c.Path.RTTUs, LossPPM: c.Path.Loss.PPM}, seed)
	if err != nil {
		return nil, fmt.Errorf("plan cell %s: %w", c.ID, err)
	}
	now := p.places
	for k, s := range c.Path.Schedule {
		next, err := planAt(c, s, seed)
		if err != nil {
			return nil, fmt.Errorf("plan cell %s: schedule step %d: %w", c.ID, k+1, err)
		}
		for i, at := range next.places {
			if at.spec == now[i].spec {
				continue
			}
			if n, ok := at.spec.(qdisc.Netem); ok {
				if at.plays(outcome.RoleBottleneck) {
					return nil, fmt.Errorf("plan cell %s: schedule step %d: netem cannot change its rate: the packets in its queue already have their departure times; use bottleneck tbf", c.ID, k+1)
				}
				n.Seed = derive(n.Seed, uint64(k)) // or it would draw the same losses again
				at.spec = n
			}
			p.changes = append(p.changes, change{s.AtUs, i, at.spec})
		}
		now = next.places
	}
	return p, nil
}

// planAt plans the cell as it is in one step of its path.
func planAt(c *scenario.Cell, now scenario.Step, seed uint64) (*plan, error) {
	p := &plan{mtu: int(c.Path.MTU), segment: !c.Sender.SuperPackets}
	p.ends, p.routers = endSettings(c), routerSettings()
	if err := p.addSender(c, now, seed); err != nil {
		return nil, err
	}
	if err := p.addBottleneck(c, now, seed); err != nil {
		return nil, err
	}
	p.addWideArea(c, now, seed)
	p.addLonger(c)
	return p, nil
}

// addLonger places what the acknowledgements of flows with a longer round trip wait in, at the receiver: their sockets have a priority,
// and each has a class.
func (p *plan) addLonger(c *scenario.Cell) {
	longer := c.RTTs()
	if len(longer) == 0 {
		return
	}
	p.places = append(p.places, place{node: cli, link: wan, major: 1, spec: qdisc.Prio{Bands: uint32(len(longer) + 1)}})
	for i, rtt := range longer {
		p.places = append(p.places, place{node: cli, link: wan, major: uint16(childOfShape + i), parent: 1, class: uint16(i + 1),
			spec: qdisc.Netem{LimitPackets: delayLimit, DelayNs: int64(rtt-c.Path.RTTUs) * 1000}})
	}
}

// priority of a flow's acknowledgements: its class in addLonger.
func priority(c *scenario.Cell, f *scenario.Flow) int { return 1 + slices.Index(c.RTTs(), f.RTTUs) }

func (p *plan) addSender(c *scenario.Cell, now scenario.Step, seed uint64) error {
	s := &c.Sender
	at := place{node: srv, link: bn, major: 1, roles: []string{outcome.RoleSender}}
	switch s.Qdisc {
	case "fq":
		at.spec = qdisc.Fq{NoPacing: s.Pacing == scenario.PacingNone}
	case "fq_codel":
		at.spec = qdisc.FqCodel{ECN: s.ECN}
	case "pfifo_fast":
		at.spec = qdisc.PfifoFast{}
	case "noqueue": // what a veth has by itself
		return nil
	case "tbf":
		at.spec = qdisc.Tbf{RateBytesPerS: qdisc.BytesPerS(s.TbfBitPerS), BurstBytes: s.TbfBurst, LimitBytes: s.TbfLimit}
		p.oneByOne = p.segment
	case "netem":
		at.spec = lossy(c, now, scenario.LossSender, seed, streamSender)
		at.roles = append(at.roles, outcome.RoleLoss)
		p.oneByOne = p.segment
	default:
		return fmt.Errorf("sender.qdisc is %q; use fq, fq_codel, pfifo_fast, noqueue, tbf or netem", s.Qdisc)
	}
	p.places = append(p.places, at)
	return nil
}

// addBottleneck places the qdiscs at bn towards wan, and the policer, which is where wan
// receives.
func (p *plan) addBottleneck(c *scenario.Cell, now scenario.Step, seed uint64) error {
	at := place{node: bn, link: wan, major: 1}
	if c.Path.LosesAt(scenario.LossBefore) {
		at.spec, at.roles = lossy(c, now, scenario.LossBefore, seed, streamBefore), []string{outcome.RoleLoss}
		p.places = append(p.places, at)
		at.major, at.parent = 2, 1
	}
	at.roles = []string{outcome.RoleBottleneck}
	rate := qdisc.BytesPerS(now.RateBitPerS)
	switch c.Path.Bottleneck {
	case "netem":
		at.spec = qdisc.Netem{LimitPackets: c.Path.BufferPacket, RateBytesPerS: rate}
	case "tbf", "fq", "fq_codel", "pfifo_fast":
		at.spec = bucket(c, now.RateBitPerS)
	case "policer":
		at = place{node: wan, link: bn, spec: qdisc.Police{RateBytesPerS: rate, BurstBytes: c.Path.BurstBytes}, roles: at.roles}
	default:
		return fmt.Errorf("path.bottleneck is %q; use netem, tbf, fq, fq_codel, pfifo_fast or policer", c.Path.Bottleneck)
	}
	p.places = append(p.places, at)
	below := place{node: bn, link: wan, major: childOfShape, parent: at.major}
	switch c.Path.Bottleneck {
	case "fq":
		below.spec = qdisc.Fq{LimitPackets: c.Path.BufferPacket}
	case "fq_codel":
		below.spec = qdisc.FqCodel{LimitPackets: c.Path.BufferPacket, ECN: c.Sender.ECN}
	case "pfifo_fast": // as long as the link's own queue
		below.spec, p.txQueue = qdisc.PfifoFast{}, int(c.Path.BufferPacket)
	default:
		return nil
	}
	p.places = append(p.places, below)
	return nil
}

// bucket is the tbf that shapes. What waits for tokens is counted in bytes there.
func bucket(c *scenario.Cell, rateBitPerS uint64) qdisc.Tbf {
	frame := c.Path.MTU + frameHeader
	t := qdisc.Tbf{RateBytesPerS: qdisc.BytesPerS(rateBitPerS), BurstBytes: c.Path.BurstBytes, LimitBytes: c.Path.BufferPacket * frame}
	if t.BurstBytes == 0 {
		t.BurstBytes = max(2*frame, uint32(t.RateBytesPerS/burstOfRate))
	}
	return t
}

// lossy is a netem that does nothing but lose.
func lossy(c *scenario.Cell, now scenario.Step, at string, seed, stream uint64) qdisc.Netem {
	n := qdisc.Netem{LimitPackets: delayLimit, Seed: derive(seed, stream)}
	if c.Path.LosesAt(at) {
		n.LossPPM, n.Gilbert = now.LossPPM, (*qdisc.Gilbert)(c.Path.Loss.Gilbert)
	}
	return n
}

// addWideArea places the delay lines of wan: half of the RTT each way, and the losses
// behind the bottleneck. A path without either has none.
func (p *plan) addWideArea(c *scenario.Cell, now scenario.Step, seed uint64) {
	delays := c.Path.JitterUs > 0 || c.Path.Ever(func(s scenario.Span) bool { return s.RTTUs > 0 })
	loses := c.Path.LosesAt(scenario.LossAfter)
	if delays || loses {
		n := lossy(c, now, scenario.LossAfter, seed, streamAfter)
		n.DelayNs, n.JitterNs, n.RateBytesPerS = int64(now.RTTUs/2)*1000, int64(c.Path.JitterUs)*1000, orderly(c)
		n.ReorderPPM = c.Path.ReorderPPM
		at := place{node: wan, link: cli, major: 1, spec: n, roles: []string{outcome.RoleDelay}}
		if loses {
			at.roles = append(at.roles, outcome.RoleLoss)
		}
		p.places = append(p.places, at)
	}
	if delays || c.Path.Loss.BackPPM > 0 {
		n := qdisc.Netem{LimitPackets: delayLimit, DelayNs: int64(now.RTTUs-now.RTTUs/2) * 1000,
			LossPPM: c.Path.Loss.BackPPM, RateBytesPerS: orderly(c), Seed: derive(seed, streamBack)}
		p.places = append(p.places, place{node: wan, link: bn, major: 1, spec: n, roles: []string{outcome.RoleBack}})
	}
}

// orderly is the rate that keeps packets in order, 0 where nothing could disturb it.
func orderly(c *scenario.Cell) uint64 {
	if c.Path.JitterUs > 0 || c.Path.Ever(func(s scenario.Span) bool { return s.RTTUs != float64(c.Path.RTTUs) }) {
		return inOrderRate
	}
	return 0
}

// Streams of random numbers, one for each netem.
const (
	streamSender = 1 + iota
	streamBefore
	streamAfter
	streamBack
)

// derive mixes a seed with a number (splitmix64; Steele, Lea, Flood 2014). Never 0: that
// would leave the choice to the kernel.
func derive(seed, stream uint64) uint64 {
	z := seed + stream*0x9e3779b97f4a7c15
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return max(z^z>>31, 1)
}

func endSettings(c *scenario.Cell) []Setting {
	ecn := "0"
	if c.Sender.ECN {
		ecn = "1"
	}
	s := []Setting{
		{"net.ipv4.tcp_no_metrics_save", "1"},
		// From the start: the window's own growth would hold back a fast one, most of all where packets are lost.
		{"net.ipv4.tcp_rmem", buffers(c.Sender.RcvbufBytes, c.Sender.RcvbufBytes)},
		{"net.ipv4.tcp_wmem", buffers(16384, c.Sender.SndbufBytes)},
		{"net.ipv4.tcp_ecn", ecn},
		{"net.ipv4.ping_group_range", "0 2147483647"}, // the probes' sockets
	}
	for _, key := range slices.Sorted(maps.Keys(c.Sysctls)) {
		s = append(s, Setting{key, c.Sysctls[key]})
	}
	return s
}

// buffers are least, initial (the kernel's default) and largest bytes of a socket.
func buffers(initial, most uint64) string {
	return "4096 " + strconv.FormatUint(min(initial, most), 10) + " " + strconv.FormatUint(most, 10)
}

// routerSettings: early demultiplexing would look each packet's socket up in vain.
func routerSettings() []Setting {
	return []Setting{{"net.ipv4.ip_forward", "1"}, {"net.ipv4.ip_early_demux", "0"}}
}

// plays reports whether the place has a role.
func (at *place) plays(role string) bool { return slices.Contains(at.roles, role) }

// bottleneck returns the place whose queue and counter the samples follow: the bottleneck, or
// the sender's own token bucket if that is narrower.
func (p *plan) bottleneck(senderNarrower bool) *place {
	role := outcome.RoleBottleneck
	if senderNarrower {
		role = outcome.RoleSender
	}
	for i := range p.places {
		if p.places[i].plays(role) {
			return &p.places[i]
		}
	}
	return nil
}
