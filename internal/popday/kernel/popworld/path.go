package popworld

import (
	"fmt"
	"slices"

	"github.com/congctl/congctl/internal/linux/qdisc"
	"github.com/congctl/congctl/internal/popday/pop"
)

// path is the way to one network:
//
//	hub [edge] relay (loss) -> [c0] netem (delay, jitter, rate, queue) -> [n0] clients
//
// or, with a policer, no rate there, and [n0] drops what comes in above it. One netem for
// delay and rate sets one timer a packet, a token bucket behind it would set a second. Its
// limit counts what is under way as well: while the link is busy, and only then can the
// queue be full, that is rate x delay.
type path struct {
	tc      *qdisc.Conn // of the hub
	police  *qdisc.Conn // of the clients; nil without a policer
	lanes   []*lane     // of the network, and of its neighbours
	ours    []*lane     // of those neighbours that have losses of their own: the edge serves them
	out, in int
	now     pop.Path
}

const (
	// endless in packets: never drops for want of room. 12 Gbit/s for a second.
	endless = 1_000_000
	// inOrder in bytes/s: a rate makes netem keep the order of packets, also where jitter
	// or a change would have one overtake. 0.12 us a packet.
	inOrder = 12_500_000_000
	frame   = 1514 // bytes of a full packet as tc counts it
)

func (s *star) newPath(out, in string, want pop.Path, l *lane) (p *path, err error) {
	p = &path{tc: s.hub.TC, now: want}
	if p.out, err = s.hub.index(out); err != nil {
		return p, err
	}
	if p.in, err = s.clients.index(in); err != nil {
		return p, err
	}
	p.share(l)
	if err := p.tc.Replace(p.at(), linkOf(want)); err != nil || !want.Policer {
		return p, err
	}
	p.police = s.clients.TC
	return p, p.police.Replace(qdisc.At{Link: p.in}, qdisc.Police{RateBytesPerS: qdisc.BytesPerS(want.RateBitPerS), BurstBytes: uint32(want.BurstBytes)})
}

// share sends another lane's packets this way.
func (p *path) share(l *lane) {
	l.lead(p.out)
	l.lose(p.now.LossPPM, p.now.LossBurst)
	p.lanes = append(p.lanes, l)
}

// shareOurs does so for a neighbour that has losses of its own.
func (p *path) shareOurs(l *lane, of pop.Path) {
	l.lead(p.out)
	l.lose(of.LossPPM, of.LossBurst)
	p.ours = append(p.ours, l)
}

func (p *path) at() qdisc.At {
	return qdisc.At{Link: p.out, Parent: qdisc.Root, Handle: qdisc.Handle(1)}
}

func linkOf(p pop.Path) qdisc.Netem {
	n := qdisc.Netem{LimitPackets: endless, DelayNs: int64(p.RTTUs) * 1000, JitterNs: int64(p.JitterUs) * 1000, RateBytesPerS: inOrder}
	if !p.Policer {
		n.RateBytesPerS = qdisc.BytesPerS(p.RateBitPerS)
		underWay := p.RateBitPerS / 8 * p.RTTUs / 1e6
		n.LimitPackets = uint32((underWay + p.Buffer.Bytes(p.RateBitPerS) + frame - 1) / frame)
	}
	return n
}

// change makes the path another one.
func (p *path) change(to pop.Path) error {
	for _, l := range p.lanes {
		l.lose(to.LossPPM, to.LossBurst)
	}
	if n := linkOf(to); n != linkOf(p.now) {
		if err := p.tc.Change(p.at(), n); err != nil {
			return fmt.Errorf("change path: %w", err)
		}
	}
	p.now = to
	return nil
}

// PathCount holds a path's counters.
type PathCount struct {
	Packets    uint64 `json:"packets"` // that came through
	Bytes      uint64 `json:"bytes"`
	Lost       uint64 `json:"lost"`       // by chance
	Overflowed uint64 `json:"overflowed"` // the bottleneck had no room
	Policed    uint64 `json:"policed,omitempty"`
}

func (p *path) count() (c PathCount, err error) {
	all, err := p.tc.List(p.out)
	if err != nil {
		return c, err
	}
	for _, s := range all {
		if s.At.Handle == p.at().Handle {
			c.Packets, c.Bytes, c.Overflowed = s.Packets, s.Bytes, s.Drops
		}
	}
	for _, l := range slices.Concat(p.lanes, p.ours) {
		c.Lost += l.losses()
	}
	if p.police == nil {
		return c, nil
	}
	got, err := p.police.PoliceStat(p.in)
	c.Packets, c.Bytes, c.Policed = got.Packets, got.Bytes, got.Drops
	return c, err
}
