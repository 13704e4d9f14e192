package agent

import (
	"net/netip"
	"slices"

	"github.com/congctl/congctl/internal/tcp/ranges"
	"github.com/congctl/congctl/internal/tcp/record"
)

// Clients decides which connections are client-facing: accepted here, from a remote that
// is neither special (loopback, private, link-local ...), nor an address of this host, nor
// excluded. Allow admits special ranges and own addresses; Exclude beats Allow.
type Clients struct {
	Allow, Exclude []netip.Prefix
	// Local reports whether a namespace has an address itself; nil: none has any.
	Local func(record.NetnsID, netip.Addr) bool
}

// Facing implements Deps.ClientFacing. An address of another namespace of this host is a
// client's: its packets pass a link, and one container must not hide a network from the others by
// making it its own.
func (c Clients) Facing(ns record.NetnsID, local, remote netip.AddrPort, passive bool) bool {
	if !passive {
		return false
	}
	a := remote.Addr().Unmap()
	if a == local.Addr().Unmap() || within(c.Exclude, a) {
		return false
	}
	_, special := ranges.SpecialAddr(a)
	return within(c.Allow, a) || !special && !(c.Local != nil && c.Local(ns, a))
}

func within(nets []netip.Prefix, a netip.Addr) bool {
	return slices.ContainsFunc(nets, func(n netip.Prefix) bool { return n.Contains(a) })
}
