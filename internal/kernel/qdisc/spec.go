package qdisc

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"
)

var native = binary.NativeEndian

// Spec is a kind of qdisc with its parameters. String is what `tc qdisc show` would
// tell, in this project's units.
type Spec interface {
	Kind() string
	String() string
	options() *nl.RtAttr // TCA_OPTIONS, nil for none
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

// Share is a probability in millionths as the kernel has it: of 2^32 - 1.
func Share(ppm uint32) uint32 { return share(ppm) }

func share(ppm uint32) uint32 {
	return uint32(math.Round(float64(ppm) / 1e6 * math.MaxUint32))
}

func nestedOptions() *nl.RtAttr { return nl.NewRtAttr(unix.TCA_OPTIONS, nil) }

func u32(v uint32) []byte { return native.AppendUint32(nil, v) }
func u64(v uint64) []byte { return native.AppendUint64(nil, v) }

// words are the members of a struct of u32.
func words(v ...uint32) (b []byte) {
	for _, w := range v {
		b = native.AppendUint32(b, w)
	}
	return b
}

// rateSpec is struct tc_ratespec. The link layer is named (TC_LINKLAYER_ETHERNET),
// so the kernel needs no rate table to guess it from.
func rateSpec(bytesPerS uint64) []byte {
	const linkLayerEthernet = 1
	b := []byte{0, linkLayerEthernet, 0, 0, 0, 0, 0, 0} // cell_log, linklayer, overhead, cell_align, mpu
	native.PutUint16(b[4:], math.MaxUint16)             // cell_align -1, as tc
	return native.AppendUint32(b, uint32(min(bytesPerS, math.MaxUint32)))
}

// rateText prints a rate in bits, as people say it.
func rateText(bytesPerS uint64) string { return fmt.Sprintf("%dbit", bytesPerS*8) }
