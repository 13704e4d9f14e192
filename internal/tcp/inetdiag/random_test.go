package inetdiag

import (
	"math/rand/v2"
	"net/netip"
	"reflect"
)

// randomSock fills every field that a message can carry; attributes by mask.
func randomSock(r *rand.Rand, has Attrs) Sock {
	var s Sock
	s.Family, s.State, s.Timer, s.Retrans = FamilyInet6, uint8(1+r.IntN(13)), uint8(r.IntN(5)), uint8(r.IntN(9))
	address := func() netip.AddrPort {
		var a [16]byte
		for i := range a {
			a[i] = byte(r.Uint32())
		}
		return netip.AddrPortFrom(netip.AddrFrom16(a), uint16(r.Uint32()))
	}
	if r.IntN(2) == 0 {
		s.Family = FamilyInet
		address = func() netip.AddrPort {
			v := r.Uint32()
			return netip.AddrPortFrom(netip.AddrFrom4([4]byte{byte(v), byte(v >> 8), byte(v >> 16), byte(v >> 24)}), uint16(r.Uint32()))
		}
	}
	s.Local, s.Remote = address(), address()
	s.Interface, s.Cookie, s.ExpiresMs = r.Uint32(), r.Uint64(), r.Uint32()
	s.Rqueue, s.Wqueue, s.UID, s.Inode = r.Uint32(), r.Uint32(), r.Uint32(), r.Uint32()
	s.Has = has
	for _, part := range []struct {
		has Attrs
		to  any
	}{
		{HasInfo, &s.Info}, {HasBBR, &s.BBR}, {HasVegas, &s.Vegas}, {HasDCTCP, &s.DCTCP}, {HasMem, &s.Mem},
		{HasSKMem, &s.SKMem}, {HasTOS, &s.TOS}, {HasTClass, &s.TClass}, {HasShutdown, &s.Shutdown},
		{HasV6Only, &s.V6Only}, {HasMark, &s.Mark}, {HasCgroupID, &s.CgroupID}, {HasClassID, &s.ClassID},
		{HasSockOpt, &s.SockOpt},
	} {
		if has&part.has != 0 {
			randomFill(r, reflect.ValueOf(part.to).Elem())
		}
	}
	if has&HasInfo != 0 {
		s.Info.Len = TCPInfoLen
		s.Info.SndWscale &= 15
		s.Info.RcvWscale &= 15
		s.Info.FastopenClientFail &= 3
	}
	if has&HasCong != 0 {
		s.Cong = CongOf([]string{"bbr", "cubic", "reno", "a_name_15_chars"}[r.IntN(4)])
	}
	if has&HasULP != 0 {
		s.ULP = ULPInfo{Name: CongOf("mptcp"), MPTCP: true, TLS: r.IntN(2) == 0}
	}
	if has&HasStorage != 0 {
		s.Storage = []byte{1, 2, 3, 4, 5, 6, 7, 8}
	}
	return s
}

func randomFill(r *rand.Rand, v reflect.Value) {
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			randomFill(r, v.Field(i))
		}
	case reflect.Bool:
		v.SetBool(r.IntN(2) == 0)
	case reflect.Int:
	default:
		v.SetUint(r.Uint64() & (1<<v.Type().Bits() - 1))
	}
}
