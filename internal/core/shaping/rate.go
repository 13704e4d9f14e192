package shaping

import (
	"fmt"
	"strings"
)

// Rate is in bits per second.
type Rate uint64

// Bounds of a rate.
const (
	// MinRate, bit/s: a full Ethernet frame takes 1.5 s of it. Below, TCP sees a dead link.
	MinRate Rate = 8e3
	// MaxRate, bit/s: above the fastest Ethernet (800 Gbit/s); more is a slip of the pen.
	MaxRate Rate = 1e12
)

const (
	decimalRates = "bit/s, kbit/s, Mbit/s, Gbit/s or B/s, kB/s, MB/s, GB/s"
	rateForms    = decimalRates + " (or Ki, Mi, Gi for powers of 1024), as in 8Mbit/s or 1MB/s"
)

var rateUnits = map[string]uint64{
	"bit/s": 1, "kbit/s": 1e3, "Mbit/s": 1e6, "Gbit/s": 1e9, "Kibit/s": 1 << 10, "Mibit/s": 1 << 20, "Gibit/s": 1 << 30,
	"B/s": 8, "kB/s": 8e3, "MB/s": 8e6, "GB/s": 8e9, "KiB/s": 8 << 10, "MiB/s": 8 << 20, "GiB/s": 8 << 30,
}

// ParseRate reads a rate. Bits end in bit/s, bytes in B/s; k, M, G are powers of 1000,
// Ki, Mi, Gi of 1024. What tc and people read differently is refused with both readings.
func ParseRate(s string) (Rate, error) {
	q, err := split(s, rateForms)
	if err != nil {
		return 0, fmt.Errorf("rate %q: %w", s, err)
	}
	if _, ok := rateUnits[q.unit]; !ok {
		return 0, fmt.Errorf("rate %q: %w", s, q.refuseRate())
	}
	v, err := q.times(rateUnits[q.unit], "bit/s")
	if err != nil {
		return 0, fmt.Errorf("rate %q: %w", s, err)
	}
	switch r := Rate(v); {
	case r < MinRate:
		return 0, fmt.Errorf("rate %q: below %s, at which a full packet takes 1.5 s; write a higher rate", s, MinRate)
	case r > MaxRate:
		return 0, fmt.Errorf("rate %q: above %s, more than any link has; write a lower rate", s, MaxRate)
	default:
		return r, nil
	}
}

// refuseRate says why a unit that is none of ours is refused.
func (q quantity) refuseRate() error {
	lower := strings.ToLower(q.unit)
	prefix := strings.TrimSuffix(strings.TrimSuffix(lower, "bps"), "b/s")
	scale, known := prefixes[prefix]
	switch {
	case q.unit == "":
		return q.twoRates("tc takes a bare number for", 1, "dd and rsync would take it for", 8)
	case known && strings.HasSuffix(lower, "bps"):
		return q.twoRates("to tc it is bytes,", 8*scale, "to most others bits,", scale)
	case known && strings.HasSuffix(lower, "b/s"):
		return q.twoRates("b may be bits,", scale, "or bytes,", 8*scale)
	case known && !strings.Contains(lower, "bit") && prefix == lower:
		return q.twoRates("without a unit it may be bits,", scale, "or bytes,", 8*scale)
	}
	return q.nearest(rateUnits, rateForms, "", "/s")
}

// twoRates spells out two readings of a number.
func (q quantity) twoRates(first string, a uint64, second string, b uint64) error {
	x, errX := q.times(a, "bit/s")
	y, errY := q.times(b, "bit/s")
	if errX != nil || errY != nil {
		return fmt.Errorf("has no clear unit; write %s", rateForms)
	}
	return fmt.Errorf("can be read in two ways: %s %s; %s %s; write %s or %s",
		first, exactly(x), second, exactly(y), Rate(x).write(), Rate(y).write())
}

// exactly is a rate in bit/s and B/s, without prefixes.
func exactly(bits uint64) string {
	return fmt.Sprintf("%d bit/s (%s B/s)", bits, decimal(bits, 8))
}

// write is how to ask for a rate, in bits and in bytes.
func (r Rate) write() string {
	if r%8 != 0 {
		return r.String()
	}
	return r.String() + " (" + r.bytesText() + ")"
}

// String is the rate in bits, exact, as ParseRate reads it.
func (r Rate) String() string { return prefixed(uint64(r), "bit/s") }

// bytesText is the rate in bytes, exact unless it is no whole number of bytes.
func (r Rate) bytesText() string {
	if r%8 != 0 {
		return decimal(uint64(r), 8) + "B/s"
	}
	return prefixed(uint64(r)/8, "B/s")
}

// Words is the rate in bits and bytes.
func (r Rate) Words() string { return spaced(r.String()) + " = " + spaced(r.bytesText()) }

// BytesPerS is what the kernel counts in: whole bytes, the rest is cut off.
func (r Rate) BytesPerS() uint64 { return uint64(r) / 8 }

// Kept is what the kernel makes of the rate.
func (r Rate) Kept() Rate { return r &^ 7 }
