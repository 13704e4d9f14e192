package simulate

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/congctl/congctl/internal/strict"
	"github.com/congctl/congctl/internal/tcp/record"
)

// Keys of a line. docs/format/windows-history.md describes them.
const (
	keyStart  = "window_start"
	keyPoP    = "pop"
	keyPrefix = "prefix"
	keyN      = "n"
	keyRate   = "delivery_rate_p50_bytes_per_s"
	keyRTT    = "min_rtt_us"
	keyLost   = "retrans_ratio"
)

// keys in the order of the messages; a set of them has a bit for each.
var keys = [...]string{keyStart, keyPoP, keyPrefix, keyN, keyRate, keyRTT, keyLost}

const required = 1<<4 - 1 // the first four

// decoder reads lines. PoPs and prefixes come again in each window: both are looked
// up by their text.
type decoder struct {
	kept     History
	line     int
	popOf    map[string]uint32
	prefixOf map[string]record.Prefix
}

func newDecoder(windowSeconds int64) *decoder {
	return &decoder{kept: History{window: windowSeconds}, popOf: map[string]uint32{}, prefixOf: map[string]record.Prefix{}}
}

func (d *decoder) history() *History {
	d.kept.sort()
	return &d.kept
}

// add reads one line; an empty one counts as a line and holds nothing.
func (d *decoder) add(line []byte) error {
	d.line++
	if line = bytes.TrimSpace(line); len(line) == 0 {
		return nil
	}
	r, err := d.read(line)
	if err != nil {
		return err
	}
	d.kept.rows = append(d.kept.rows, r)
	return nil
}

func (d *decoder) read(line []byte) (row, error) {
	r := row{line: uint32(d.line), lost: unknown}
	seen := 0
	err := eachField(line, func(key, value []byte) error {
		i := keyIndex(key)
		switch {
		case i < 0:
			return strict.Fault{Field: shortened(key), Problem: "unknown key", Fix: "known are " + strings.Join(keys[:], ", ")}
		case seen&(1<<i) != 0:
			return strict.Fault{Field: keys[i], Problem: "set twice", Fix: "keep one"}
		case 1<<i > required && string(value) == "null":
			return nil // as if it were not there
		}
		seen |= 1 << i
		return d.set(&r, keys[i], value)
	})
	if err == nil {
		err = whole(seen, r.n)
	}
	if f, ok := err.(strict.Fault); ok {
		f.Line = d.line
		return row{}, f
	}
	return r, err
}

// whole returns which key is missing. A window without an eligible connection has no rate.
func whole(seen int, n uint32) error {
	for i, key := range keys {
		if seen&(1<<i) == 0 && (required&(1<<i) != 0 || key == keyRate && n > 0) {
			return strict.Fault{Field: key, Problem: "missing", Fix: "write it on each line"}
		}
	}
	return nil
}

func keyIndex(key []byte) int {
	for i, k := range keys {
		if k == string(key) {
			return i
		}
	}
	return -1
}

func (d *decoder) set(r *row, key string, value []byte) (err error) {
	switch key {
	case keyStart:
		r.start, err = d.start(value)
	case keyPoP:
		r.pop, err = d.pop(value)
	case keyPrefix:
		r.prefix, err = d.prefix(value)
	case keyN:
		r.n, err = count(value)
	case keyRate:
		r.rate, err = number(key, value, math.MaxFloat32, "write bytes per second, 0 or more")
	case keyRTT:
		r.rttUs, err = number(key, value, math.MaxUint32, "write microseconds, 0 to 4294967295; leave it out if unknown")
	case keyLost:
		r.lost, err = number(key, value, 1, "write a share of 1, as 0.02 for 2 %; leave it out if unknown")
	}
	return err
}

func (d *decoder) start(value []byte) (int64, error) {
	v, err := strconv.ParseInt(string(value), 10, 64)
	w := d.kept.window
	switch {
	case err != nil || v < 0 || v/w >= math.MaxUint32:
		return 0, bad(keyStart, value, "not a time", "write whole Unix seconds, without quotes")
	case v%w != 0:
		return 0, bad(keyStart, value, fmt.Sprintf("not a multiple of the window of %d s", w), fmt.Sprintf("write %d", v-v%w))
	}
	return v, nil
}

func (d *decoder) pop(value []byte) (uint32, error) {
	name, ok := text(value)
	if !ok || !sayable(name) {
		return 0, bad(keyPoP, value, "not a name", "write 1 to 64 characters in quotes, without line breaks")
	}
	i, had := d.popOf[string(name)]
	if !had {
		i = uint32(len(d.kept.pops))
		d.popOf[string(name)] = i
		d.kept.pops = append(d.kept.pops, string(name))
	}
	return i, nil
}

// sayable: a name that a table can show on its line.
func sayable(name []byte) bool {
	n := utf8.RuneCount(name)
	return n > 0 && n <= 64 && utf8.Valid(name) && bytes.IndexFunc(name, func(r rune) bool { return !unicode.IsPrint(r) }) < 0
}

func (d *decoder) prefix(value []byte) (record.Prefix, error) {
	name, ok := text(value)
	if !ok {
		return 0, bad(keyPrefix, value, "not a network", `write it in quotes, as "203.0.113.0/24"`)
	}
	if p, had := d.prefixOf[string(name)]; had {
		return p, nil
	}
	p, err := record.ParsePrefix(string(name))
	if err != nil {
		return 0, strict.Fault{Field: keyPrefix, Problem: err.Error(), Fix: prefixFix(err)}
	}
	d.prefixOf[string(name)] = p
	return p, nil
}

// prefixFix avoids repeating what most refusals already say.
func prefixFix(err error) string {
	if strings.Contains(err.Error(), "netip.") {
		return "write a /24 of IPv4 or a /56 of IPv6"
	}
	return ""
}

func count(value []byte) (uint32, error) {
	v, err := strconv.ParseUint(string(value), 10, 32)
	if err != nil {
		return 0, bad(keyN, value, "not a number of connections", "write a whole number, 0 to 4294967295")
	}
	return uint32(v), nil
}

func number(key string, value []byte, most float64, fix string) (float64, error) {
	v, err := strconv.ParseFloat(string(value), 64)
	if err != nil || !(v >= 0 && v <= most) {
		return 0, bad(key, value, "out of bounds or not a number", fix)
	}
	return v, nil
}

// text unquotes a JSON string.
func text(value []byte) ([]byte, bool) {
	if value[0] != '"' {
		return nil, false
	}
	if inner := value[1 : len(value)-1]; bytes.IndexByte(inner, '\\') < 0 {
		return inner, true
	}
	var s string
	err := json.Unmarshal(value, &s)
	return []byte(s), err == nil
}

func bad(key string, value []byte, problem, fix string) error {
	if s, ok := text(value); ok {
		value = s
	}
	return strict.Fault{Field: key, Value: shortened(value), Problem: problem, Fix: fix}
}

// shortened returns the first 80 bytes of a value, for a message.
func shortened(b []byte) string {
	if len(b) > 80 {
		return string(b[:80]) + "..."
	}
	return string(b)
}
