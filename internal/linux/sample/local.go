package sample

// The addresses that a namespace delivers to itself: a connection from one of them comes from this
// host. They are those of its links, in whatever table (VRFs have one of their own), and what its
// table "local" has besides: `ip route add local 192.0.2.0/24 dev lo` makes a whole network local.
// Local routes of other tables are not for all packets (TPROXY has a default route there).
//
// A dump of a few dozen routes is cheaper than a question for each connection. Where the kernel
// cannot filter a dump by table (before 4.20), or the table is huge, each address is asked for.
//
// Source: inet_dump_fib() in net/ipv4/fib_frontend.c, inet6_dump_fib() in net/ipv6/ip6_fib.c.

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"

	"golang.org/x/sys/unix"

	"github.com/congctl/congctl/internal/tcp/inetdiag"
)

// maxLocal is how many local networks of one namespace are kept, in some 5 MB. A host has dozens. A
// variable for tests.
var maxLocal = 1 << 16

// localBytes is what the kernel fills at once for a reader that asks for no more. There may be thousands
// of namespaces.
const localBytes = 8 << 10

// local is what one namespace delivers to itself.
type local struct {
	sock *socket // NETLINK_ROUTE, opened inside; nil before the first reading
	seq  uint32
	nets map[netip.Prefix]bool
	bits [2][129]bool // lengths of those in nets, IPv4 and IPv6
	asks bool         // each address is asked for
}

// ReadLocal reads anew which addresses are local, in every namespace of the set.
func (s *Namespaces) ReadLocal() (err error) {
	for _, n := range s.open {
		if e := n.readLocal(); e != nil {
			err = errors.Join(err, fmt.Errorf("read local addresses of network namespace %s: %w", n.Name, e))
		}
	}
	return err
}

// Local reports whether this namespace delivered packets to an address to itself when it was last
// read.
func (n *Namespace) Local(a netip.Addr) bool {
	a = a.Unmap().WithZone("")
	if n.local.asks {
		return n.local.ask(a)
	}
	family := 0
	if a.Is6() {
		family = 1
	}
	for bits := a.BitLen(); bits >= 0; bits-- {
		if !n.local.bits[family][bits] {
			continue
		}
		if p, _ := a.Prefix(bits); n.local.nets[p] {
			return true
		}
	}
	return false
}

func (n *Namespace) readLocal() error {
	l := &n.local
	if l.sock == nil {
		if err := n.Inside(l.open); err != nil {
			return err
		}
	}
	if l.asks {
		return nil
	}
	again, err := l.dump()
	if again && err == nil { // an address came or went meanwhile
		_, err = l.dump()
	}
	return err
}

func (l *local) open() error {
	fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.NETLINK_ROUTE)
	if err != nil {
		return fmt.Errorf("open netlink socket: %w", err)
	}
	if err := unix.Connect(fd, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}); err != nil {
		unix.Close(fd)
		return fmt.Errorf("connect netlink socket: %w", err)
	}
	l.asks = unix.SetsockoptInt(fd, unix.SOL_NETLINK, unix.NETLINK_GET_STRICT_CHK, 1) != nil
	if l.sock, err = socketOn(fd, silence); err == nil {
		l.sock.grow(localBytes)
	}
	return err
}

func (l *local) close() error {
	if l.sock == nil {
		return nil
	}
	err := l.sock.close()
	l.sock = nil
	return err
}

// dump makes nets new. again: it changed while it was read.
func (l *local) dump() (again bool, err error) {
	l.nets, l.bits = map[netip.Prefix]bool{}, [2][129]bool{}
	table := func(family byte) []byte {
		return []byte{family, 0, 0, 0, unix.RT_TABLE_LOCAL, 0, 0, 0, 0, 0, 0, 0}
	}
	for _, q := range []struct {
		kind uint16
		data []byte
	}{
		{unix.RTM_GETADDR, make([]byte, unix.SizeofIfAddrmsg)},
		{unix.RTM_GETROUTE, table(unix.AF_INET)},
		{unix.RTM_GETROUTE, table(unix.AF_INET6)},
	} {
		changed, err := l.exchange(q.kind, unix.NLM_F_DUMP, q.data, func(p netip.Prefix) {
			if len(l.nets) < maxLocal {
				l.nets[p] = true
				l.bits[p.Addr().BitLen()/128][p.Bits()] = true
			} else {
				l.asks = true
			}
		})
		if err != nil {
			return false, err
		}
		again = again || changed
	}
	if l.asks {
		l.nets = nil
	}
	return again, nil
}

