package wire

import (
	"encoding/binary"
	"fmt"
	"net/netip"
	"strings"
	"unicode/utf8"
	"unsafe"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/congctl/congctl/internal/core/record"
)

// Numbers of the fields of message Conn that are no scalars of record.Conn.
const (
	numLocal      = 6
	numRemote     = 7
	numLocalPort  = 8
	numRemotePort = 9
	numPrefix     = 10
	numInfo       = 11
	numBBR        = 12
	numCong       = 13
)

// Encode appends c as a message Conn and gives the longer slice. It allocates
// only when dst is short. Addresses lose an IPv6 zone, which no client has.
func Encode(dst []byte, c *record.Conn) []byte {
	dst = connLayout.append(dst, unsafe.Pointer(c))
	dst = appendAddr(dst, numLocal, numLocalPort, c.Local)
	dst = appendAddr(dst, numRemote, numRemotePort, c.Remote)
	dst = appendPrefix(dst, c.Prefix)
	dst = appendNested(dst, numInfo, infoLayout, unsafe.Pointer(&c.Info))
	dst = appendNested(dst, numBBR, bbrLayout, unsafe.Pointer(&c.BBR))
	return appendString(dst, numCong, c.Cong)
}

func appendAddr(b []byte, num, numPort protowire.Number, a netip.AddrPort) []byte {
	switch addr := a.Addr().Unmap(); {
	case addr.Is4():
		raw := addr.As4()
		b = protowire.AppendTag(b, num, protowire.BytesType)
		b = protowire.AppendBytes(b, raw[:])
	case addr.Is6():
		raw := addr.As16()
		b = protowire.AppendTag(b, num, protowire.BytesType)
		b = protowire.AppendBytes(b, raw[:])
	}
	if a.Port() != 0 {
		b = protowire.AppendTag(b, numPort, protowire.VarintType)
		b = protowire.AppendVarint(b, uint64(a.Port()))
	}
	return b
}

// appendPrefix writes the network's own bytes: their count says the length.
func appendPrefix(b []byte, p record.Prefix) []byte {
	if !p.Valid() {
		return b
	}
	var raw [8]byte
	binary.BigEndian.PutUint64(raw[:], uint64(p))
	network := raw[:7]
	if p.Is4() {
		network = raw[4:7]
	}
	b = protowire.AppendTag(b, numPrefix, protowire.BytesType)
	return protowire.AppendBytes(b, network)
}

// appendNested writes a message whose length is not known yet: it leaves room
// for one byte of length, and moves the body when that was too little.
func appendNested(b []byte, num protowire.Number, l *layout, p unsafe.Pointer) []byte {
	start := len(b)
	b = append(protowire.AppendTag(b, num, protowire.BytesType), 0)
	body := len(b)
	b = l.append(b, p)
	n := len(b) - body
	if n == 0 {
		return b[:start]
	}
	if more := protowire.SizeVarint(uint64(n)) - 1; more > 0 {
		b = append(b, make([]byte, more)...)
		copy(b[body+more:], b[body:body+n])
	}
	protowire.AppendVarint(b[:body-1], uint64(n))
	return b
}

func appendString(b []byte, num protowire.Number, s string) []byte {
	if s == "" {
		return b
	}
	if !utf8.ValidString(s) {
		s = strings.ToValidUTF8(s, "\ufffd") // else no other reader takes the message
	}
	b = protowire.AppendTag(b, num, protowire.BytesType)
	return protowire.AppendString(b, s)
}

// Decode reads a message Conn into c, all of it: a field that is not sent
// becomes zero. Unknown fields are skipped. It takes whatever a protobuf writer
// may send and refuses the rest, with the field's name.
func Decode(b []byte, c *record.Conn) error {
	*c = record.Conn{}
	d := connDecoder{conn: c}
	if err := walk(b, d.field); err != nil {
		return fmt.Errorf("decode conn: %w", err)
	}
	c.Local = netip.AddrPortFrom(d.local, d.localPort)
	c.Remote = netip.AddrPortFrom(d.remote, d.remotePort)
	return nil
}

