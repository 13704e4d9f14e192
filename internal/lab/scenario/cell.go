package scenario

import "slices"

// Scenario is one file of the lab, read, checked and expanded.
type Scenario struct {
	Name  string `json:"name"`
	About string `json:"about"` // one line, for `congctl lab list`
	Notes string `json:"notes,omitempty"`
	// Published names a table of published values to compare with, "" for none.
	Published string `json:"published,omitempty"`
	Seeds     Seeds  `json:"seeds"` // of cells that have no other
	Arms      []Arm  `json:"arms"`  // the first is the one that ratios are against
	Cells     []Cell `json:"cells"`
	// Exempt are gates that this scenario breaks on purpose, each with the reason.
	Exempt map[string]string `json:"exempt,omitempty"`
}

// Cell returns the cell of that name, nil if there is none.
func (s *Scenario) Cell(id string) *Cell {
	for i := range s.Cells {
		if s.Cells[i].ID == id {
			return &s.Cells[i]
		}
	}
	return nil
}

// Runs returns the least number of runs: cells with seeds.
func (s *Scenario) Runs() (n int) {
	for i := range s.Cells {
		n += s.Cells[i].Seeds.Count
	}
	return n
}

// Seeds is how often each cell runs: Count seeds from First on, then more, one at a time,
// until the interval's half-width is below HalfWidth of the median or Max have run.
type Seeds struct {
	First     uint64  `json:"first"`
	Count     int     `json:"count"`
	Max       int     `json:"max"`
	HalfWidth float64 `json:"half_width"` // share of the median; 0: never more than Count
}

// Arm is the unit of comparison: a sender's qdisc with a congestion control.
type Arm struct {
	Name  string `json:"name"`
	Cong  string `json:"cong"`
	Qdisc string `json:"qdisc"`
}

// Cell is one point of the matrix with one arm: all that a world needs, with every default
// filled in and every unit resolved.
type Cell struct {
	ID   string      `json:"id"`   // "loss=1%,rtt=100ms/bbr": unique in its scenario
	Axes []AxisValue `json:"axes"` // what the matrix varied, in the file's order; not the arm
	Arm  Arm         `json:"arm"`

	Seeds   Seeds             `json:"seeds"`
	Sender  Sender            `json:"sender"`
	Path    Path              `json:"path"`
	Flows   []Flow            `json:"flows"`
	Sysctls map[string]string `json:"sysctls,omitempty"` // of sender and receiver, "net.ipv4.tcp_ecn": "1"

	SampleUs uint64 `json:"sample_us"`  // between two samples of the sender's sockets
	ProbeUs  uint64 `json:"probe_us"`   // between two probes through the bottleneck; 0: none
	WarmUpUs uint64 `json:"warm_up_us"` // steady state begins so long after the first flow
	LimitUs  uint64 `json:"limit_us"`   // virtual time after which the cell is ended
}

// Group names the cells that differ in nothing but their arm: "loss=1%,rtt=100ms".
func (c *Cell) Group() string {
	return c.ID[:len(c.ID)-len(c.Arm.Name)-1]
}

// AxisValue is one coordinate of a cell, in the file's own words.
type AxisValue struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// Sender is the host that sends.
type Sender struct {
	// Qdisc of its link: fq, fq_codel, pfifo_fast, noqueue, tbf, or netem where loss is at the sender.
	Qdisc string `json:"qdisc"`
	// SuperPackets leaves segments of more than one packet on the link (GSO, TSO). It
	// breaks a gate wherever packets are lost one by one.
	SuperPackets bool   `json:"super_packets,omitempty"`
	TbfBitPerS   uint64 `json:"tbf_bit_per_s,omitempty"`
	TbfBurst     uint32 `json:"tbf_burst_bytes,omitempty"`
	TbfLimit     uint32 `json:"tbf_limit_bytes,omitempty"`
	// Pacing is what spreads packets over time, see PacingAuto.
	Pacing string `json:"pacing"`
	ECN    bool   `json:"ecn,omitempty"`
	// SndbufBytes and RcvbufBytes are tcp_wmem[2] and tcp_rmem[2].
	SndbufBytes uint64 `json:"sndbuf_bytes"`
	RcvbufBytes uint64 `json:"rcvbuf_bytes"`
}

