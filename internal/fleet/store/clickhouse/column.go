package clickhouse

import (
	"fmt"
	"net/netip"
	"slices"
	"unsafe"
)

// direct is a column whose value ClickHouse has as the row has it.
type direct[T any] struct {
	title, sort string
	distinct    bool
	at          *T
	list        []T
}

func plain[T any](name, kind string, at *T, few bool) *direct[T] {
	return &direct[T]{title: name, sort: kind, distinct: !few, at: at}
}

func (c *direct[T]) name() string { return c.title }
func (c *direct[T]) kind() string { return c.sort }
func (c *direct[T]) few() bool    { return !c.distinct }
func (c *direct[T]) cut(rows int) { c.list = c.list[:rows] }
func (c *direct[T]) values() any  { return c.list }
func (c *direct[T]) into() any    { return c.at }
func (c *direct[T]) take() error  { return nil }

func (c *direct[T]) keep(r rows) {
	at, list := r.field(unsafe.Pointer(c.at)), c.more(r.n)
	for i := range list {
		list[i] = *(*T)(unsafe.Add(at, uintptr(i)*r.size))
	}
}

// more adds room for n values and returns it. A list that is full doubles: append alone would copy it four times as often.
func (c *direct[T]) more(n int) []T {
	was := len(c.list)
	if was+n > cap(c.list) {
		c.list = slices.Grow(c.list, max(n, cap(c.list)))
	}
	c.list = c.list[:was+n]
	return c.list[was:]
}

// rows are some rows in memory, and their model, whose fields columns point to.
type rows struct {
	model, first unsafe.Pointer
	size         uintptr
	n            int
}

// field is where the first row has what is at field in the model.
func (r rows) field(field unsafe.Pointer) unsafe.Pointer {
	return unsafe.Add(r.first, uintptr(field)-uintptr(r.model))
}

// converted is a column of type T whose value the row has as type F.
type converted[F, T any] struct {
	*direct[T]
	row  *F
	to   func(F) T
	from func(T) (F, error)
}

func (c *converted[F, T]) keep(r rows) {
	at, list := r.field(unsafe.Pointer(c.row)), c.more(r.n)
	for i := range list {
		list[i] = c.to(*(*F)(unsafe.Add(at, uintptr(i)*r.size)))
	}
}

func (c *converted[F, T]) take() (err error) {
	*c.row, err = c.from(*c.at)
	return err
}

// addressColumns makes two columns, as the wire has two fields: the address's 4 or 16 bytes, none for
// none, and the port.
func addressColumns(name string, at *netip.AddrPort, few bool) []column {
	addr := &converted[netip.AddrPort, string]{direct: plain(name, "String", new(string), few), row: at}
	var last netip.Addr // a host has few of its own: most need no new string
	var text string
	addr.to = func(a netip.AddrPort) string {
		if a.Addr() != last {
			last, text = a.Addr(), string(a.Addr().AsSlice())
		}
		return text
	}
	addr.from = func(s string) (netip.AddrPort, error) {
		a, ok := netip.AddrFromSlice([]byte(s))
		if !ok && s != "" {
			return netip.AddrPort{}, fmt.Errorf("column %s: %d bytes; an address has 4 or 16", name, len(s))
		}
		return netip.AddrPortFrom(a, 0), nil
	}
	port := &converted[netip.AddrPort, uint16]{direct: plain(name+"_port", "UInt16", new(uint16), false), row: at}
	port.to = netip.AddrPort.Port
	port.from = func(p uint16) (netip.AddrPort, error) { return netip.AddrPortFrom(at.Addr(), p), nil }
	return []column{addr, port}
}
