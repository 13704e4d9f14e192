package agent

import (
	"net/netip"

	"github.com/congctl/congctl/internal/core/ranges"
	"github.com/congctl/congctl/internal/core/record"
)

// Clients rules which connections are client-facing: accepted here, from a remote
// that is neither special (loopback, private, link-local ...) nor excluded. Allow
// lets special ranges in; Exclude beats Allow.
type Clients struct{ Allow, Exclude []netip.Prefix }

// Facing is Rooms.ClientFacing. Own addresses need no list: a connection to
// oneself has a loopback or a local remote, and what is local is the remote of
// another local socket, caught by remote == local.
func (c Clients) Facing(_ record.NetnsID, local, remote netip.AddrPort, passive bool) bool {
	if !passive {
		return false
	}
	a := remote.Addr().Unmap()
	if a == local.Addr().Unmap() || within(c.Exclude, a) {
		return false
	}
	if _, special := ranges.SpecialAddr(a); special {
		return within(c.Allow, a)
	}
	return true
}

func within(nets []netip.Prefix, a netip.Addr) bool {
	for _, n := range nets {
		if n.Contains(a) {
			return true
		}
	}
	return false
}
