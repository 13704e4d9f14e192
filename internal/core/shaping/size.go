package shaping

import (
	"fmt"
	"strings"
)

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
		return q.twoSizes("to tc", binary, 8, "elsewhere", scale, 8)
	case known && strings.HasSuffix(lower, "bit"):
		return fmt.Errorf("bits, and a bucket or queue is counted in bytes; write %s", sizeForms)
	case binary > 0 && (lower == prefix || lower == prefix+"b"):
		return q.twoSizes("to tc", binary, 1, "elsewhere", scale, 1)
	}
	return q.nearest(sizeUnits, sizeForms, "", "B")
}

func (q quantity) twoSizes(first string, a, byA uint64, second string, b, byB uint64) error {
	x, errX := q.times(a, "bytes")
	y, errY := q.times(b, "bytes")
	if errX != nil || errY != nil || x%byA != 0 || y%byB != 0 {
		return fmt.Errorf("unit %q has two readings; write %s", q.unit, sizeForms)
	}
	return fmt.Errorf("can be read in two ways: %s %d bytes, %s %d; write %s or %s",
		first, x/byA, second, y/byB, Size(x/byA), Size(y/byB))
}

// String is the size, exact, as ParseSize reads it: in powers of 1024 where that leaves
// no rest, else in powers of 1000.
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

// Words is the size for people, with the count of bytes where a prefix hides it.
func (s Size) Words() string {
	text := s.String()
	if text == fmt.Sprintf("%dB", s) {
		return spaced(text)
	}
	return fmt.Sprintf("%s (%d bytes)", spaced(text), s)
}
