package network

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"

	"github.com/congctl/congctl/internal/tcp/ranges"
	"github.com/congctl/congctl/internal/tcp/record"
)

// Named is one operator with its prefixes.
type Named struct {
	Name     string
	Prefixes []netip.Prefix
}

// Table finds the name of a client prefix: that of the longest prefix that holds it. It has one map
// per length, longest first: files have a handful of lengths.
type Table struct {
	names   map[netip.Prefix]string
	lengths [2][]int // of IPv4 and IPv6, descending
}

// Check returns what is wrong with a prefix of a named network; "" for nothing.
func Check(p netip.Prefix) (problem, fix string) {
	client, narrow := ranges.Widened(p)
	switch {
	case !p.IsValid():
		return "not a network", "write one as 203.0.113.0/24 or 2001:db8::/32"
	case p.Addr().Is4In6():
		return "IPv4-mapped", "write it as IPv4"
	case p != p.Masked():
		return "host bits set", "write " + p.Masked().String()
	case narrow:
		return fmt.Sprintf("narrower than a client network (/%d)", client.Bits()), "write " + client.String() + ", or leave it out"
	}
	return "", ""
}

// NewTable returns a table. It refuses a prefix that occurs twice, whose name would depend on the
// order.
func NewTable(list []Named) (*Table, error) {
	t := &Table{names: map[netip.Prefix]string{}}
	for _, n := range list {
		for _, p := range n.Prefixes {
			if problem, fix := Check(p); problem != "" {
				return nil, fmt.Errorf("name network %s: %s: %s; %s", n.Name, p, problem, fix)
			}
			if other, twice := t.names[p]; twice {
				return nil, fmt.Errorf("name network %s: %s: also under %s; keep one", n.Name, p, other)
			}
			t.names[p] = n.Name
			t.addLength(p)
		}
	}
	return t, nil
}

func (t *Table) addLength(p netip.Prefix) {
	l := &t.lengths[family(p.Addr())]
	i, found := slices.BinarySearchFunc(*l, p.Bits(), func(a, b int) int { return cmp.Compare(b, a) })
	if !found {
		*l = slices.Insert(*l, i, p.Bits())
	}
}

func family(a netip.Addr) int {
	if a.Is4() {
		return 0
	}
	return 1
}

// Of returns the name of a client prefix; "" if no named network holds it. A nil table holds none.
func (t *Table) Of(p record.Prefix) string {
	if t == nil || !p.Valid() {
		return ""
	}
	addr := p.Netip().Addr()
	for _, bits := range t.lengths[family(addr)] {
		if n, err := addr.Prefix(bits); err == nil {
			if name, ok := t.names[n]; ok {
				return name
			}
		}
	}
	return ""
}
