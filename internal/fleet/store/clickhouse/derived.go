package clickhouse

import (
	"fmt"
	"net/netip"
	"strings"
	"unsafe"
)

// The idea: much of a record nearly follows from the rest of it. What a connection that lives in one window sent in it is
// what it sent in its life, and all that was not retransmitted was acknowledged. Each column is a file of its own, so no
// codec sees that. So of a derived column the table stores what is left when others are taken away, most of it zeros,
// and has the column itself as an ALIAS, which SQL of anyone reads under its name. Arithmetic wraps on both
// sides, so each value comes back whatever it was.

// derivation says which column nearly is plus / per - minus. minus may be none, per 0 is 1. Where 0 is never, the
// column is a time before plus. A whole one is stored as two, see whole.go.
type derivation struct {
	name, plus, minus string
	per               uint64
	never, whole      bool
}

// segmentBytes is what most segments carry.
const segmentBytes = 1448

var derivations = []derivation{
	{name: "crossed_ns", plus: "at_ns", minus: "win_counted_busy_us", never: true},
	{name: "info_snd_ssthresh_segs", plus: "info_snd_cwnd_segs", never: true},
	{name: "win_bytes_acked", plus: "win_bytes_sent", minus: "win_bytes_retrans"},
	{name: "win_counted_bytes_acked", plus: "win_counted_bytes_sent", minus: "win_counted_bytes_retrans"},
	{name: "info_bytes_sent", plus: "win_bytes_sent"},
	{name: "info_bytes_acked", plus: "win_bytes_sent", minus: "win_bytes_retrans"},
	{name: "info_bytes_retrans", plus: "win_bytes_retrans"},
	{name: "info_bytes_received", plus: "win_bytes_received"},
	{name: "info_busy_time_us", plus: "win_busy_us"},
	{name: "info_rwnd_limited_us", plus: "win_rwnd_limited_us"},
	{name: "info_data_segs_out", plus: "info_segs_out"},
	{name: "info_delivered_segs", plus: "info_segs_out", minus: "info_total_retrans_segs"},
	{name: "info_lost_segs", plus: "info_total_retrans_segs"},
	{name: "info_segs_in", plus: "info_segs_out"},
	{name: "switched_ns", plus: "at_ns", never: true},

	{name: "info_segs_out", plus: "win_bytes_sent", per: segmentBytes},
	{name: "info_total_retrans_segs", plus: "win_bytes_retrans", per: segmentBytes},
	{name: "win_elapsed_us", plus: "win_busy_us"},
	{name: "info_rtt_us", plus: "info_min_rtt_us"},
	{name: "win_busy_us", whole: true},
	{name: "win_counted_busy_us", whole: true},
	{name: "win_rwnd_limited_us", whole: true},
	{name: "rate_bytes_per_s", plus: "win_rate_samples", whole: true},
	{name: "remote", plus: "prefix"},
}

// restOf ends the names of stored rests.
const restOf = "_rest"

// stored are the columns that rows are written to: in place of each derived one its rest.
func (r *row) stored() (list []column) {
	columns := r.columns()
	named := map[string]column{}
	for _, c := range columns {
		named[c.name()] = c
	}
	for _, c := range columns {
		d := derivationOf(c.name())
		switch {
		case d == nil:
			list = append(list, c)
		case d.whole:
			list = append(list, newWhole(c, d, named)...)
		default:
			list = append(list, newRest(c, d, named))
		}
	}
	return list
}

func derivationOf(name string) *derivation {
	for i := range derivations {
		if derivations[i].name == name {
			return &derivations[i]
		}
	}
	return nil
}

// sum is what the column nearly is, of what term makes of names.
func (d *derivation) sum(term func(string) string) string {
	sum := term(d.plus)
	if d.per > 0 {
		sum = fmt.Sprintf("intDiv(%s, %d)", sum, d.per)
	}
	if d.minus == "" {
		return sum
	}
	return "(" + sum + " - " + term(d.minus) + ")"
}

// time is what a time is before; minus is in microseconds.
func (d *derivation) time(term func(string) string) string {
	if d.minus == "" {
		return d.plus
	}
	return fmt.Sprintf("(%s - toInt64(%s * 1000))", d.plus, term(d.minus))
}

// alias defines the column itself.
func (d *derivation) alias(c column) string {
	return fmt.Sprintf("`%s` %s ALIAS %s", d.name, c.kind(), d.value(c))
}

// value is the column of what is stored alone: not all servers take an alias in an alias. What it nearly is has its kind.
func (d *derivation) value(c column) string {
	rest := d.name + restOf
	term := func(name string) string {
		if of := derivationOf(name); of != nil {
			return "(" + of.value(c) + ")"
		}
		return name
	}
	switch {
	case d.whole:
		return wholeValue(d, c)
	case d.name == "remote":
		return remoteValue
	case d.name == thresholdName:
		return thresholdValue
	case d.never:
		return fmt.Sprintf("multiIf(%s = 0, 0, %[1]s = %[2]s, %[2]s, %[2]s - %[1]s)", rest, d.time(term))
	}
	return fmt.Sprintf("to%s(%s + %s)", c.kind(), d.sum(term), rest)
}

