package clickhouse

import (
	"fmt"
	"math"
	"net/netip"
	"unsafe"

	"github.com/congctl/congctl/internal/tcp/record"
)

// The kernel counts busy time in its ticks, whole milliseconds (with HZ=300 thirds), and a rate is the mean of whole samples: the sum and
// their number tell it to the last bit. Each is stored as that whole number and what it misses, which mostly is 0.

// wholeOf ends the names of whole numbers.
const wholeOf = "_whole"

// ms are the microseconds of one.
const ms = 1000

// part is the column of a value's whole number, or of what that misses.
type part[F, T any] struct {
	*direct[T]
	of    *F
	count *uint32 // nil without one
	fill  func(v F, count uint32) T
}

func (c *part[F, T]) keep(r rows) {
	list := c.more(r.n)
	of, count := r.field(unsafe.Pointer(c.of)), unsafe.Pointer(nil)
	if c.count != nil {
		count = r.field(unsafe.Pointer(c.count))
	}
	for i := range list {
		at, n := uintptr(i)*r.size, uint32(0)
		if count != nil {
			n = *(*uint32)(unsafe.Add(count, at))
		}
		list[i] = c.fill(*(*F)(unsafe.Add(of, at)), n)
	}
}

func newWhole(of column, d *derivation, named map[string]column) []column {
	if of, ok := of.(*direct[uint64]); ok {
		return []column{
			&part[uint64, uint64]{plain(d.name+wholeOf, "UInt64", new(uint64), false), of.at, nil, func(v uint64, _ uint32) uint64 { return v / ms }},
			&part[uint64, uint16]{plain(d.name+restOf, "UInt16", new(uint16), false), of.at, nil, func(v uint64, _ uint32) uint16 { return uint16(v % ms) }},
		}
	}
	rate, count := of.(*direct[float64]).at, named[d.plus].(*direct[uint32]).at
	return []column{
		&part[float64, uint64]{plain(d.name+wholeOf, "UInt64", new(uint64), false), rate, count, sumOf},
		&part[float64, float64]{plain(d.name+restOf, "Float64", new(float64), false), rate, count, func(v float64, n uint32) float64 {
			if sumOf(v, n) > 0 {
				return 0
			}
			return v
		}},
	}
}

// mostSum is a sum whose neighbours a float64 tells apart.
const mostSum = 1 << 53

// sumOf is the sum whose mean over n samples is v to the last bit, or 0 where none is.
func sumOf(v float64, n uint32) uint64 {
	of := float64(max(n, 1))
	sum := math.Round(v * of)
	if !(sum > 0 && sum < mostSum) || sum/of != v {
		return 0
	}
	return uint64(sum)
}

func wholeValue(d *derivation, c column) string {
	if d.plus == "" {
		return fmt.Sprintf("to%s(%s * %d + %s)", c.kind(), d.name+wholeOf, ms, d.name+restOf)
	}
	return fmt.Sprintf("if(%[1]s > 0, %[1]s / greatest(%[2]s, 1), %[3]s)", d.name+wholeOf, d.plus, d.name+restOf)
}

func wholeParts(d *derivation, c column) []string {
	if d.plus == "" {
		return []string{fmt.Sprintf("intDiv(%s, %d)", d.name, ms), fmt.Sprintf("toUInt16(%s %% %d)", d.name, ms)}
	}
	sum := fmt.Sprintf("round(%s * greatest(%s, 1))", d.name, d.plus)
	fits := fmt.Sprintf("%[1]s > 0 AND %[1]s < %[2]d AND %[1]s / greatest(%[3]s, 1) = %[4]s", sum, uint64(mostSum), d.plus, d.name)
	return []string{fmt.Sprintf("if(%s, toUInt64(if(%[1]s, %s, 0.)), toUInt64(0))", fits, sum), fmt.Sprintf("if(%s, 0., %s)", fits, d.name)}
}

// By default a client's address is its network's: then nothing of it is stored. noRemote is none at all.
const noRemote = "\x00"

func newRemote(of *converted[netip.AddrPort, string], prefix *uint64) column {
	return &remote{plain("remote"+restOf, "String", new(string), false), of.row, prefix}
}

type remote struct {
	*direct[string]
	of     *netip.AddrPort
	prefix *uint64
}

func (c *remote) keep(r rows) {
	list := c.more(r.n)
	of, prefix := r.field(unsafe.Pointer(c.of)), r.field(unsafe.Pointer(c.prefix))
	for i := range list {
		at := uintptr(i) * r.size
		addr := (*netip.AddrPort)(unsafe.Add(of, at)).Addr()
		switch network := record.Prefix(*(*uint64)(unsafe.Add(prefix, at))).Netip().Addr(); {
		case addr == network:
			list[i] = ""
		case !addr.IsValid():
			list[i] = noRemote
		default:
			list[i] = string(addr.AsSlice())
		}
	}
}

// prefixAddress are the 4 or 16 bytes of a network's address, none of none. hex leaves out leading zeros: a bit before
// them keeps them.
var prefixAddress = fmt.Sprintf("multiIf(bitAnd(prefix, 255) != if(prefix < %[1]d, %[2]d, %[3]d), '', prefix < %[1]d, %[4]s, concat(%[5]s, %[6]s, unhex('0000000000000000')))",
	uint64(1)<<32, 24, 56, fourBytes("prefix - 24"), fourBytes("intDiv(prefix, 4294967296)"), fourBytes("bitAnd(prefix, 4294967040)"))

func fourBytes(v string) string {
	return fmt.Sprintf("unhex(substring(hex(bitOr(toUInt64(%s), %d)), 5))", v, uint64(1)<<40)
}

var remoteValue = fmt.Sprintf(`multiIf(remote_rest = '', %s, remote_rest = '\0', '', remote_rest)`, prefixAddress)

// After a loss the threshold of slow start is about the window; before, it is the highest number, which is stored as 1.
type threshold struct {
	*direct[int64]
	of, cwnd *uint32
}

const noThreshold, thresholdName = 0x7fffffff, "info_snd_ssthresh_segs"

func (c *threshold) keep(r rows) {
	list := c.more(r.n)
	of, cwnd := r.field(unsafe.Pointer(c.of)), r.field(unsafe.Pointer(c.cwnd))
	for i := range list {
		at := uintptr(i) * r.size
		v := *(*uint32)(unsafe.Add(of, at))
		switch rest := int64(v) - int64(*(*uint32)(unsafe.Add(cwnd, at))); {
		case v == noThreshold:
			list[i] = 1
		case rest > 0:
			list[i] = rest + 1
		default:
			list[i] = rest
		}
	}
}

var (
	thresholdPart = fmt.Sprintf("multiIf(%[1]s = %[2]d, toInt64(1), %[1]s > info_snd_cwnd_segs, toInt64(%[1]s) - toInt64(info_snd_cwnd_segs) + 1, toInt64(%[1]s) - toInt64(info_snd_cwnd_segs))",
		thresholdName, noThreshold)
	thresholdValue = fmt.Sprintf("toUInt32(multiIf(%[1]s = 1, toInt64(%[2]d), %[1]s > 1, toInt64(info_snd_cwnd_segs) + %[1]s - 1, toInt64(info_snd_cwnd_segs) + %[1]s))",
		thresholdName+restOf, noThreshold)
)
