package scenario

import (
	"errors"
	"fmt"
	"math/bits"
	"regexp"
	"strconv"
	"strings"
)

// Quantities are a decimal number and a unit, read exactly: nothing is rounded.
// Where tc and people read a unit differently it is refused (iproute2
// lib/utils_math.c: "1mbps" is bytes per second, "1kb" 1024 bytes, a bare rate bits,
// a bare time microseconds).

var quantityForm = regexp.MustCompile(`^([0-9]{1,12})(?:\.([0-9]{1,6}))?([A-Za-z%/]*)$`)

// Units by name, in the smallest unit that a Cell has.
var (
	timeUnits  = map[string]uint64{"us": 1, "ms": 1e3, "s": 1e6}
	rateUnits  = map[string]uint64{"bit": 1, "kbit": 1e3, "mbit": 1e6, "gbit": 1e9, "B/s": 8, "kB/s": 8e3, "MB/s": 8e6}
	sizeUnits  = map[string]uint64{"B": 1, "kB": 1e3, "MB": 1e6, "GB": 1e9, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}
	shareUnits = map[string]uint64{"%": 1e4}
)

// Bounds of meaningful lab values; beyond them products of two would overflow.
const (
	maxTimeUs   = 24 * 3600 * 1e6
	maxRate     = 100e9 // bit/s
	maxSize     = 1e12  // bytes
	ppm         = 1e6
	bytesPerSec = "bytes per second in tc"
)

func parseTime(s string) (uint64, error) {
	if bare(s) {
		return 0, fmt.Errorf("a bare number, which tc reads as microseconds; write %sms or %ss", s, s)
	}
	return quantity(s, timeUnits, maxTimeUs, "us, ms or s, as in 100ms")
}

func ReadRate(s string) (uint64, error) {
	num, unit := split(s)
	switch lower := strings.ToLower(unit); {
	case bare(s):
		return 0, fmt.Errorf("a bare number, which tc reads as bits per second; write %sbit, or %smbit", s, s)
	case strings.HasSuffix(lower, "bps"):
		prefix := strings.TrimSuffix(lower, "bps")
		byBytes := num + map[string]string{"": "B/s", "k": "kB/s", "m": "MB/s", "g": "000MB/s"}[prefix]
		return 0, fmt.Errorf("%s is %s; write %s%sbit or %s", s, bytesPerSec, timesEight(num), prefix, byBytes)
	case strings.HasSuffix(lower, "bit"): // tc prints "8000Kbit"
		s = num + lower
	}
	return quantity(s, rateUnits, maxRate, "bit, kbit, mbit, gbit, kB/s or MB/s, as in 100mbit")
}

func ReadSize(s string) (uint64, error) {
	num, unit := split(s)
	switch lower := strings.ToLower(unit); {
	case bare(s):
		return 0, fmt.Errorf("a bare number; write %sB, %skB or %sMB", s, s, s)
	case lower == "k" || lower == "kb" && unit != "kB":
		return 0, fmt.Errorf("%s is 1024 bytes in tc and 1000 elsewhere; write %sKiB or %skB", unit, num, num)
	case lower == "m" || lower == "mb" && unit != "MB":
		return 0, fmt.Errorf("%s is 1048576 bytes in tc and a million elsewhere; write %sMiB or %sMB", unit, num, num)
	}
	return quantity(s, sizeUnits, maxSize, "B, kB, MB, GB, KiB, MiB or GiB, as in 64MB")
}

// ReadShare returns millionths.
func ReadShare(s string) (uint32, error) {
	if bare(s) {
		return 0, errors.New("a bare number; write a percentage, as in 1%")
	}
	v, err := quantity(s, shareUnits, ppm, "%, as in 0.1%")
	return uint32(v), err
}

func ReadCount(s string) (int, error) {
	v, err := strconv.ParseUint(s, 10, 31)
	if err != nil {
		return 0, errors.New("not a whole number")
	}
	return int(v), nil
}

func parseSeed(s string) (uint64, error) {
	v, err := strconv.ParseUint(s, 10, 64)
	if err != nil {
		return 0, errors.New("not a whole number")
	}
	return v, nil
}

func ReadSwitch(s string) (bool, error) {
	switch s {
	case "on", "true":
		return true, nil
	case "off", "false":
		return false, nil
	}
	return false, errors.New("neither on nor off; write one of them")
}