// Path is the network between sender and receiver: srv - bn - wan - cli.
type Path struct {
	RateBitPerS uint64 `json:"rate_bit_per_s"` // of the bottleneck, on bytes as tc counts them
	RTTUs       uint64 `json:"rtt_us"`         // base round trip, half in each direction, at wan
	JitterUs    uint64 `json:"jitter_us,omitempty"`
	ReorderPPM  uint32 `json:"reorder_ppm,omitempty"` // packets towards the receiver that overtake: they skip its delay
	MTU         uint32 `json:"mtu"`

	Bottleneck   string `json:"bottleneck"`            // netem, tbf, fq, fq_codel, pfifo_fast (below tbf), policer
	BufferPacket uint32 `json:"buffer_packets"`        // queue of the bottleneck
	BurstBytes   uint32 `json:"burst_bytes,omitempty"` // of tbf and policer

	Loss     Loss   `json:"loss"`
	Schedule []Step `json:"schedule,omitempty"` // changes of the path over time, by AtUs
}

// Where packets are lost. Before the bottleneck a sender may overdrive and still fill
// the link; after it the physical bound is rate x (1 - loss).
const (
	LossBefore = "before"
	LossAfter  = "after"
	LossSender = "sender" // netem as the sender's root qdisc: what a gate forbids
)

// Loss is random loss towards the receiver; BackPPM that of acknowledgements.
type Loss struct {
	PPM     uint32   `json:"ppm"` // independent, per packet, in millionths
	At      string   `json:"at"`
	BackPPM uint32   `json:"back_ppm,omitempty"`
	Gilbert *Gilbert `json:"gilbert,omitempty"` // instead of PPM
}

// Gilbert is the four-parameter Gilbert-Elliott model of netem (gemodel): the good
// state turns bad with P, the bad one good with R; a packet is lost with LossGood in
// the good state and with LossBad in the bad one. All in millionths.
type Gilbert struct {
	P        uint32 `json:"p_ppm"`
	R        uint32 `json:"r_ppm"`
	LossBad  uint32 `json:"loss_bad_ppm"`
	LossGood uint32 `json:"loss_good_ppm"`
}

// MeanPPM is the long-run share of lost packets, in millionths.
func (l *Loss) MeanPPM() float64 {
	g := l.Gilbert
	if g == nil {
		return float64(l.PPM)
	}
	bad := float64(g.P) / float64(g.P+g.R)
	return bad*float64(g.LossBad) + (1-bad)*float64(g.LossGood)
}

// Step is the path from AtUs on: rate, base RTT and loss of that time, complete.
type Step struct {
	AtUs        uint64 `json:"at_us"`
	RateBitPerS uint64 `json:"rate_bit_per_s"`
	RTTUs       uint64 `json:"rtt_us"`
	LossPPM     uint32 `json:"loss_ppm"`
}

// Flow is one connection from srv to cli, or Repeat of them one after another. With
// Bytes a connection ends when they were received, with DurationUs after so long a time,
// with both at whichever comes first: a transfer of 64 MB that the slowest arm would
// need an hour for is compared by the goodput of its first minutes.
type Flow struct {
	Name        string `json:"name"`
	Cong        string `json:"cong"`
	StartUs     uint64 `json:"start_us,omitempty"`
	Bytes       uint64 `json:"bytes,omitempty"`
	DurationUs  uint64 `json:"duration_us,omitempty"`
	RTTUs       uint64 `json:"rtt_us,omitempty"`         // base round trip, longer than the path's by what its acknowledgements wait; 0: the path's
	RateBitPerS uint64 `json:"rate_bit_per_s,omitempty"` // the application's own rate; 0: as fast as TCP takes it
	Repeat      int    `json:"repeat,omitempty"`         // connections one after another; 0 and 1: one
	GapUs       uint64 `json:"gap_us,omitempty"`         // between them
}

// RTTs returns the round trips of flows that are longer than the path's, us, each once and in order.
func (c *Cell) RTTs() (us []uint64) {
	for i := range c.Flows {
		if rtt := c.Flows[i].RTTUs; rtt > c.Path.RTTUs {
			us = append(us, rtt)
		}
	}
	slices.Sort(us)
	return slices.Compact(us)
}

// Values of Sender.Pacing. Two parts of Linux can pace: fq, and TCP itself for a
// congestion control that requests it if fq is not the sender's qdisc (since 4.13).
const (
	PacingAuto = "auto" // fq where there is fq, else TCP if it is asked to
	PacingNone = "none" // neither
)

// Unpaced reports whether a connection must be kept from pacing itself. In Linux only BBR
// asks TCP for pacing (bbr_init in net/ipv4/tcp_bbr.c); on other connections the same
// measure would shorten super-packets and change nothing else.
func (c *Cell) Unpaced(cong string) bool { return c.Sender.Pacing == PacingNone && cong == "bbr" }