// parts compute what is stored from the column itself.
func (d *derivation) parts(c column) []string {
	plain := func(name string) string { return name }
	switch {
	case d.whole:
		return wholeParts(d, c)
	case d.name == "remote":
		return []string{fmt.Sprintf(`multiIf(remote = %s, '', remote = '', '\0', remote)`, prefixAddress)}
	case d.name == thresholdName:
		return []string{thresholdPart}
	case d.never:
		return []string{fmt.Sprintf("multiIf(%s = 0, 0, %[1]s = %s, %[2]s, %[2]s - %[1]s)", d.name, d.time(plain))}
	}
	return []string{fmt.Sprintf("to%s(%s - %s)", strings.TrimPrefix(c.kind(), "U"), d.name, d.sum(plain))}
}

// rest is the column of what is left of a derived one.
type rest[T uint32 | uint64, S int32 | int64] struct {
	*direct[S]
	of, plus, minus *T // minus may be nil
}

func newRest(of column, d *derivation, named map[string]column) column {
	switch of := of.(type) {
	case *converted[netip.AddrPort, string]:
		return newRemote(of, named[d.plus].(*direct[uint64]).at)
	case *direct[uint32]:
		if d.never {
			return &threshold{plain(d.name+restOf, "Int64", new(int64), false), of.at, named[d.plus].(*direct[uint32]).at}
		}
		if d.per > 0 {
			return &segments{plain(d.name+restOf, "Int32", new(int32), false), of.at, named[d.plus].(*direct[uint64]).at, d.per}
		}
		return restFrom[uint32, int32](of, "Int32", named[d.plus], named[d.minus])
	case *direct[uint64]:
		return restFrom[uint64, int64](of, "Int64", named[d.plus], named[d.minus])
	case *direct[int64]:
		if d.never {
			c := &ago{direct: plain(d.name+restOf, "Int64", new(int64), false), of: of.at, plus: named[d.plus].(*direct[int64]).at}
			if d.minus != "" {
				c.minus = named[d.minus].(*direct[uint64]).at
			}
			return c
		}
	}
	panic("column " + d.name + " is derived and of a kind without a rest: " + of.kind())
}

// segments is what a count of segments has beyond those that some bytes fill.
type segments struct {
	*direct[int32]
	of    *uint32
	bytes *uint64
	per   uint64
}

func (c *segments) keep(r rows) {
	list := c.more(r.n)
	of, bytes := r.field(unsafe.Pointer(c.of)), r.field(unsafe.Pointer(c.bytes))
	for i := range list {
		at := uintptr(i) * r.size
		list[i] = int32(*(*uint32)(unsafe.Add(of, at)) - uint32(*(*uint64)(unsafe.Add(bytes, at))/c.per))
	}
}

// ago is how long a time lies before another one; 0 stays 0, and what would be 0 is the time itself.
type ago struct {
	*direct[int64]
	of, plus *int64
	minus    *uint64 // microseconds that plus is less; nil for none
}

func (c *ago) keep(r rows) {
	list := c.more(r.n)
	of, plus := r.field(unsafe.Pointer(c.of)), r.field(unsafe.Pointer(c.plus))
	for i := range list {
		at := uintptr(i) * r.size
		of, plus := *(*int64)(unsafe.Add(of, at)), *(*int64)(unsafe.Add(plus, at))
		if c.minus != nil {
			plus -= int64(*(*uint64)(unsafe.Add(r.field(unsafe.Pointer(c.minus)), at)) * 1000)
		}
		switch of {
		case 0:
			list[i] = 0
		case plus:
			list[i] = plus
		default:
			list[i] = plus - of
		}
	}
}

func restFrom[T uint32 | uint64, S int32 | int64](of *direct[T], kind string, plus, minus column) column {
	c := &rest[T, S]{direct: plain(of.name()+restOf, kind, new(S), false), of: of.at, plus: plus.(*direct[T]).at}
	if minus != nil {
		c.minus = minus.(*direct[T]).at
	}
	return c
}

func (c *rest[T, S]) keep(r rows) {
	list := c.more(r.n)
	of, plus := r.field(unsafe.Pointer(c.of)), r.field(unsafe.Pointer(c.plus))
	for i := range list {
		at := uintptr(i) * r.size
		list[i] = S(*(*T)(unsafe.Add(of, at)) - *(*T)(unsafe.Add(plus, at)))
	}
	if c.minus == nil {
		return
	}
	minus := r.field(unsafe.Pointer(c.minus))
	for i := range list {
		list[i] += S(*(*T)(unsafe.Add(minus, uintptr(i)*r.size)))
	}
}
