package qdisc

import (
	"fmt"
	"math"

	"github.com/vishvananda/netlink/nl"
)

// Attributes of tbf (include/uapi/linux/pkt_sched.h).
const (
	tbfParms  = 1
	tbfRate64 = 4
	tbfBurst  = 6
)

// Tbf is a token bucket. Packets above BurstBytes are dropped, super-packets above it
// are split. LimitBytes is the queue of those that wait for tokens, unless another
// qdisc is put below.
//
// A change fills the bucket: each one lets BurstBytes pass at once.
type Tbf struct {
	RateBytesPerS uint64
	BurstBytes    uint32
	LimitBytes    uint32
}

// Kind is "tbf".
func (Tbf) Kind() string { return "tbf" }

func (t Tbf) String() string {
	return fmt.Sprintf("tbf rate %s burst %db limit %db", rateText(t.RateBytesPerS), t.BurstBytes, t.LimitBytes)
}

// options: the burst is sent twice. struct tc_tbf_qopt has it as the time that it
// takes at the rate, rounded, the attribute in bytes, exact, and that one counts.
func (t Tbf) options() *nl.RtAttr {
	var none [12]byte // of peakrate
	parms := append(rateSpec(t.RateBytesPerS), none[:]...)
	parms = append(parms, words(t.LimitBytes, xmitTicks(t.RateBytesPerS, uint64(t.BurstBytes)), 0)...)
	o := nestedOptions()
	o.AddRtAttr(tbfParms, parms)
	o.AddRtAttr(tbfBurst, u32(t.BurstBytes))
	if t.RateBytesPerS > math.MaxUint32 {
		o.AddRtAttr(tbfRate64, u64(t.RateBytesPerS))
	}
	return o
}
