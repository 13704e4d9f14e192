package qdisc

import (
	"fmt"
	"math"
	"slices"

	"github.com/vishvananda/netlink/nl"
)

// Attributes of tbf (include/uapi/linux/pkt_sched.h).
const (
	tbfParms     = 1
	tbfRate64    = 4
	tbfPeak64    = 5
	tbfBurst     = 6
	tbfPeakBurst = 7
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
	// PeakBytesPerS is the rate at which a burst leaves, 0 for the line's; PeakBurstBytes the most that leaves at once even so.
	PeakBytesPerS  uint64
	PeakBurstBytes uint32
}

// Kind is "tbf".
func (Tbf) Kind() string { return "tbf" }

func (t Tbf) String() string {
	text := fmt.Sprintf("tbf rate %s burst %db limit %db", rateText(t.RateBytesPerS), t.BurstBytes, t.LimitBytes)
	if t.PeakBytesPerS > 0 {
		text += fmt.Sprintf(" peakrate %s mtu %db", rateText(t.PeakBytesPerS), t.PeakBurstBytes)
	}
	return text
}

// options: each burst is sent twice. struct tc_tbf_qopt has it as the time that it
// takes at the rate, rounded, the attribute in bytes, exact, and that one counts.
func (t Tbf) options() *nl.RtAttr {
	peak := make([]byte, 12)
	if t.PeakBytesPerS > 0 {
		peak = rateSpec(t.PeakBytesPerS)
	}
	parms := append(rateSpec(t.RateBytesPerS), peak...)
	parms = append(parms, words(t.LimitBytes, xmitTicks(t.RateBytesPerS, uint64(t.BurstBytes)), xmitTicks(t.PeakBytesPerS, uint64(t.PeakBurstBytes)))...)
	o := nestedOptions()
	o.AddRtAttr(tbfParms, parms)
	o.AddRtAttr(tbfBurst, u32(t.BurstBytes))
	if t.RateBytesPerS > math.MaxUint32 {
		o.AddRtAttr(tbfRate64, u64(t.RateBytesPerS))
	}
	if t.PeakBytesPerS > 0 {
		o.AddRtAttr(tbfPeakBurst, u32(t.PeakBurstBytes))
	}
	if t.PeakBytesPerS > math.MaxUint32 {
		o.AddRtAttr(tbfPeak64, u64(t.PeakBytesPerS))
	}
	return o
}

const parmsLen = 36 // sizeof(struct tc_tbf_qopt)

// ReadTbf reads the kernel's report of a tbf. It has the burst as a time in ticks of 64
// ns: above 125 Mbit/s it reads a few bytes larger ([Tbf.Kept]).
func ReadTbf(options []byte) (t Tbf, err error) {
	var parms []byte
	err = eachAttr(options, func(typ uint16, v []byte) error {
		switch {
		case typ == tbfParms:
			parms = v
		case typ == tbfRate64 && len(v) >= 8:
			t.RateBytesPerS = native.Uint64(v)
		case typ == tbfPeak64 && len(v) >= 8:
			t.PeakBytesPerS = native.Uint64(v)
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
	if t.PeakBytesPerS == 0 {
		t.PeakBytesPerS = uint64(native.Uint32(parms[20:]))
	}
	t.LimitBytes = native.Uint32(parms[24:])
	t.BurstBytes = ticksBytes(t.RateBytesPerS, native.Uint32(parms[28:]))
	if t.PeakBytesPerS > 0 {
		t.PeakBurstBytes = ticksBytes(t.PeakBytesPerS, native.Uint32(parms[32:]))
	}
	return t, nil
}

// Kept returns the tbf as the kernel will report it: with the largest bursts that take
// as many ticks.
func (t Tbf) Kept() Tbf {
	if t.RateBytesPerS > 0 {
		t.BurstBytes = ticksBytes(t.RateBytesPerS, kernelTicks(t.RateBytesPerS, uint64(t.BurstBytes)))
	}
	if t.PeakBytesPerS > 0 {
		t.PeakBurstBytes = ticksBytes(t.PeakBytesPerS, kernelTicks(t.PeakBytesPerS, uint64(t.PeakBurstBytes)))
	}
	return t
}

// exactBursts adds the bursts in bytes to what the kernel reports of a tbf: times, rounded down. By these alone a bucket of one
// frame at 40 Gbit/s would come back smaller than the frame. A rate that counts more than the packet (overhead, mpu, ATM cells)
// stays as it is: its times are of other sizes.
func exactBursts(told []byte) []byte {
	exact := slices.Clone(told)
	// A fault in the kernel's own bytes leaves the rest as it is: the kernel judges it.
	t, err := ReadTbf(told)
	if err != nil {
		return exact
	}
	_ = within(told, tbfParms, func(parms []byte) error {
		for _, b := range []struct {
			typ        int
			spec, time int // where they are in struct tc_tbf_qopt
			bytesPerS  uint64
			bytes      uint32
		}{{tbfBurst, 0, 28, t.RateBytesPerS, t.BurstBytes}, {tbfPeakBurst, 12, 32, t.PeakBytesPerS, t.PeakBurstBytes}} {
			if len(parms) >= parmsLen && plainRate(parms[b.spec:]) && b.bytes > 0 && kernelTicks(b.bytesPerS, uint64(b.bytes)) == native.Uint32(parms[b.time:]) {
				exact = append(exact, nl.NewRtAttr(b.typ, u32(b.bytes)).Serialize()...)
			}
		}
		return nil
	})
	return exact
}

// plainRate reports whether struct tc_ratespec counts packets as they are.
func plainRate(spec []byte) bool {
	return spec[1] == linkLayerEthernet && native.Uint16(spec[2:]) == 0 && native.Uint16(spec[6:]) == 0
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

const linkLayerEthernet = 1 // TC_LINKLAYER_ETHERNET

// rateSpec is struct tc_ratespec. The link layer is named (TC_LINKLAYER_ETHERNET),
// so the kernel needs no rate table to guess it from.
func rateSpec(bytesPerS uint64) []byte {
	b := []byte{0, linkLayerEthernet, 0, 0, 0, 0, 0, 0} // cell_log, linklayer, overhead, cell_align, mpu
	native.PutUint16(b[4:], math.MaxUint16)             // cell_align -1, as tc
	return native.AppendUint32(b, uint32(min(bytesPerS, math.MaxUint32)))
}

// rateText prints a rate in bits, for people.
func rateText(bytesPerS uint64) string { return fmt.Sprintf("%dbit", bytesPerS*8) }
