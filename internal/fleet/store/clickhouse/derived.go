package clickhouse

import (
	"fmt"
	"unsafe"
)

// The idea: much of a record nearly follows from the rest of it. What a connection that lives in one window sent in it is
// what it sent in its life, and all that was not retransmitted was acknowledged. Each column is a file of its own, so no
// codec sees that. So of a derived column the table stores what is left when others are taken away, most of it zeros,
// and has the column itself as an ALIAS, which SQL of anyone reads under its name. Arithmetic wraps on both
// sides, so each value comes back whatever it was.

// derivation says which column nearly is plus - minus. minus may be none. Both are stored themselves. Where 0 is never,
// the column is a time before plus.
type derivation struct {
	name, plus, minus string
	never             bool
}

var derivations = []derivation{
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
	{name: "crossed_ns", plus: "at_ns", never: true},
	{name: "switched_ns", plus: "at_ns", never: true},
}

// restOf ends the names of stored rests.
const restOf = "_rest"

// stored are the columns that rows are written to: in place of each derived one its rest.
func (r *row) stored() []column {
	list := r.columns()
	named := map[string]column{}
	for _, c := range list {
		named[c.name()] = c
	}
	for i, c := range list {
		if d := derivationOf(c.name()); d != nil {
			list[i] = newRest(c, d, named)
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

// sum is what the column nearly is.
func (d *derivation) sum() string {
	if d.minus == "" {
		return d.plus
	}
	return "(" + d.plus + " - " + d.minus + ")"
}

// alias defines the column itself.
func (d *derivation) alias(c column) string {
	rest := d.name + restOf
	if d.never {
		return fmt.Sprintf("`%s` %s ALIAS multiIf(%s = 0, 0, %[3]s = %[4]s, %[4]s, %[4]s - %[3]s)", d.name, c.kind(), rest, d.plus)
	}
	return fmt.Sprintf("`%s` %s ALIAS to%[2]s(%s + %s)", d.name, c.kind(), d.sum(), rest)
}

// rest computes what is left from the column itself; c is of the rest.
func (d *derivation) rest(c column) string {
	if d.never {
		return fmt.Sprintf("multiIf(%s = 0, 0, %[1]s = %s, %[2]s, %[2]s - %[1]s)", d.name, d.plus)
	}
	return fmt.Sprintf("to%s(%s - %s)", c.kind(), d.name, d.sum())
}

// rest is the column of what is left of a derived one.
type rest[T uint32 | uint64, S int32 | int64] struct {
	*direct[S]
	of, plus, minus *T // minus may be nil
}

func newRest(of column, d *derivation, named map[string]column) column {
	switch of := of.(type) {
	case *direct[uint32]:
		return restFrom[uint32, int32](of, "Int32", named[d.plus], named[d.minus])
	case *direct[uint64]:
		return restFrom[uint64, int64](of, "Int64", named[d.plus], named[d.minus])
	case *direct[int64]:
		if d.never {
			return &ago{plain(d.name+restOf, "Int64", new(int64), false), of.at, named[d.plus].(*direct[int64]).at}
		}
	}
	panic("column " + d.name + " is derived and of a kind without a rest: " + of.kind())
}

// ago is how long a time lies before another one; 0 stays 0, and what would be 0 is the time itself.
type ago struct {
	*direct[int64]
	of, plus *int64
}

func (c *ago) keep(r rows) {
	list := c.more(r.n)
	of, plus := r.field(unsafe.Pointer(c.of)), r.field(unsafe.Pointer(c.plus))
	for i := range list {
		at := uintptr(i) * r.size
		switch of, plus := *(*int64)(unsafe.Add(of, at)), *(*int64)(unsafe.Add(plus, at)); of {
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
