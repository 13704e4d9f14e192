package wire

import (
	"encoding/binary"
	"fmt"
	"math"
	"net/netip"
	"unsafe"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/congctl/congctl/internal/answer/foreign"
	"github.com/congctl/congctl/internal/tcp/record"
)

// Fields of the message Conn that are no scalars of record.Conn, by their numbers.
const (
	numLocal, numRemote         = 6, 7
	numLocalPort, numRemotePort = 8, 9
	numPrefix                   = 10
	numInfo, numBBR             = 11, 12
	numCong                     = 13

	isVarint, isBytes = uint64(protowire.VarintType), uint64(protowire.BytesType)
)

// message is room for a Conn and its parts as they are written.
type message struct{ conn, part []byte }

// append adds c as one element of Batch.conns. Addresses lose an IPv6 zone, which no client has.
func (m *message) append(b []byte, c *record.Conn) []byte {
	m.conn = appendConn(m.conn[:0], &m.part, c)
	return appendBytes(b, numConns, m.conn)
}

func appendConn(b []byte, part *[]byte, c *record.Conn) []byte {
	b = appendScalars(b, connSlots, unsafe.Pointer(c))
	b = appendAddr(b, numLocal, numLocalPort, c.Local)
	b = appendAddr(b, numRemote, numRemotePort, c.Remote)
	b = appendPrefix(b, c.Prefix)
	if *part = appendScalars((*part)[:0], infoSlots, unsafe.Pointer(&c.Info)); len(*part) > 0 {
		b = appendBytes(b, numInfo, *part)
	}
	if *part = appendScalars((*part)[:0], bbrSlots, unsafe.Pointer(&c.BBR)); len(*part) > 0 {
		b = appendBytes(b, numBBR, *part)
	}
	if c.Cong != "" {
		b = protowire.AppendString(protowire.AppendTag(b, numCong, protowire.BytesType), foreign.Cut(c.Cong, maxCong))
	}
	return b
}

func appendBytes(b []byte, num protowire.Number, v []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(b, num, protowire.BytesType), v)
}

func appendAddr(b []byte, num, numPort protowire.Number, a netip.AddrPort) []byte {
	switch addr := a.Addr().Unmap(); {
	case addr.Is4():
		raw := addr.As4()
		b = appendBytes(b, num, raw[:])
	case addr.Is6():
		raw := addr.As16()
		b = appendBytes(b, num, raw[:])
	}
	if a.Port() != 0 {
		b = protowire.AppendVarint(protowire.AppendTag(b, numPort, protowire.VarintType), uint64(a.Port()))
	}
	return b
}

// appendPrefix writes the network's own bytes: their count is the length.
func appendPrefix(b []byte, p record.Prefix) []byte {
	var raw [8]byte
	binary.BigEndian.PutUint64(raw[:], uint64(p))
	switch {
	case !p.Valid():
		return b
	case p.Is4():
		return appendBytes(b, numPrefix, raw[4:7])
	}
	return appendBytes(b, numPrefix, raw[:7])
}

// Decode reads a message Conn into c, all of it: a field that is not sent
// becomes zero. Unknown fields are skipped. It refuses what no record can hold, with the
// field's name.
func Decode(b []byte, c *record.Conn) error {
	was := c.Cong
	*c = record.Conn{}
	err := scan(b, connByTag, unsafe.Pointer(c), func(tag, v uint64, raw []byte) (err error) {
		switch tag {
		case numLocal<<3 | isBytes:
			c.Local, err = withAddr("local", c.Local, raw)
		case numRemote<<3 | isBytes:
			c.Remote, err = withAddr("remote", c.Remote, raw)
		case numLocalPort<<3 | isVarint:
			c.Local, err = withPort("local", c.Local, v)
		case numRemotePort<<3 | isVarint:
			c.Remote, err = withPort("remote", c.Remote, v)
		case numPrefix<<3 | isBytes:
			c.Prefix, err = prefixOf(raw)
		case numInfo<<3 | isBytes:
			err = scan(raw, infoByTag, unsafe.Pointer(&c.Info), nil)
		case numBBR<<3 | isBytes:
			err = scan(raw, bbrByTag, unsafe.Pointer(&c.BBR), nil)
		case numCong<<3 | isBytes:
			c.Cong, err = congOf("cong", raw, was)
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("decode conn: %w", err)
	}
	return nil
}

// congOf is was, the record's before this one, where that is the same: most are, and a new string costs an allocation.
func congOf(field string, raw []byte, was string) (string, error) {
	if string(raw) == was {
		return was, nil
	}
	if s := textOf(raw, maxCong); s == string(raw) {
		return s, nil
	}
	return "", fmt.Errorf("field %s: %q; the name of a congestion control has at most %d bytes, all of which can be printed", field, raw[:min(len(raw), maxCong+1)], maxCong)
}

func withAddr(name string, was netip.AddrPort, raw []byte) (netip.AddrPort, error) {
	addr, ok := netip.AddrFromSlice(raw)
	if !ok && len(raw) > 0 {
		return was, fmt.Errorf("field %s: %d bytes; an address has 4 or 16", name, len(raw))
	}
	return netip.AddrPortFrom(addr.Unmap(), was.Port()), nil
}

func withPort(name string, was netip.AddrPort, v uint64) (netip.AddrPort, error) {
	if port := uint32(v); port > math.MaxUint16 {
		return was, fmt.Errorf("field %s_port: %d is no port", name, port)
	}
	return netip.AddrPortFrom(was.Addr(), uint16(v)), nil
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
		return 0, fmt.Errorf("field prefix: % .8x; want 3 bytes of an IPv4 /24 or 7 of an IPv6 /56 outside ::/32", raw)
	}
	return p, nil
}
