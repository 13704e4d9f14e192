package enforce

import (
	"errors"
	"fmt"
	"maps"
	"net/netip"

	"github.com/cilium/ebpf"

	"github.com/congctl/congctl/internal/tcp/abi"
)

// lpmKey is struct lpm_key of bpf/congctl.bpf.c: prefix length of a 128-bit
// address, IPv4 as ::ffff:a.b.c.d.
type lpmKey struct {
	Bits uint32
	Addr [16]byte
}

func lpmKeyOf(n netip.Prefix) lpmKey {
	n = n.Masked()
	k := lpmKey{Bits: uint32(n.Bits()), Addr: n.Addr().As16()}
	if n.Addr().Is4() {
		k.Bits += 96
	}
	return k
}

func (k lpmKey) String() string {
	a, bits := netip.AddrFrom16(k.Addr), int(k.Bits)
	if a.Is4In6() && bits >= 96 {
		a, bits = a.Unmap(), bits-96
	}
	return netip.PrefixFrom(a, bits).String()
}

// SetDeny makes nets the whole list of networks that are never treated, whatever a plan
// says, or changes nothing.
func (e *Enforcer) SetDeny(nets []netip.Prefix) error { return e.deny.set(nets) }

// denyList is the map of the kernel, and what is in it.
type denyList struct {
	m interface {
		Put(key, value any) error
		Delete(key any) error
	}
	in map[lpmKey]bool
}

// set changes the difference only: what is on both lists is denied all the time. On an error it
// goes back to what was in the map, as it remembers it.
func (d *denyList) set(nets []netip.Prefix) error {
	want := make(map[lpmKey]bool, len(nets))
	for _, n := range nets {
		want[lpmKeyOf(n)] = true
	}
	if len(want) > abi.MaxDenied {
		return fmt.Errorf("deny %d networks never to treat: the kernel holds %d: list wider or fewer networks", len(want), abi.MaxDenied)
	}
	before := maps.Clone(d.in)
	err := d.change(want)
	if err == nil {
		return nil
	}
	if back := d.change(before); back != nil {
		err = errors.Join(err, fmt.Errorf("go back to the list before: %w", back))
	}
	return err
}

// change adds as many as there is room for, so that most are denied before others no longer
// are; then it removes; then it adds the rest.
func (d *denyList) change(want map[lpmKey]bool) error {
	for range 2 {
		if err := d.add(want); err != nil {
			return err
		}
		for k := range d.in {
			if want[k] {
				continue
			}
			if err := d.m.Delete(k); err != nil && !errors.Is(err, ebpf.ErrKeyNotExist) {
				return fmt.Errorf("allow %s again: %w", k, err)
			}
			delete(d.in, k)
		}
	}
	return nil
}

func (d *denyList) add(want map[lpmKey]bool) error {
	for k := range want {
		if d.in[k] || len(d.in) == abi.MaxDenied {
			continue
		}
		if err := d.m.Put(k, uint32(1)); err != nil {
			return fmt.Errorf("deny %s: %w", k, err)
		}
		d.in[k] = true
	}
	return nil
}
