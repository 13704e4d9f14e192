package shape

import (
	"errors"
	"fmt"
	"maps"
	"math/bits"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// quantity is a decimal number and a unit, parsed and not rounded.
type quantity struct {
	num    string // as written
	digits uint64 // without the point
	scale  uint64 // a power of ten: the number is digits / scale
	unit   string
}

var form = regexp.MustCompile(`^([0-9]{1,12})(?:\.([0-9]{1,6}))?([A-Za-z/]{0,10})$`)

func split(s, forms string) (q quantity, err error) {
	m := form.FindStringSubmatch(s)
	switch {
	case s == "":
		return q, fmt.Errorf("empty; write a number and a unit: %s", forms)
	case strings.HasPrefix(s, "-"):
		return q, fmt.Errorf("negative; write a number above zero with a unit: %s", forms)
	case strings.ContainsAny(s, " \t"):
		return q, fmt.Errorf("contains a space; write number and unit as one word: %s", forms)
	case strings.Contains(s, ","):
		return q, fmt.Errorf("contains a comma; write decimals with a point, and no thousands separators: %s", forms)
	case m == nil:
		return q, fmt.Errorf("not a number and a unit; write %s", forms)
	}
	q = quantity{num: strings.TrimSuffix(s, m[3]), scale: 1, unit: m[3]}
	q.digits, _ = strconv.ParseUint(m[1]+m[2], 10, 64) // at most 18 digits
	for range len(m[2]) {
		q.scale *= 10
	}
	if q.digits == 0 {
		return q, fmt.Errorf("zero; write a number above zero with a unit: %s", forms)
	}
	return q, nil
}

// times returns the number in the smallest unit, exact or refused.
func (q quantity) times(unit uint64, smallest string) (uint64, error) {
	hi, lo := bits.Mul64(q.digits, unit)
	if hi >= q.scale {
		return 0, errors.New("too large")
	}
	v, rest := bits.Div64(hi, lo, q.scale)
	if rest != 0 {
		return 0, fmt.Errorf("not a whole number of %s; write fewer decimals", smallest)
	}
	return v, nil
}

// prefixes in lower case; "" is none.
var prefixes = map[string]uint64{"": 1, "k": 1e3, "m": 1e6, "g": 1e9, "t": 1e12, "ki": 1 << 10, "mi": 1 << 20, "gi": 1 << 30, "ti": 1 << 40}

// nearest refuses a unit and names the intended one, if only case or an ending is wrong.
func (q quantity) nearest(units map[string]uint64, forms string, endings ...string) error {
	for _, name := range slices.Sorted(maps.Keys(units)) {
		for _, end := range endings {
			if strings.EqualFold(q.unit+end, name) {
				return fmt.Errorf("unknown unit %q; write %s%s", q.unit, q.num, name)
			}
		}
	}
	return fmt.Errorf("unknown unit %q; write %s", q.unit, forms)
}

// prefixed prints v with the largest decimal prefix that leaves at most three decimals,
// exact.
func prefixed(v uint64, unit string) string {
	for _, p := range []struct {
		name string
		of   uint64
	}{{"G", 1e9}, {"M", 1e6}, {"k", 1e3}} {
		if v >= p.of && v%(p.of/1e3) == 0 {
			return decimal(v, p.of) + p.name + unit
		}
	}
	return strconv.FormatUint(v, 10) + unit
}

// decimal prints v / by, exact, if by has only factors 2 and 5.
func decimal(v, by uint64) string {
	s := strconv.FormatUint(v/by, 10)
	rest := v % by
	if rest == 0 {
		return s
	}
	s += "."
	for rest > 0 {
		rest *= 10
		s += strconv.FormatUint(rest/by, 10)
		rest %= by
	}
	return s
}

// spaced puts a blank between number and unit, for people.
func spaced(s string) string {
	i := strings.IndexFunc(s, func(r rune) bool { return r != '.' && (r < '0' || r > '9') })
	if i < 0 {
		return s
	}
	return s[:i] + " " + s[i:]
}

// Rate is in bits per second.
type Rate uint64

// Bounds of a rate.
const (
	// MinRate, bit/s: a full Ethernet frame takes 1.5 s. Below it, TCP sees a dead link.
	MinRate Rate = 8e3
	// MaxRate, bit/s: above the fastest Ethernet (800 Gbit/s); more is a typing error.
	MaxRate Rate = 1e12
)

const (
	decimalRates = "bit/s, kbit/s, Mbit/s, Gbit/s or B/s, kB/s, MB/s, GB/s"
	rateForms    = decimalRates + " (or Ki, Mi, Gi for powers of 1024), as in 8Mbit/s or 1MB/s"
)

// byteRates are the units in bytes. Case counts: KB is 1000 bytes to some and 1024 to others.
var byteRates = map[string]uint64{"B/s": 8, "kB/s": 8e3, "MB/s": 8e6, "GB/s": 8e9, "KiB/s": 8 << 10, "MiB/s": 8 << 20, "GiB/s": 8 << 30}

// rateUnit returns the bits per second of a unit. Bits may be written as tc does, in any
// case and without "/s"; bytes with its "ps" after a large B, which is a byte to all.
func rateUnit(unit string) (bits uint64, ok bool) {
	if prefix, isBits := strings.CutSuffix(strings.TrimSuffix(strings.ToLower(unit), "/s"), "bit"); isBits {
		bits, ok = prefixes[prefix]
		return bits, ok
	}
	if of, tc := strings.CutSuffix(unit, "Bps"); tc {
		unit = of + "B/s"
	}
	bits, ok = byteRates[unit]
	return bits, ok
}

// ParseRate reads a rate. Bits end in bit/s or bit, bytes in B/s or Bps; k, M, G are powers
// of 1000, Ki, Mi, Gi of 1024. It refuses what tc and people read differently, and shows both
// readings.
func ParseRate(s string) (Rate, error) {
	q, err := split(s, rateForms)
	if err != nil {
		return 0, fmt.Errorf("rate %q: %w", s, err)
	}
	unit, ok := rateUnit(q.unit)
	if !ok {
		return 0, fmt.Errorf("rate %q: %w", s, q.refuseRate())
	}
	v, err := q.times(unit, "bit/s")
	if err != nil {
		return 0, fmt.Errorf("rate %q: %w", s, err)
	}
	switch r := Rate(v); {
	case r < MinRate:
		return 0, fmt.Errorf("rate %q: below %s, at which a full packet takes 1.5 s; write a higher rate", s, MinRate)
	case r > MaxRate:
		return 0, fmt.Errorf("rate %q: above %s, faster than any link; write a lower rate", s, MaxRate)
	default:
		return r, nil
	}
}

// refuseRate explains why an unknown unit is refused.
func (q quantity) refuseRate() error {
	lower := strings.ToLower(q.unit)
	prefix := strings.TrimSuffix(strings.TrimSuffix(strings.TrimSuffix(lower, "ps"), "/s"), "b")
	scale, known := prefixes[prefix]
	switch {
	case q.unit == "":
		return q.twoRates("tc reads a bare number as", 1, "dd and rsync read it as", 8)
	case known && strings.HasPrefix(q.unit, "KB"):
		return q.twoRates("K may be 1000,", 8e3, "or 1024,", 8<<10)
	case known && strings.HasSuffix(q.unit, "bps"):
		return q.twoRates("tc reads bytes,", 8*scale, "most others read bits,", scale)
	case known && strings.HasSuffix(strings.TrimSuffix(q.unit, "/s"), "b"):
		return q.twoRates("b may be bits,", scale, "or bytes,", 8*scale)
	case known && prefix == lower:
		return q.twoRates("without a unit it may be bits,", scale, "or bytes,", 8*scale)
	}
	return q.nearest(byteRates, rateForms, "", "/s")
}

// twoRates spells out two readings of a number.
func (q quantity) twoRates(first string, a uint64, second string, b uint64) error {
	x, errX := q.times(a, "bit/s")
	y, errY := q.times(b, "bit/s")
	if errX != nil || errY != nil {
		return fmt.Errorf("its unit is ambiguous; write %s", rateForms)
	}
	return fmt.Errorf("ambiguous: %s %s; %s %s; write %s or %s",
		first, exactly(x), second, exactly(y), Rate(x).write(), Rate(y).write())
}

// exactly prints a rate in bit/s and B/s, without prefixes.
func exactly(bits uint64) string {
	return fmt.Sprintf("%d bit/s (%s B/s)", bits, decimal(bits, 8))
}

// write prints how to ask for a rate, in bits and in bytes.
func (r Rate) write() string {
	if r%8 != 0 {
		return r.String()
	}
	return r.String() + " (" + r.bytesText() + ")"
}

// String returns the rate in bits, exact, as ParseRate reads it.
func (r Rate) String() string { return prefixed(uint64(r), "bit/s") }

// bytesText returns the rate in bytes, exact unless it is not a whole number of bytes.
func (r Rate) bytesText() string {
	if r%8 != 0 {
		return decimal(uint64(r), 8) + "B/s"
	}
	return prefixed(uint64(r)/8, "B/s")
}

// Words returns the rate in bits and bytes.
func (r Rate) Words() string { return spaced(r.String()) + " = " + spaced(r.bytesText()) }

// BytesPerS returns the kernel's unit: whole bytes, rounded down.
func (r Rate) BytesPerS() uint64 { return uint64(r) / 8 }

// Kept returns what the kernel makes of the rate.
func (r Rate) Kept() Rate { return r &^ 7 }

// Size is in bytes.
type Size uint64

// MaxSize, bytes: the kernel keeps sizes of tbf in 32 bits.
const MaxSize Size = 1<<32 - 1

const sizeForms = "B, kB, MB, GB or KiB, MiB, GiB, as in 200KiB"

var sizeUnits = map[string]uint64{"B": 1, "kB": 1e3, "MB": 1e6, "GB": 1e9, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}

// ParseSize reads a size in bytes.
func ParseSize(s string) (Size, error) {
	q, err := split(s, sizeForms)
	if err != nil {
		return 0, fmt.Errorf("size %q: %w", s, err)
	}
	return q.size(s)
}

func (q quantity) size(s string) (Size, error) {
	if _, ok := sizeUnits[q.unit]; !ok {
		return 0, fmt.Errorf("size %q: %w", s, q.refuseSize())
	}
	v, err := q.times(sizeUnits[q.unit], "bytes")
	if err != nil {
		return 0, fmt.Errorf("size %q: %w", s, err)
	}
	if Size(v) > MaxSize {
		return 0, fmt.Errorf("size %q: above %d B, the most that tbf can count; write a smaller size", s, MaxSize)
	}
	return Size(v), nil
}

// refuseSize: tc's k is 1024 and its kbit 128 bytes; elsewhere they are 1000 and 125.
func (q quantity) refuseSize() error {
	lower := strings.ToLower(q.unit)
	prefix := strings.TrimSuffix(strings.TrimSuffix(lower, "bit"), "b")
	scale, known := prefixes[prefix]
	binary := map[string]uint64{"k": 1 << 10, "m": 1 << 20, "g": 1 << 30}[prefix]
	switch {
	case q.unit == "":
		return fmt.Errorf("a bare number; write %sB, %skB or %sKiB", q.num, q.num, q.num)
	case known && strings.HasSuffix(lower, "bit") && binary > 0:
		return q.twoSizes("tc reads", binary, 8, "others", scale, 8)
	case known && strings.HasSuffix(lower, "bit"):
		return fmt.Errorf("in bits, but a bucket or queue is counted in bytes; write %s", sizeForms)
	case binary > 0 && (lower == prefix || lower == prefix+"b"):
		return q.twoSizes("tc reads", binary, 1, "others", scale, 1)
	}
	return q.nearest(sizeUnits, sizeForms, "", "B")
}

func (q quantity) twoSizes(first string, a, byA uint64, second string, b, byB uint64) error {
	x, errX := q.times(a, "bytes")
	y, errY := q.times(b, "bytes")
	if errX != nil || errY != nil || x%byA != 0 || y%byB != 0 {
		return fmt.Errorf("unit %q is ambiguous; write %s", q.unit, sizeForms)
	}
	return fmt.Errorf("ambiguous: %s %d bytes, %s %d; write %s or %s",
		first, x/byA, second, y/byB, Size(x/byA), Size(y/byB))
}

// String returns the size, exact, as ParseSize reads it: in powers of 1024 if that leaves no
// rest, else in powers of 1000.
func (s Size) String() string {
	for _, p := range []struct {
		name string
		of   Size
	}{{"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}} {
		if s >= p.of && s%p.of == 0 {
			return decimal(uint64(s), uint64(p.of)) + p.name
		}
	}
	return prefixed(uint64(s), "B")
}

// Words returns the size for people, with the count of bytes where a prefix hides it.
func (s Size) Words() string {
	text := s.String()
	if text == fmt.Sprintf("%dB", s) {
		return spaced(text)
	}
	return fmt.Sprintf("%s (%d bytes)", spaced(text), s)
}
