package main

import (
	"fmt"
	"net/netip"

	"github.com/congctl/congctl/internal/kernel/netns"
)

// The 24 client networks, in four classes. The policy's group is the slowest
// fifth: of 24 ranked, the type-7 20th percentile lies between the fifth and the
// sixth, so five networks are slow and the gap to the sixth is wide.
//
//	narrow  a low rate and a queue of twelve packets, which CUBIC overruns again and again
//	slow    a lower rate with a sound queue: no congestion control can help it
//	line    a middling rate with a sound queue
//	fibre   a high rate with a sound queue
//
// Without netem there is no delay, so a queue is the only thing that makes a round
// trip last. Where the kernel has netem, all paths get a delay and the narrow ones
// random loss.

type class struct {
	name       string
	mbit       float64 // of the token bucket, downstream
	limitBytes uint32  // its queue; 0: 50 ms at the rate
	burstBytes uint32  // its bucket; 0: 10 ms at the rate
	delayUs    uint32  // with netem, one way
	loss       float64 // with netem
}

var (
	narrow = class{name: "narrow", mbit: 3, limitBytes: 12 * frame, burstBytes: 2 * frame, delayUs: 30_000, loss: 0.02}
	slow   = class{name: "slow", mbit: 1.6, limitBytes: 24_000, delayUs: 10_000}
	line   = class{name: "line", mbit: 8, delayUs: 10_000}
	fibre  = class{name: "fibre", mbit: 16, delayUs: 5_000}
)

// frame is a full Ethernet frame as tbf counts it.
const frame = 1514

// fourNetworks and sixNetworks are how many of the 24 are IPv4 and IPv6.
const (
	fourNetworks = 16
	sixNetworks  = 8
	deniedAt     = 2 // index of the network on the deny list: narrow, so it would be selected
)

// network is one client network of the demo.
type network struct {
	class
	prefix netip.Prefix
	denied bool
}

// allNetworks lists the 24 in the order of the table: IPv4, then IPv6.
func allNetworks() (list []network) {
	for i := range fourNetworks + sixNetworks {
		n := network{class: classOf(i), prefix: netns.ClientNet4(i), denied: i == deniedAt}
		if i >= fourNetworks {
			n.prefix = netns.ClientNet6(i - fourNetworks + 1)
		}
		list = append(list, n)
	}
	return list
}

// classOf: the narrow ones and the slow one first, in each family, so that the
// table shows what matters at the top of each.
func classOf(i int) class {
	switch {
	case i < 3, i == fourNetworks:
		return narrow
	case i == 3:
		return slow
	case i < 9, i > fourNetworks && i < fourNetworks+4:
		return line
	}
	return fibre
}

// shape is the direction from the edge to the client.
func (c class) shape(netem bool) netns.Shape {
	s := netns.Shape{RateBytesPerS: uint64(c.mbit * 1e6 / 8), LimitBytes: c.limitBytes, BurstBytes: c.burstBytes}
	if netem {
		s.DelayUs, s.LossShare = c.delayUs, c.loss
	}
	return s
}

// link says what the path is made of, for the table.
func (c class) link() string {
	if c.limitBytes > 0 {
		return fmt.Sprintf("%s %g Mbit/s/%.0f kB", c.name, c.mbit, float64(c.limitBytes)/1000)
	}
	return fmt.Sprintf("%s %g Mbit/s/50 ms", c.name, c.mbit)
}

// spec is the whole topology. EdgeCong is cubic whatever the kernel's own default.
func spec(tag string, list []network, netem bool) netns.Spec {
	s := netns.Spec{Tag: tag, EdgeCong: defaultCong}
	for _, n := range list {
		s.Clients = append(s.Clients, netns.Client{Prefix: n.prefix, Down: n.shape(netem)})
	}
	return s
}
