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

// Tbf is a token bucket. Packets above BurstBytes are dropped, super-packets above it are
// split. LimitBytes is the queue of those that wait for tokens, unless another qdisc is
// below.
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

// ReadTbf reads the kernel's report of a tbf. It has the burst as a time in ticks of 64
// ns: above 125 Mbit/s it reads a few bytes larger ([Tbf.Kept]).
func ReadTbf(options []byte) (t Tbf, err error) {
	const parmsLen = 36 // sizeof(struct tc_tbf_qopt)
	var parms []byte
	err = eachAttr(options, func(typ uint16, v []byte) error {
		switch {
		case typ == tbfParms:
			parms = v
		case typ == tbfRate64 && len(v) >= 8:
			t.RateBytesPerS = native.Uint64(v)
		}
		return nil
	})
	if err == nil && len(parms) < parmsLen {
		err = fmt.Errorf("%d bytes of parameters, struct tc_tbf_qopt has %d", len(parms), parmsLen)
	}
	if err != nil {
		return Tbf{}, fmt.Errorf("decode tbf: %w", err)
	}
	if t.RateBytesPerS == 0 {
		t.RateBytesPerS = uint64(native.Uint32(parms[8:]))
	}
	t.LimitBytes = native.Uint32(parms[24:])
	t.BurstBytes = ticksBytes(t.RateBytesPerS, native.Uint32(parms[28:]))
	return t, nil
}

// Kept returns the tbf as the kernel will report it: with the largest burst that takes as
// many ticks.
func (t Tbf) Kept() Tbf {
	if t.RateBytesPerS > 0 {
		t.BurstBytes = ticksBytes(t.RateBytesPerS, kernelTicks(t.RateBytesPerS, uint64(t.BurstBytes)))
	}
	return t
}

// ticksBytes returns the largest size that takes that many ticks at a rate.
func ticksBytes(bytesPerS uint64, ticks uint32) uint32 {
	lo, hi := uint64(0), uint64(math.MaxUint32)
	for lo < hi { // the ticks grow with the size
		if mid := (lo + hi + 1) / 2; kernelTicks(bytesPerS, mid) <= ticks {
			lo = mid
		} else {
			hi = mid - 1
		}
	}
	return uint32(lo)
}

// kernelTicks is the time of n bytes as the kernel works it out, with the same loss of
// digits (psched_ratecfg_precompute and psched_l2t_ns in net/sched/sch_generic.c).
func kernelTicks(bytesPerS, n uint64) uint32 {
	if bytesPerS == 0 {
		return 0
	}
	factor, shift := uint64(1e9), 0
	for factor/bytesPerS < 1<<31 && factor < 1<<63 {
		factor, shift = factor<<1, shift+1
	}
	return uint32(min(n*(factor/bytesPerS&math.MaxUint32)>>shift/tickNs, math.MaxUint32))
}

// BytesPerS is a rate as tc hands it to the kernel: whole bytes, truncated.
func BytesPerS(bitPerS uint64) uint64 { return bitPerS / 8 }

// tickNs is the unit of old-style times (PSCHED_SHIFT 6, since 2.6.31), ns.
const tickNs = 64

// xmitTicks is the time that n bytes take at a rate, in ticks.
func xmitTicks(bytesPerS uint64, n uint64) uint32 {
	if bytesPerS == 0 {
		return 0
	}
	return uint32(min(float64(n)*1e9/float64(bytesPerS)/tickNs, math.MaxUint32))
}

// rateSpec is struct tc_ratespec. The link layer is named (TC_LINKLAYER_ETHERNET),
// so the kernel needs no rate table to guess it from.
func rateSpec(bytesPerS uint64) []byte {
	const linkLayerEthernet = 1
	b := []byte{0, linkLayerEthernet, 0, 0, 0, 0, 0, 0} // cell_log, linklayer, overhead, cell_align, mpu
	native.PutUint16(b[4:], math.MaxUint16)             // cell_align -1, as tc
	return native.AppendUint32(b, uint32(min(bytesPerS, math.MaxUint32)))
}

// rateText prints a rate in bits, for people.
func rateText(bytesPerS uint64) string { return fmt.Sprintf("%dbit", bytesPerS*8) }
