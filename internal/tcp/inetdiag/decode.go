package inetdiag

// One message in, one Sock overwritten: a fixed 72-byte head, then attributes as
// (u16 length, u16 type, payload, padding to 4), each with a known shape or
// skipped. Nothing is copied twice and nothing allocated; an attribute struct of
// the previous socket is cleared only if this one did not bring its own.
//
// Source: struct inet_diag_msg, enum INET_DIAG_*, include/uapi/linux/inet_diag.h.

import (
	"errors"
	"fmt"
	"net/netip"
)

// MsgLen is sizeof(struct inet_diag_msg), bytes.
const MsgLen = 72

// ErrSocket says that a message is not a whole inet_diag_msg with whole
// attributes. The Sock then holds what came before the fault.
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
	before := s.Has
	s.Has = 0
	err := s.head((*[MsgLen]byte)(msg))
	if err == nil {
		err = s.attrs(msg[MsgLen:])
	}
	if stale := before &^ s.Has; stale != 0 {
		s.clear(stale)
	}
	return err
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
		s.Local, s.Remote = netip.AddrPort{}, netip.AddrPort{}
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

// attr reports false where the payload is too short to mean anything.
func (s *Sock) attr(kind uint16, b []byte) bool {
	switch kind {
	case attrInfo:
		s.Info.decode(b)
		s.Has |= HasInfo
	case attrCong:
		s.Cong = congFrom(b)
		s.Has |= HasCong
	case attrBBR:
		s.BBR.decode(b)
		s.Has |= HasBBR
	case attrShutdown:
		return s.octet(&s.Shutdown, b, HasShutdown)
	case attrTOS:
		return s.octet(&s.TOS, b, HasTOS)
	case attrTClass:
		return s.octet(&s.TClass, b, HasTClass)
	case attrV6Only:
		var v uint8
		ok := s.octet(&v, b, HasV6Only)
		s.V6Only = v != 0
		return ok
	case attrSKMem:
		s.SKMem.decode(b)
		s.Has |= HasSKMem
	case attrMark:
		return s.word(&s.Mark, b, HasMark)
	case attrClassID:
		return s.word(&s.ClassID, b, HasClassID)
	default:
		return s.rareAttr(kind, b)
	}
	return true
}

func (s *Sock) rareAttr(kind uint16, b []byte) bool {
	switch kind {
	case attrCgroupID:
		if len(b) < 8 {
			return false
		}
		s.CgroupID = le.Uint64(b)
		s.Has |= HasCgroupID
	case attrSockOpt:
		if len(b) < 2 {
			return false
		}
		s.SockOpt = SockOpt(le.Uint16(b))
		s.Has |= HasSockOpt
	case attrMem:
		s.Mem.decode(b)
		s.Has |= HasMem
	case attrVegas:
		s.Vegas.decode(b)
		s.Has |= HasVegas
	case attrDCTCP:
		s.DCTCP.decode(b)
		s.Has |= HasDCTCP
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

func (s *Sock) octet(to *uint8, b []byte, has Attrs) bool {
	if len(b) < 1 {
		return false
	}
	*to = b[0]
	s.Has |= has
	return true
}

func (s *Sock) word(to *uint32, b []byte, has Attrs) bool {
	if len(b) < 4 {
		return false
	}
	*to = le.Uint32(b)
	s.Has |= has
	return true
}

// clear zeroes what the socket before this one had and this one has not, so that
// reading a field without asking Has gives zero and never a neighbour's value.
func (s *Sock) clear(stale Attrs) {
	if stale&HasInfo != 0 {
		s.Info = TCPInfo{}
	}
	if stale&HasBBR != 0 {
		s.BBR = BBRInfo{}
	}
	if stale&HasVegas != 0 {
		s.Vegas = VegasInfo{}
	}
	if stale&HasDCTCP != 0 {
		s.DCTCP = DCTCPInfo{}
	}
	if stale&HasCong != 0 {
		s.Cong = Cong{}
	}
	if stale&HasMem != 0 {
		s.Mem = MemInfo{}
	}
	if stale&HasSKMem != 0 {
		s.SKMem = SKMemInfo{}
	}
	if stale&HasULP != 0 {
		s.ULP = ULPInfo{}
	}
	if stale&HasStorage != 0 {
		s.Storage = nil
	}
	s.clearWords(stale)
}

func (s *Sock) clearWords(stale Attrs) {
	if stale&HasTOS != 0 {
		s.TOS = 0
	}
	if stale&HasTClass != 0 {
		s.TClass = 0
	}
	if stale&HasShutdown != 0 {
		s.Shutdown = 0
	}
	if stale&HasV6Only != 0 {
		s.V6Only = false
	}
	if stale&HasMark != 0 {
		s.Mark = 0
	}
	if stale&HasCgroupID != 0 {
		s.CgroupID = 0
	}
	if stale&HasClassID != 0 {
		s.ClassID = 0
	}
	if stale&HasSockOpt != 0 {
		s.SockOpt = 0
	}
}
