package agent

import (
	"net/netip"
	"slices"

	"github.com/congctl/congctl/internal/tcp/ranges"
	"github.com/congctl/congctl/internal/tcp/record"
)

// Clients decides which connections are client-facing: accepted here, from a remote that
// is neither special (loopback, private, link-local ...) nor excluded. Allow admits
// special ranges; Exclude beats Allow.
type Clients struct{ Allow, Exclude []netip.Prefix }

// Facing implements Deps.ClientFacing. Own addresses need no list: a connection to
// oneself has a loopback remote, or a local one, which is the remote of another local
// socket and caught by remote == local.
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
	return slices.ContainsFunc(nets, func(n netip.Prefix) bool { return n.Contains(a) })
}
