package qdisc

import (
	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"
)

// Pfifo is a queue of LimitPackets; 0 is the link's tx queue length.
type Pfifo struct{ LimitPackets uint32 }

// Kind is "pfifo".
func (Pfifo) Kind() string          { return "pfifo" }
func (f Pfifo) String() string      { return "pfifo" + limitText(f.LimitPackets) }
func (f Pfifo) options() *nl.RtAttr { return fifoLimit(f.LimitPackets) }

// Bfifo is a queue of LimitBytes; 0 is the link's tx queue length times its MTU.
type Bfifo struct{ LimitBytes uint32 }

// Kind is "bfifo".
func (Bfifo) Kind() string          { return "bfifo" }
func (f Bfifo) String() string      { return "bfifo" + limitText(f.LimitBytes) }
func (f Bfifo) options() *nl.RtAttr { return fifoLimit(f.LimitBytes) }

func fifoLimit(n uint32) *nl.RtAttr {
	if n == 0 {
		return nil
	}
	return nl.NewRtAttr(unix.TCA_OPTIONS, u32(n)) // struct tc_fifo_qopt
}

// PfifoFast has three bands by priority, each as long as the link's tx queue.
type PfifoFast struct{}

// Kind is "pfifo_fast".
func (PfifoFast) Kind() string        { return "pfifo_fast" }
func (PfifoFast) String() string      { return "pfifo_fast" }
func (PfifoFast) options() *nl.RtAttr { return nil }