// ask asks how a packet to one address would go. Of a namespace that is gone each is local: there
// is nobody left to be its client.
func (l *local) ask(a netip.Addr) (yes bool) {
	if l.sock == nil {
		return true
	}
	family := byte(unix.AF_INET)
	if a.Is6() {
		family = unix.AF_INET6
	}
	b := a.AsSlice()
	req := []byte{family, byte(a.BitLen()), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}
	req = binary.NativeEndian.AppendUint16(req, uint16(unix.SizeofRtAttr+len(b)))
	req = binary.NativeEndian.AppendUint16(req, unix.RTA_DST)
	_, err := l.exchange(unix.RTM_GETROUTE, unix.NLM_F_ACK, append(req, b...), func(netip.Prefix) { yes = true })
	return yes && err == nil
}

// exchange sends one request and calls each for every local network in its answer.
func (l *local) exchange(kind, flags uint16, data []byte, each func(netip.Prefix)) (changed bool, err error) {
	l.seq++
	h := inetdiag.Header{Type: kind, Flags: unix.NLM_F_REQUEST | flags, Seq: l.seq}
	if err := l.sock.send(inetdiag.AppendMessage(nil, h, data)); err != nil {
		return false, fmt.Errorf("send request: %w", err)
	}
	for {
		b, size, err := l.sock.read()
		if err == nil && size > len(b) {
			l.sock.grow(size) // for the next time
			err = unix.EMSGSIZE
		}
		if err != nil {
			return changed, fmt.Errorf("read answer: %w", err)
		}
		for len(b) > 0 {
			m, rest, err := inetdiag.Next(b)
			if err != nil {
				return changed, fmt.Errorf("read answer: %w", err)
			}
			b = rest
			switch {
			case m.Seq != l.seq: // of an exchange that broke off
			case m.Type == inetdiag.TypeDone || m.Type == inetdiag.TypeError:
				return changed, absent(m)
			default:
				changed = changed || m.Flags&inetdiag.FlagDumpIntr != 0
				if p, ok := localNet(m.Type, m.Data); ok {
					each(p)
				}
			}
		}
	}
}

// absent is the error at an answer's end. There may be no table yet, or no IPv6: nothing is local then.
func absent(m inetdiag.Message) error {
	errno, ok := m.Errno()
	switch err := unix.Errno(errno); {
	case !ok || errno == 0:
		return nil
	case errors.Is(err, unix.ENOENT), errors.Is(err, unix.EAFNOSUPPORT), errors.Is(err, unix.EOPNOTSUPP):
		return nil
	default:
		return err
	}
}

// localNet decodes one answer: a struct ifaddrmsg or rtmsg, and attributes.
func localNet(kind uint16, b []byte) (p netip.Prefix, ok bool) {
	switch {
	case kind == unix.RTM_NEWADDR && len(b) >= unix.SizeofIfAddrmsg:
		attrs := b[unix.SizeofIfAddrmsg:]
		a, ok := address(attrs, unix.IFA_LOCAL)
		if !ok { // of a link without a peer IPv6 sends only this
			a, ok = address(attrs, unix.IFA_ADDRESS)
		}
		return netip.PrefixFrom(a, a.BitLen()), ok
	case kind == unix.RTM_NEWROUTE && len(b) >= unix.SizeofRtMsg:
		if t := b[7]; t != unix.RTN_LOCAL && t != unix.RTN_ANYCAST {
			return p, false
		}
		a, ok := address(b[unix.SizeofRtMsg:], unix.RTA_DST)
		if !ok && b[1] == 0 { // the default route has no destination
			if a, ok = netip.IPv4Unspecified(), true; b[0] == unix.AF_INET6 {
				a = netip.IPv6Unspecified()
			}
		}
		p, err := a.Prefix(int(b[1]))
		return p, ok && err == nil
	}
	return p, false
}

// address finds an attribute that is one.
func address(attrs []byte, kind uint16) (netip.Addr, bool) {
	for len(attrs) >= unix.SizeofRtAttr {
		n := int(binary.NativeEndian.Uint16(attrs))
		if n < unix.SizeofRtAttr || n > len(attrs) {
			break
		}
		if binary.NativeEndian.Uint16(attrs[2:]) == kind {
			return netip.AddrFromSlice(attrs[unix.SizeofRtAttr:n])
		}
		attrs = attrs[min((n+3)&^3, len(attrs)):]
	}
	return netip.Addr{}, false
}
