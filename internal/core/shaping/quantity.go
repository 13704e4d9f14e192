package shaping

import (
	"errors"
	"fmt"
	"math/bits"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// quantity is a decimal number and a unit, taken apart and not rounded.
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
		return q, fmt.Errorf("has a blank; write number and unit as one word: %s", forms)
	case strings.Contains(s, ","):
		return q, fmt.Errorf("has a comma; write decimals with a point, and no marks between thousands: %s", forms)
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

// times is the number in the smallest unit, exact or refused.
func (q quantity) times(unit uint64, smallest string) (uint64, error) {
	hi, lo := bits.Mul64(q.digits, unit)
	if hi >= q.scale {
		return 0, errors.New("too large")
	}
	v, rest := bits.Div64(hi, lo, q.scale)
	if rest != 0 {
		return 0, fmt.Errorf("no whole number of %s; write fewer decimals", smallest)
	}
	return v, nil
}

// prefixes as people write them, in lower case; "" is none.
var prefixes = map[string]uint64{"": 1, "k": 1e3, "m": 1e6, "g": 1e9, "ki": 1 << 10, "mi": 1 << 20, "gi": 1 << 30}

// nearest refuses a unit and names the one that was meant, if only case or an ending
// is wrong.
func (q quantity) nearest(units map[string]uint64, forms string, endings ...string) error {
	for _, name := range sortedByCase(units) {
		for _, end := range endings {
			if strings.EqualFold(q.unit+end, name) {
				return fmt.Errorf("unknown unit %q; write %s%s", q.unit, q.num, name)
			}
		}
	}
	return fmt.Errorf("unknown unit %q; write %s", q.unit, forms)
}

func sortedByCase(units map[string]uint64) (names []string) {
	for name := range units {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// prefixed is v with the largest decimal prefix that leaves at most three decimals,
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

// decimal is v / by, exact, for a by of few factors 2 and 5.
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
