package netns

import (
	"context"
	"fmt"
	"net"
	"net/netip"
)

// Listen announces on an address of the namespace; the listener and what it
// accepts can be used from anywhere. lc may be nil.
func (n *NS) Listen(ctx context.Context, lc *net.ListenConfig, addr netip.AddrPort) (l net.Listener, err error) {
	if lc == nil {
		lc = &net.ListenConfig{}
	}
	err = n.Do(func() (err error) {
		l, err = lc.Listen(ctx, "tcp", addr.String())
		return err
	})
	return l, err
}

// Dial connects from the namespace. local may be the zero value: any address. The
// address is a literal, so that the resolver, which has goroutines of its own, is
// not asked.
func (n *NS) Dial(ctx context.Context, local netip.Addr, to netip.AddrPort) (c net.Conn, err error) {
	var d net.Dialer
	if local.IsValid() {
		d.LocalAddr = net.TCPAddrFromAddrPort(netip.AddrPortFrom(local, 0))
	}
	err = n.Do(func() (err error) {
		c, err = d.DialContext(ctx, "tcp", to.String())
		return err
	})
	return c, err
}

// Dialer is Dial in the shape of http.Transport.DialContext.
func (n *NS) Dialer(local netip.Addr) func(ctx context.Context, network, addr string) (net.Conn, error) {
	return func(ctx context.Context, _, addr string) (net.Conn, error) {
		to, err := netip.ParseAddrPort(addr)
		if err != nil {
			return nil, fmt.Errorf("dial from namespace: %w: names are not resolved here", err)
		}
		return n.Dial(ctx, local, to)
	}
}
