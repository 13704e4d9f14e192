package qdisc

import (
	"fmt"

	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"
)

// Attributes of fq and fq_codel (include/uapi/linux/pkt_sched.h).
const (
	fqLimit      = 1
	fqPacing     = 5 // TCA_FQ_RATE_ENABLE
	fqCodelLimit = 2
	fqCodelECN   = 4
)

// Fq is fair queueing with pacing: it sends each socket's packets when TCP says.
type Fq struct {
	LimitPackets uint32 // 0: the kernel's own, 10000
	NoPacing     bool
}

// Kind is "fq".
func (Fq) Kind() string { return "fq" }

func (f Fq) String() string { return "fq" + limitText(f.LimitPackets) + onOff(f.NoPacing, " nopacing") }

func (f Fq) options() *nl.RtAttr {
	o := nestedOptions()
	if f.LimitPackets > 0 {
		o.AddRtAttr(fqLimit, u32(f.LimitPackets))
	}
	o.AddRtAttr(fqPacing, u32(truth(!f.NoPacing)))
	return o
}

// FqCodel is fair queueing with CoDel. With ECN it marks where it would drop.
type FqCodel struct {
	LimitPackets uint32 // 0: the kernel's own, 10240
	ECN          bool
}

// Kind is "fq_codel".
func (FqCodel) Kind() string { return "fq_codel" }

func (f FqCodel) String() string {
	return "fq_codel" + limitText(f.LimitPackets) + onOff(f.ECN, " ecn")
}

func (f FqCodel) options() *nl.RtAttr {
	o := nestedOptions()
	if f.LimitPackets > 0 {
		o.AddRtAttr(fqCodelLimit, u32(f.LimitPackets))
	}
	o.AddRtAttr(fqCodelECN, u32(truth(f.ECN)))
	return o
}

func truth(b bool) uint32 {
	if b {
		return 1
	}
	return 0
}

func onOff(b bool, text string) string {
	if b {
		return text
	}
	return ""
}

func limitText(n uint32) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf(" limit %d", n)
}

// PfifoFast has three bands by priority, each as long as the link's tx queue.
type PfifoFast struct{}

// Kind is "pfifo_fast".
func (PfifoFast) Kind() string        { return "pfifo_fast" }
func (PfifoFast) String() string      { return "pfifo_fast" }
func (PfifoFast) options() *nl.RtAttr { return nil }

// MaxPriority is the highest SO_PRIORITY that Prio has a class for.
const MaxPriority = 15

// Prio has a class for each priority of a socket, 0 to MaxPriority and fewer than Bands; all others go to that of 0.
type Prio struct{ Bands uint32 }

// Kind is "prio".
func (Prio) Kind() string { return "prio" }

func (p Prio) String() string { return fmt.Sprintf("prio bands %d", p.Bands) }

// options is struct tc_prio_qopt.
func (p Prio) options() *nl.RtAttr {
	b := u32(p.Bands)
	for i := range byte(MaxPriority + 1) {
		if uint32(i) >= p.Bands {
			i = 0
		}
		b = append(b, i)
	}
	return nl.NewRtAttr(unix.TCA_OPTIONS, b)
}
