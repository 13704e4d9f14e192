package inetdiag

// Decode overwrites one Sock from one message: a fixed 72-byte head, then attributes as
// (u16 length, u16 type, payload, padding to 4), each with a known shape or skipped. It
// copies nothing twice and allocates nothing.
//
// Source: struct inet_diag_msg, enum INET_DIAG_*, include/uapi/linux/inet_diag.h.

import (
	"errors"
	"fmt"
	"net/netip"
)

// MsgLen is sizeof(struct inet_diag_msg), bytes.
const MsgLen = 72

// ErrSocket means that a message is not a whole inet_diag_msg with whole attributes. The
// Sock then holds what came before the fault.
var ErrSocket = errors.New("socket message is malformed")

// INET_DIAG_*: attribute types of a reply. 1 to 8 can be asked for by Request.Ext.
const (
	attrMem       = 1
	attrInfo      = 2
	attrVegas     = 3
	attrCong      = 4
	attrTOS       = 5
	attrTClass    = 6
	attrSKMem     = 7
	attrShutdown  = 8
	attrDCTCP     = 9
	attrProtocol  = 10
	attrV6Only    = 11
	attrPad       = 14
	attrMark      = 15
	attrBBR       = 16
	attrClassID   = 17
	attrMD5Sig    = 18 // holds the keys: never decoded
	attrULP       = 19
	attrStorages  = 20
	attrCgroupID  = 21
	attrSockOpt   = 22
	attrTypeMask  = 0x3fff // without NLA_F_NESTED and NLA_F_NET_BYTEORDER
	attrHeaderLen = 4
)

// Decode reads the payload of one socket message (TypeByFamily, TypeGetSock)
// into s, overwriting it. Storage points into msg. Errors wrap ErrSocket.
func Decode(msg []byte, s *Sock) error {
	if len(msg) < MsgLen {
		return fmt.Errorf("%w: %d bytes, inet_diag_msg has %d", ErrSocket, len(msg), MsgLen)
	}
	*s = Sock{} // reading a field without asking Has returns zero, never a neighbour's value
	if err := s.head((*[MsgLen]byte)(msg)); err != nil {
		return err
	}
	return s.attrs(msg[MsgLen:])
}

func (s *Sock) head(b *[MsgLen]byte) error {
	s.Family, s.State, s.Timer, s.Retrans = b[0], b[1], b[2], b[3]
	sport, dport := uint16(b[4])<<8|uint16(b[5]), uint16(b[6])<<8|uint16(b[7]) // network order
	s.Interface = le.Uint32(b[40:])
	s.Cookie = uint64(le.Uint32(b[48:]))<<32 | uint64(le.Uint32(b[44:]))
	s.ExpiresMs, s.Rqueue, s.Wqueue = le.Uint32(b[52:]), le.Uint32(b[56:]), le.Uint32(b[60:])
	s.UID, s.Inode = le.Uint32(b[64:]), le.Uint32(b[68:])
	switch s.Family {
	case FamilyInet:
		s.Local = netip.AddrPortFrom(netip.AddrFrom4([4]byte(b[8:])), sport)
		s.Remote = netip.AddrPortFrom(netip.AddrFrom4([4]byte(b[24:])), dport)
	case FamilyInet6:
		s.Local = netip.AddrPortFrom(netip.AddrFrom16([16]byte(b[8:])), sport)
		s.Remote = netip.AddrPortFrom(netip.AddrFrom16([16]byte(b[24:])), dport)
	default:
		return fmt.Errorf("%w: idiag_family %d is neither AF_INET (2) nor AF_INET6 (10)", ErrSocket, s.Family)
	}
	return nil
}

func (s *Sock) attrs(b []byte) error {
	for len(b) >= attrHeaderLen {
		kind, data, rest, ok := nextAttr(b)
		if !ok {
			return fmt.Errorf("%w: attribute %d of length %d with %d bytes left", ErrSocket, kind, le.Uint16(b), len(b))
		}
		if !s.attr(kind, data) {
			return fmt.Errorf("%w: attribute %d has only %d bytes", ErrSocket, kind, len(data))
		}
		b = rest
	}
	if len(b) != 0 {
		return fmt.Errorf("%w: %d bytes after the last attribute", ErrSocket, len(b))
	}
	return nil
}

func nextAttr(b []byte) (kind uint16, data, rest []byte, ok bool) {
	n := int(le.Uint16(b))
	kind = le.Uint16(b[2:]) & attrTypeMask
	if n < attrHeaderLen || n > len(b) {
		return kind, nil, nil, false
	}
	return kind, b[attrHeaderLen:n], b[min(align4(n), len(b)):], true
}

// attr reports false if the payload is too short to mean anything.
func (s *Sock) attr(kind uint16, b []byte) bool {
	switch kind {
	case attrInfo:
		s.Info.decode(b)
		s.Has |= HasInfo
	case attrCong:
		s.Cong = congFrom(b)
		s.Has |= HasCong
	case attrBBR:
		return part(s, &s.BBR, b, HasBBR)
	case attrShutdown:
		return number(s, &s.Shutdown, b, HasShutdown)
	case attrTOS:
		return number(s, &s.TOS, b, HasTOS)
	case attrTClass:
		return number(s, &s.TClass, b, HasTClass)
	case attrV6Only:
		var v uint8
		ok := number(s, &v, b, HasV6Only)
		s.V6Only = v != 0
		return ok
	case attrSKMem:
		return part(s, &s.SKMem, b, HasSKMem)
	case attrMark:
		return number(s, &s.Mark, b, HasMark)
	case attrClassID:
		return number(s, &s.ClassID, b, HasClassID)
	case attrCgroupID:
		return number(s, &s.CgroupID, b, HasCgroupID)
	case attrSockOpt:
		return number(s, &s.SockOpt, b, HasSockOpt)
	case attrMem:
		return part(s, &s.Mem, b, HasMem)
	case attrVegas:
		return part(s, &s.Vegas, b, HasVegas)
	case attrDCTCP:
		return part(s, &s.DCTCP, b, HasDCTCP)
	case attrULP:
		return s.ulp(b)
	case attrStorages:
		return s.storages(b)
	case attrProtocol, attrPad, attrMD5Sig:
	default:
		s.Has |= HasUnknown
	}
	return true
}