func ReadWord(s string) (string, error) {
	if !word.MatchString(s) {
		return "", errors.New("not a name; write letters, digits and + - _ . % only, at most 40")
	}
	return s, nil
}

// word matches names, which appear in cell ids and file names.
var word = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9+_.%-]{0,39}$`)

// quantity reads s exactly, in the units' smallest.
func quantity(s string, units map[string]uint64, most uint64, write string) (uint64, error) {
	m := quantityForm.FindStringSubmatch(s)
	if m == nil {
		return 0, fmt.Errorf("not a number and a unit; write %s", write)
	}
	unit, ok := units[m[3]]
	if !ok {
		return 0, fmt.Errorf("unknown unit %q; write %s", m[3], write)
	}
	digits, _ := strconv.ParseUint(m[1]+m[2], 10, 64) // at most 18 digits
	scale := uint64(1)
	for range len(m[2]) {
		scale *= 10
	}
	hi, lo := bits.Mul64(digits, unit)
	if hi >= scale {
		return 0, fmt.Errorf("too large; write %s", write)
	}
	v, rest := bits.Div64(hi, lo, scale)
	switch {
	case rest != 0:
		return 0, errors.New("finer than the kernel's unit; write fewer decimals")
	case v > most:
		return 0, fmt.Errorf("too large; at most %d%s", most/unit, m[3])
	}
	return v, nil
}

func split(s string) (num, unit string) {
	if m := quantityForm.FindStringSubmatch(s); m != nil {
		return strings.TrimSuffix(s, m[3]), m[3]
	}
	return s, ""
}

func bare(s string) bool {
	m := quantityForm.FindStringSubmatch(s)
	return m != nil && m[3] == ""
}

func timesEight(num string) string {
	v, _ := strconv.ParseFloat(num, 64)
	return strconv.FormatFloat(8*v, 'f', -1, 64)
}

// mulDiv is a x b / c, rounded up, and the largest number where that overflows.
func mulDiv(a, b, c uint64) uint64 {
	hi, lo := bits.Mul64(a, b)
	lo, carry := bits.Add64(lo, c-1, 0)
	if hi += carry; hi >= c {
		return 1<<64 - 1
	}
	v, _ := bits.Div64(hi, lo, c)
	return v
}

// length is that of a queue, in the unit of the file.
type length struct {
	unit string // "p", "bdp", "us", "bytes"; "" is unset
	n    uint64 // of bdp: millionths
}

var (
	packetUnits = map[string]uint64{"p": 1}
	bdpUnits    = map[string]uint64{"bdp": ppm}
)

func parseBuffer(s string) (length, error) {
	switch _, unit := split(s); unit {
	case "p":
		n, err := quantity(s, packetUnits, maxBuffer, "packets, as in 200p")
		return length{"p", n}, err
	case "bdp":
		n, err := quantity(s, bdpUnits, 1000*ppm, "a multiple of rate x rtt, as in 1bdp")
		return length{"bdp", n}, err
	case "us", "ms", "s":
		n, err := parseTime(s)
		return length{"us", n}, err
	}
	_, err := quantity(s, nil, 0, "packets, a time or a multiple of rate x rtt, as in 200p, 50ms or 1bdp")
	return length{}, err
}

// parseTbfLimit reads tc's limit (bytes) or latency (a time).
func parseTbfLimit(s string) (length, error) {
	if n, err := parseTime(s); err == nil {
		return length{"us", n}, nil
	}
	n, err := ReadSize(s)
	return length{"bytes", n}, err
}

// packets of full size that l is at rate and rtt, rounded up: a part of a packet would
// be no queue.
func (l length) packets(p *Path) uint64 {
	frame := uint64(p.MTU + ethernet)
	switch l.unit {
	case "p":
		return l.n
	case "us":
		return mulDiv(p.RateBitPerS, l.n, 8e6*frame)
	case "bdp":
		return mulDiv(bdp(p.RateBitPerS, p.RTTUs), l.n, ppm*frame)
	}
	return max(mulDiv(bdp(p.RateBitPerS, p.RTTUs), 1, frame), initialWindow)
}

// ethernet is the header that tc counts with each packet, in bytes.
const ethernet = 14

// initialWindow of Linux (RFC 6928), in packets: a default queue holds it.
const initialWindow = 10

// bdp is rate x time in bytes.
func bdp(bitPerS, us uint64) uint64 { return mulDiv(bitPerS, us, 8e6) }
