package route

import (
	"net/netip"

	"golang.org/x/sys/unix"
)

// appendAttr adds one attribute, padded.
func appendAttr(b []byte, typ uint16, v []byte) []byte {
	b = native.AppendUint16(b, uint16(4+len(v)))
	b = native.AppendUint16(b, typ)
	b = append(b, v...)
	for len(b)%4 != 0 {
		b = append(b, 0)
	}
	return b
}

func appendNumber(b []byte, typ uint16, v uint32) []byte {
	return appendAttr(b, typ, native.AppendUint32(nil, v))
}

func familyOf(a netip.Addr) uint8 {
	if a.Is4() {
		return unix.AF_INET
	}
	return unix.AF_INET6
}

// encode writes e for RTM_NEWROUTE.
func encode(e entry) []byte {
	b := appendRtmsg(nil, e, e.scope)
	b = appendAttr(b, unix.RTA_DST, e.dst.Addr().AsSlice())
	b = appendNumber(b, unix.RTA_PRIORITY, e.metric)
	if e.src.IsValid() {
		b = appendAttr(b, unix.RTA_PREFSRC, e.src.AsSlice())
	}
	b = appendAttr(b, unix.RTA_METRICS, e.metricBytes())
	switch {
	case e.nhid != 0:
		return appendNumber(b, rtaNextHopID, e.nhid)
	case len(e.hops) == 1:
		return appendHop(b, e.dst.Addr(), e.hops[0], true)
	}
	return appendAttr(b, unix.RTA_MULTIPATH, multipathBytes(e))
}

// encodeKey names e for RTM_DELROUTE: network, metric and owner, whatever its next
// hops are by now. Scope "nowhere" is any.
func encodeKey(e entry) []byte {
	e.hops = nil
	b := appendRtmsg(nil, e, unix.RT_SCOPE_NOWHERE)
	b = appendAttr(b, unix.RTA_DST, e.dst.Addr().AsSlice())
	return appendNumber(b, unix.RTA_PRIORITY, e.metric)
}

func appendRtmsg(b []byte, e entry, scope uint8) []byte {
	var flags uint32
	if len(e.hops) == 1 && e.hops[0].onlink {
		flags = unix.RTNH_F_ONLINK
	}
	b = append(b, familyOf(e.dst.Addr()), uint8(e.dst.Bits()), 0, 0, unix.RT_TABLE_MAIN, e.proto, scope, e.kind)
	return native.AppendUint32(b, flags)
}

func appendHop(b []byte, dst netip.Addr, h hop, dev bool) []byte {
	switch {
	case h.gw.IsValid() && h.gw.Is4() == dst.Is4():
		b = appendAttr(b, unix.RTA_GATEWAY, h.gw.AsSlice())
	case h.gw.IsValid():
		b = appendAttr(b, unix.RTA_VIA, append(native.AppendUint16(nil, uint16(familyOf(h.gw))), h.gw.AsSlice()...))
	}
	if dev {
		b = appendNumber(b, unix.RTA_OIF, uint32(h.dev))
	}
	if h.realm != 0 {
		b = appendNumber(b, unix.RTA_FLOW, h.realm)
	}
	return b
}

func multipathBytes(e entry) (b []byte) {
	for _, h := range e.hops {
		var flags uint8
		if h.onlink {
			flags = unix.RTNH_F_ONLINK
		}
		start := len(b)
		b = append(b, 0, 0, flags, h.weight)
		b = native.AppendUint32(b, uint32(h.dev))
		b = appendHop(b, e.dst.Addr(), h, false)
		native.PutUint16(b[start:], uint16(len(b)-start))
	}
	return b
}

func (e entry) metricBytes() (b []byte) {
	for typ, v := range e.values {
		if v != 0 {
			b = appendNumber(b, uint16(typ), v)
		}
	}
	if e.cong != "" {
		b = appendAttr(b, unix.RTAX_CC_ALGO, append([]byte(e.cong), 0))
	}
	return b
}
