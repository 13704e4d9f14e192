package wire

import (
	"encoding/binary"
	"fmt"
	"net/netip"
	"strings"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"github.com/congctl/congctl/internal/loop/store/wire/congctlv1"
	"github.com/congctl/congctl/internal/tcp/inetdiag"
	"github.com/congctl/congctl/internal/tcp/record"
)

// message is room for a Conn and its parts. It is filled again for the next record, so
// that many cost no memory.
type message struct {
	conn congctlv1.Conn
	info congctlv1.TcpInfo
	bbr  congctlv1.BbrInfo
}

// fill puts c into the message. Addresses lose an IPv6 zone, which no client has.
func (m *message) fill(c *record.Conn) {
	send(connPairs, &m.conn, c)
	m.conn.Local, m.conn.LocalPort = appendAddr(m.conn.Local[:0], c.Local), uint32(c.Local.Port())
	m.conn.Remote, m.conn.RemotePort = appendAddr(m.conn.Remote[:0], c.Remote), uint32(c.Remote.Port())
	m.conn.Prefix = appendPrefix(m.conn.Prefix[:0], c.Prefix)
	m.conn.Cong = valid(c.Cong)
	m.conn.Info, m.conn.Bbr = nil, nil
	if c.Info != (inetdiag.TCPInfo{}) {
		send(infoPairs, &m.info, &c.Info)
		m.conn.Info = &m.info
	}
	if c.BBR != (inetdiag.BBRInfo{}) {
		send(bbrPairs, &m.bbr, &c.BBR)
		m.conn.Bbr = &m.bbr
	}
}

// append adds c as one element of Batch.conns.
func (m *message) append(b []byte, c *record.Conn) ([]byte, error) {
	m.fill(c)
	b = protowire.AppendTag(b, numConns, protowire.BytesType)
	b = protowire.AppendVarint(b, uint64(proto.Size(&m.conn)))
	return proto.MarshalOptions{UseCachedSize: true}.MarshalAppend(b, &m.conn)
}

func appendAddr(b []byte, a netip.AddrPort) []byte {
	b, _ = a.Addr().Unmap().WithZone("").AppendBinary(b) // never an error
	return b
}

// appendPrefix writes the network's own bytes: their count is the length.
func appendPrefix(b []byte, p record.Prefix) []byte {
	switch {
	case !p.Valid():
		return b
	case p.Is4():
		return binary.BigEndian.AppendUint64(b, uint64(p)<<32)[:3]
	}
	return binary.BigEndian.AppendUint64(b, uint64(p))[:7]
}

// valid replaces what is not UTF-8: else no protobuf reader takes the message.
func valid(s string) string { return strings.ToValidUTF8(s, "\ufffd") }

// Decode reads a message Conn into c, all of it: a field that is not sent
// becomes zero. Unknown fields are skipped. It refuses what no record can hold, with the
// field's name.
func Decode(b []byte, c *record.Conn) error {
	var m congctlv1.Conn
	err := known.Unmarshal(b, &m)
	if err == nil {
		err = take(&m, c)
	}
	if err != nil {
		return fmt.Errorf("decode conn: %w", err)
	}
	return nil
}

// take is the inverse of fill.
func take(m *congctlv1.Conn, c *record.Conn) (err error) {
	*c = record.Conn{Cong: m.Cong}
	if err = receive(connPairs, c, m); err != nil {
		return err
	}
	if c.Local, err = addrPort("local", m.Local, m.LocalPort); err != nil {
		return err
	}
	if c.Remote, err = addrPort("remote", m.Remote, m.RemotePort); err != nil {
		return err
	}
	if c.Prefix, err = prefixOf(m.Prefix); err != nil {
		return err
	}
	if m.Info != nil {
		err = receive(infoPairs, &c.Info, m.Info)
	}
	if m.Bbr != nil && err == nil {
		err = receive(bbrPairs, &c.BBR, m.Bbr)
	}
	return err
}

func addrPort(name string, raw []byte, port uint32) (netip.AddrPort, error) {
	addr, ok := netip.AddrFromSlice(raw)
	if !ok && len(raw) > 0 {
		return netip.AddrPort{}, fmt.Errorf("field %s: %d bytes; an address has 4 or 16", name, len(raw))
	}
	if port > 0xffff {
		return netip.AddrPort{}, fmt.Errorf("field %s_port: %d is no port", name, port)
	}
	return netip.AddrPortFrom(addr.Unmap(), uint16(port)), nil
}

func prefixOf(raw []byte) (record.Prefix, error) {
	var full [8]byte
	switch len(raw) {
	case 0:
		return 0, nil
	case 3:
		copy(full[4:], raw)
		full[7] = 24
	case 7:
		copy(full[:], raw)
		full[7] = 56
	}
	p := record.Prefix(binary.BigEndian.Uint64(full[:]))
	if !p.Valid() || (len(raw) == 3) != p.Is4() {
		return 0, fmt.Errorf("field prefix: % x; want 3 bytes of an IPv4 /24 or 7 of an IPv6 /56 outside ::/32", raw)
	}
	return p, nil
}
