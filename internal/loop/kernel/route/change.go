package route

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
)

// A change is a transaction by hand, for netlink has none: read, compare, apply,
// read again, and take everything back when a step is refused. Between the removal
// of a copy and its successor packets take the real route, the same way: a gap costs
// no packet, only a connection that starts in it its treatment.

// table is the kernel's main routing table, or a fake.
type table interface {
	// routes lists those of a family whose head wanted accepts. proto is the one wanted
	// looks for, 0 for any: a hint for the kernel to send less.
	routes(family, proto uint8, wanted func(head) bool) ([]entry, error)
	do(step) error
	// congOf is the congestion control on the kernel's way to addr; local is true
	// for this host's own addresses.
	congOf(addr netip.Addr) (cong string, local bool, err error)
}

// step is one change of the table.
type step struct {
	add bool
	entry
}

func (s step) String() string {
	if s.add {
		return "ip route add " + s.entry.String()
	}
	return "ip route del " + s.entry.String()
}

func (s step) inverse() step { return step{!s.add, s.entry} }

// steps lead from have to want, in the order of want, with the removals that must come
// first.
func steps(have, want []entry) (out []step) {
	stays := make([]bool, len(want))
	at := make(map[netip.Prefix]int, len(want))
	for i, w := range want {
		at[w.dst] = i
	}
	for _, h := range have {
		if i, ok := at[h.dst]; ok && !stays[i] && h.equal(want[i]) {
			stays[i] = true
			continue
		}
		out = append(out, step{false, h})
	}
	for i, w := range want {
		if !stays[i] {
			out = append(out, step{true, w})
		}
	}
	slices.SortStableFunc(out, func(a, b step) int { return compareNets(a.dst, b.dst) })
	return out
}

func compareNets(a, b netip.Prefix) int {
	if c := a.Addr().Compare(b.Addr()); c != 0 {
		return c
	}
	return a.Bits() - b.Bits()
}

// apply does all of todo or nothing. On a refusal it undoes what it did, and reports both
// the refusal and what could not be undone.
func apply(t table, todo []step) error {
	for i, s := range todo {
		if err := t.do(s); err != nil {
			return errors.Join(fmt.Errorf("%s: %w", s, err), undo(t, todo[:i]))
		}
	}
	return nil
}

func undo(t table, done []step) error {
	var errs []error
	for _, s := range slices.Backward(done) {
		if err := t.do(s.inverse()); err != nil {
			errs = append(errs, fmt.Errorf("undo: %s: %w", s.inverse(), err))
		}
	}
	return errors.Join(errs...)
}
