package enforce

import (
	"errors"
	"fmt"
	"net/netip"

	"github.com/cilium/ebpf"
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

// SetDeny makes nets the whole list of networks that are never treated, whatever a plan
// says. It adds new ones before it removes old ones, so that none is open in between.
func (e *Enforcer) SetDeny(nets []netip.Prefix) error {
	want := make(map[lpmKey]bool, len(nets))
	for _, n := range nets {
		k := lpmKeyOf(n)
		want[k] = true
		if err := e.objs.Deny.Put(k, uint32(1)); err != nil {
			return fmt.Errorf("deny %s: %w", n, err)
		}
		e.denied[k] = true
	}
	for k := range e.denied {
		if want[k] {
			continue
		}
		if err := e.objs.Deny.Delete(k); err != nil && !errors.Is(err, ebpf.ErrKeyNotExist) {
			return fmt.Errorf("allow %s/%d again: %w", netip.AddrFrom16(k.Addr), k.Bits, err)
		}
		delete(e.denied, k)
	}
	return nil
}
