package scenario

// Values of Sender.Pacing. Two in Linux can pace: fq, and TCP itself for a congestion
// control that asks for it where fq is not the sender's qdisc (since 4.13).
const (
	PacingAuto = "auto" // fq where there is fq, else TCP if it is asked to
	PacingNone = "none" // neither
)

// Unpaced tells whether a connection must be kept from pacing itself. In Linux only BBR
// asks TCP for it (bbr_init in net/ipv4/tcp_bbr.c); what is done to BBR's connections
// would shorten the others' super-packets and change nothing else.
func (c *Cell) Unpaced(cong string) bool { return c.Sender.Pacing == PacingNone && cong == "bbr" }
