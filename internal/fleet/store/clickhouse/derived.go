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

// derivation says which column nearly is plus - minus. minus may be none. Both are stored themselves.
type derivation struct{ name, plus, minus string }

var derivations = []derivation{
	{"win_bytes_acked", "win_bytes_sent", "win_bytes_retrans"},
	{"win_counted_bytes_acked", "win_counted_bytes_sent", "win_counted_bytes_retrans"},
	{"info_bytes_sent", "win_bytes_sent", ""},
	{"info_bytes_acked", "win_bytes_sent", "win_bytes_retrans"},
	{"info_bytes_retrans", "win_bytes_retrans", ""},
	{"info_bytes_received", "win_bytes_received", ""},
	{"info_busy_time_us", "win_busy_us", ""},
	{"info_rwnd_limited_us", "win_rwnd_limited_us", ""},
	{"info_data_segs_out", "info_segs_out", ""},
	{"info_delivered_segs", "info_segs_out", "info_total_retrans_segs"},
	{"info_lost_segs", "info_total_retrans_segs", ""},
	{"info_segs_in", "info_segs_out", ""},
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
			list[i] = newRest(c, named[d.plus], named[d.minus])
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
	return fmt.Sprintf("`%s` %s ALIAS to%[2]s(%[3]s + %[1]s%[4]s)", c.name(), c.kind(), d.sum(), restOf)
}

// rest computes what is left from the column itself; c is of the rest.
func (d *derivation) rest(c column) string {
	return fmt.Sprintf("to%s(%s - %s)", c.kind(), d.name, d.sum())
}

// rest is the column of what is left of a derived one.
type rest[T uint32 | uint64, S int32 | int64] struct {
	*direct[S]
	of, plus, minus *T // minus may be nil
}

func newRest(of, plus, minus column) column {
	switch of := of.(type) {
	case *direct[uint32]:
		return restFrom[uint32, int32](of, "Int32", plus, minus)
	case *direct[uint64]:
		return restFrom[uint64, int64](of, "Int64", plus, minus)
	}
	panic("column " + of.name() + " is derived and of a kind without a rest: " + of.kind())
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