// walk calls do with each field of a message; do gives the length of its value,
// or -1 for a field that it does not know.
func walk(b []byte, do func(b []byte, num protowire.Number, wire protowire.Type) (int, error)) error {
	for len(b) > 0 {
		num, wire, n := protowire.ConsumeTag(b)
		if n < 0 {
			return fmt.Errorf("tag: %w", protowire.ParseError(n))
		}
		if num > protowire.MaxValidNumber {
			return fmt.Errorf("tag: field number %d is above %d", num, protowire.MaxValidNumber)
		}
		b = b[n:]
		n, err := do(b, num, wire)
		if err != nil {
			return err
		}
		if n < 0 {
			if n = protowire.ConsumeFieldValue(num, wire, b); n < 0 {
				return fmt.Errorf("field number %d: %w", num, protowire.ParseError(n))
			}
		}
		b = b[n:]
	}
	return nil
}

type connDecoder struct {
	conn                  *record.Conn
	local, remote         netip.Addr
	localPort, remotePort uint16
}

func (d *connDecoder) field(b []byte, num protowire.Number, wire protowire.Type) (int, error) {
	n, known, err := connLayout.consume(b, num, wire, unsafe.Pointer(d.conn))
	if known || err != nil {
		return n, err
	}
	switch {
	case wire == protowire.VarintType && num == numLocalPort:
		return consumePort(b, "local_port", &d.localPort)
	case wire == protowire.VarintType && num == numRemotePort:
		return consumePort(b, "remote_port", &d.remotePort)
	case wire == protowire.BytesType:
		return d.bytesField(b, num)
	}
	return -1, nil
}

func consumePort(b []byte, name string, port *uint16) (int, error) {
	v, n := protowire.ConsumeVarint(b)
	if n < 0 || v > 0xffff {
		return 0, fmt.Errorf("field %s: %d is no port", name, v)
	}
	*port = uint16(v)
	return n, nil
}

func (d *connDecoder) bytesField(b []byte, num protowire.Number) (n int, err error) {
	raw, n := protowire.ConsumeBytes(b)
	if n < 0 {
		return 0, fmt.Errorf("field number %d: %w", num, protowire.ParseError(n))
	}
	switch num {
	case numLocal:
		err = setAddr(&d.local, raw, "local")
	case numRemote:
		err = setAddr(&d.remote, raw, "remote")
	case numPrefix:
		err = setPrefix(&d.conn.Prefix, raw)
	case numInfo:
		err = infoLayout.decode(raw, unsafe.Pointer(&d.conn.Info))
	case numBBR:
		err = bbrLayout.decode(raw, unsafe.Pointer(&d.conn.BBR))
	case numCong:
		err = setCong(&d.conn.Cong, raw)
	}
	return n, err
}

func (l *layout) decode(b []byte, p unsafe.Pointer) error {
	return walk(b, func(b []byte, num protowire.Number, wire protowire.Type) (int, error) {
		n, known, err := l.consume(b, num, wire, p)
		if !known {
			n = -1
		}
		return n, err
	})
}

func setAddr(a *netip.Addr, raw []byte, name string) error {
	addr, ok := netip.AddrFromSlice(raw)
	if !ok && len(raw) > 0 {
		return fmt.Errorf("field %s: %d bytes; an address has 4 or 16", name, len(raw))
	}
	*a = addr.Unmap()
	return nil
}

func setPrefix(p *record.Prefix, raw []byte) error {
	var full [8]byte
	switch len(raw) {
	case 0:
		*p = 0
		return nil
	case 3:
		copy(full[4:], raw)
		full[7] = 24
	case 7:
		copy(full[:], raw)
		full[7] = 56
	}
	*p = record.Prefix(binary.BigEndian.Uint64(full[:]))
	if !p.Valid() || (len(raw) == 3) != p.Is4() {
		return fmt.Errorf("field prefix: % x; want 3 bytes of an IPv4 /24 or 7 of an IPv6 /56 outside ::/32", raw)
	}
	return nil
}

// setCong makes no new string for the congestion controls that hosts really run.
func setCong(s *string, raw []byte) error {
	for _, name := range [...]string{"cubic", "bbr", "reno", "dctcp", "bbr3", "vegas"} {
		if string(raw) == name {
			*s = name
			return nil
		}
	}
	if !utf8.Valid(raw) {
		return fmt.Errorf("field cong: %q is not UTF-8", raw)
	}
	*s = string(raw)
	return nil
}
