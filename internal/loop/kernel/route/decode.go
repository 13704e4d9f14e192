package route

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"
	"slices"

	"golang.org/x/sys/unix"
)

// A route message is struct rtmsg and then attributes, type-length-value, padded to 4
// bytes (rtnetlink(7), include/uapi/linux/rtnetlink.h). Numbers are in host order. An
// unknown attribute makes a route odd: better not copied than copied in part.

const (
	attrType      = 0x3fff // without the bits nested and byte order
	rtaNextHopID  = 30     // RTA_NH_ID, Linux 5.3
	encapsulation = "an encapsulation"
)

var (
	native   = binary.NativeEndian
	errShort = errors.New("message is truncated")
)

// head is the part of a route message by which a table is searched.
type head struct {
	family, proto uint8
	table, metric uint32
	flags         uint32
	dst           netip.Prefix
}

// eachAttr calls fn for each attribute of b.
func eachAttr(b []byte, fn func(typ uint16, v []byte) error) error {
	for len(b) >= 4 {
		n := int(native.Uint16(b))
		if n < 4 || n > len(b) {
			return errShort
		}
		if err := fn(native.Uint16(b[2:])&attrType, b[4:n]); err != nil {
			return err
		}
		b = b[min(len(b), (n+3)&^3):]
	}
	return nil
}

// decodeHead reads only destination, protocol and metric.
func decodeHead(m []byte) (h head, err error) {
	if len(m) < unix.SizeofRtMsg {
		return h, fmt.Errorf("decode route: %w", errShort)
	}
	h = head{family: m[0], proto: m[5], table: uint32(m[4]), flags: native.Uint32(m[8:])}
	addr := netip.IPv4Unspecified()
	if h.family == unix.AF_INET6 {
		addr = netip.IPv6Unspecified()
	}
	err = eachAttr(m[unix.SizeofRtMsg:], func(typ uint16, v []byte) (err error) {
		switch typ {
		case unix.RTA_DST:
			addr, err = addrOf(v)
		case unix.RTA_TABLE:
			h.table, err = number(v)
		case unix.RTA_PRIORITY:
			h.metric, err = number(v)
		}
		return err
	})
	if err != nil {
		return h, fmt.Errorf("decode route: %w", err)
	}
	if h.dst = netip.PrefixFrom(addr, int(m[1])); !h.dst.IsValid() {
		return h, fmt.Errorf("decode route: %s/%d is not a network", addr, m[1])
	}
	return h, nil
}

// decode reads a whole route.
func decode(m []byte) (entry, error) {
	h, err := decodeHead(m)
	if err != nil {
		return entry{}, err
	}
	e := entry{dst: h.dst, metric: h.metric, proto: h.proto, from: m[2] != 0, tos: m[3], scope: m[6], kind: m[7]}
	single := hop{onlink: h.flags&unix.RTNH_F_ONLINK != 0}
	if err := eachAttr(m[unix.SizeofRtMsg:], func(typ uint16, v []byte) error { return e.attr(&single, typ, v) }); err != nil {
		return e, fmt.Errorf("decode route to %s: %w", e.dst, err)
	}
	if single.dev != 0 && h.flags&unix.RTNH_F_DEAD == 0 && len(e.hops) == 0 {
		e.hops = append(e.hops, single)
	}
	if e.nhid != 0 { // the hops shown are the object's
		e.hops = nil
		if e.odd == encapsulation {
			e.odd = ""
		}
	}
	if len(e.hops) == 1 {
		e.hops[0].weight = 0 // a weight among the living; the kernel keeps none for one
	}
	slices.SortFunc(e.hops, compareHops)
	return e, nil
}

func (e *entry) attr(single *hop, typ uint16, v []byte) (err error) {
	switch typ {
	case unix.RTA_DST, unix.RTA_TABLE, unix.RTA_PRIORITY:
	case unix.RTA_PAD, unix.RTA_CACHEINFO, unix.RTA_EXPIRES, unix.RTA_PREF:
		// Life time and router preference belong to the original, which each Set reads
		// again.
	case unix.RTA_PREFSRC:
		e.src, err = addrOf(v)
	case rtaNextHopID:
		e.nhid, err = number(v)
	case unix.RTA_METRICS:
		return eachAttr(v, e.value)
	case unix.RTA_MULTIPATH:
		return e.multipath(v)
	default:
		return e.hopAttr(single, typ, v)
	}
	return err
}

func (e *entry) value(typ uint16, v []byte) (err error) {
	switch {
	case typ == unix.RTAX_CC_ALGO:
		e.cong = cString(v)
	case int(typ) < len(e.values) && typ > 0:
		e.values[typ], err = number(v)
	default:
		e.odd = fmt.Sprintf("metric %d, which congctl does not know", typ)
	}
	return err
}

func (e *entry) hopAttr(h *hop, typ uint16, v []byte) (err error) {
	switch typ {
	case unix.RTA_OIF:
		var n uint32
		n, err = number(v)
		h.dev = int32(n)
	case unix.RTA_GATEWAY:
		h.gw, err = addrOf(v)
	case unix.RTA_VIA: // an IPv4 network behind an IPv6 gateway: family, then address
		if len(v) < 2 {
			return errShort
		}
		h.gw, err = addrOf(v[2:])
	case unix.RTA_FLOW:
		h.realm, err = number(v)
	case unix.RTA_ENCAP, unix.RTA_ENCAP_TYPE:
		e.odd = encapsulation
	default:
		e.odd = fmt.Sprintf("attribute %d, which congctl does not know", typ)
	}
	return err
}

// multipath reads struct rtnexthop and its attributes, again and again.
func (e *entry) multipath(b []byte) error {
	for len(b) >= unix.SizeofRtNexthop {
		n := int(native.Uint16(b))
		if n < unix.SizeofRtNexthop || n > len(b) {
			return errShort
		}
		h := hop{weight: b[3], dev: int32(native.Uint32(b[4:])), onlink: b[2]&unix.RTNH_F_ONLINK != 0}
		if err := eachAttr(b[unix.SizeofRtNexthop:n], func(typ uint16, v []byte) error { return e.hopAttr(&h, typ, v) }); err != nil {
			return err
		}
		if b[2]&unix.RTNH_F_DEAD == 0 {
			e.hops = append(e.hops, h)
		}
		b = b[min(len(b), (n+3)&^3):]
	}
	return nil
}

func number(v []byte) (uint32, error) {
	if len(v) < 4 {
		return 0, errShort
	}
	return native.Uint32(v), nil
}

func addrOf(v []byte) (netip.Addr, error) {
	a, ok := netip.AddrFromSlice(v)
	if !ok {
		return a, fmt.Errorf("address of %d bytes", len(v))
	}
	return a, nil
}

func cString(v []byte) string {
	if i := slices.Index(v, 0); i >= 0 {
		v = v[:i]
	}
	return string(v)
}
