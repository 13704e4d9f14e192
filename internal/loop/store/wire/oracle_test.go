package wire

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"net/netip"
	"reflect"
	"slices"

	"google.golang.org/protobuf/proto"

	"github.com/congctl/congctl/internal/answer/foreign"
	"github.com/congctl/congctl/internal/loop/store/wire/congctlv1"
	"github.com/congctl/congctl/internal/tcp/inetdiag"
	"github.com/congctl/congctl/internal/tcp/record"
)

// asMessage is the slow, obvious way from a record to its message: one line for
// each field, written by hand, against which the layouts are held.
func asMessage(c *record.Conn) *congctlv1.Conn {
	return &congctlv1.Conn{
		Netns: uint64(c.Netns), Cookie: uint64(c.Cookie), Window: c.Window, AtNs: c.AtNs, End: congctlv1.End(c.End),
		Local: c.Local.Addr().AsSlice(), Remote: c.Remote.Addr().AsSlice(),
		LocalPort: uint32(c.Local.Port()), RemotePort: uint32(c.Remote.Port()), Prefix: prefixBytes(c.Prefix),
		Info: infoMessage(&c.Info), Bbr: bbrMessage(&c.BBR), Cong: c.Cong,
		RateBytesPerS: c.RateBytesPerS, RateSource: congctlv1.RateSource(c.RateSource),
		Passive: c.Passive, ClientFacing: c.ClientFacing, PreStart: c.PreStart, Mptcp: c.MPTCP, DefaultCong: c.DefaultCong,
		HasBbr: c.HasBBR, InfoFromClose: c.InfoFromClose, Carryover: c.Carryover,
		Assigned: congctlv1.Arm(c.Assigned), Applied: congctlv1.Applied(c.Applied), Plan: uint64(c.Plan), Crossings: c.Crossings,
		CrossedNs: c.CrossedNs, SwitchedNs: c.SwitchedNs,
		WinBytesAcked: c.WinBytesAcked, WinBytesSent: c.WinBytesSent, WinBytesRetrans: c.WinBytesRetrans,
		WinBytesReceived: c.WinBytesReceived, WinElapsedUs: c.WinElapsedUs, WinBusyUs: c.WinBusyUs,
		WinRwndLimitedUs: c.WinRwndLimitedUs, WinSndbufUs: c.WinSndbufUs,
		WinRateSamples: c.WinRateSamples, WinLimitedSamples: c.WinLimitedSamples,
		WinCountedBytesAcked: c.WinCountedBytesAcked, WinCountedBytesSent: c.WinCountedBytesSent,
		WinCountedBytesRetrans: c.WinCountedBytesRetrans, WinCountedBusyUs: c.WinCountedBusyUs,
		WinEpisodes: c.WinEpisodes, WinLateSamples: c.WinLateSamples, LateBytesPerS: c.LateBytesPerS, Capped: c.Capped, Weight: c.Weight, Client: uint32(c.Client),
	}
}

func prefixBytes(p record.Prefix) []byte {
	b := binary.BigEndian.AppendUint64(nil, uint64(p))
	switch {
	case p == 0:
		return nil
	case p.Is4():
		return b[4:7]
	}
	return b[:7]
}

func infoMessage(t *inetdiag.TCPInfo) *congctlv1.TcpInfo {
	if *t == (inetdiag.TCPInfo{}) {
		return nil
	}
	return &congctlv1.TcpInfo{
		LenBytes: uint32(t.Len), State: uint32(t.State), CaState: uint32(t.CaState), Retransmits: uint32(t.Retransmits),
		Probes: uint32(t.Probes), Backoff: uint32(t.Backoff), Options: uint32(t.Options),
		SndWscale: uint32(t.SndWscale), RcvWscale: uint32(t.RcvWscale),
		DeliveryRateAppLimited: t.DeliveryRateAppLimited, FastopenClientFail: uint32(t.FastopenClientFail),
		RtoUs: t.RtoUs, AtoUs: t.AtoUs, SndMssBytes: t.SndMss, RcvMssBytes: t.RcvMss,
		UnackedSegs: t.Unacked, SackedSegs: t.Sacked, LostSegs: t.Lost, RetransSegs: t.Retrans, FacketsSegs: t.Fackets,
		LastDataSentMs: t.LastDataSentMs, LastAckSentMs: t.LastAckSentMs, LastDataRecvMs: t.LastDataRecvMs, LastAckRecvMs: t.LastAckRecvMs,
		PmtuBytes: t.Pmtu, RcvSsthreshBytes: t.RcvSsthresh, RttUs: t.RttUs, RttvarUs: t.RttvarUs,
		SndSsthreshSegs: t.SndSsthresh, SndCwndSegs: t.SndCwnd, AdvmssBytes: t.Advmss, ReorderingSegs: t.Reordering,
		RcvRttUs: t.RcvRttUs, RcvSpaceBytes: t.RcvSpace, TotalRetransSegs: t.TotalRetrans,
		PacingRateBytesPerS: t.PacingRate, MaxPacingRateBytesPerS: t.MaxPacingRate,
		BytesAcked: t.BytesAcked, BytesReceived: t.BytesReceived, SegsOut: t.SegsOut, SegsIn: t.SegsIn,
		NotsentBytes: t.NotsentBytes, MinRttUs: t.MinRttUs, DataSegsIn: t.DataSegsIn, DataSegsOut: t.DataSegsOut,
		DeliveryRateBytesPerS: t.DeliveryRate, BusyTimeUs: t.BusyTimeUs, RwndLimitedUs: t.RwndLimitedUs, SndbufLimitedUs: t.SndbufLimitedUs,
		DeliveredSegs: t.Delivered, DeliveredCeSegs: t.DeliveredCe, BytesSent: t.BytesSent, BytesRetrans: t.BytesRetrans,
		DsackDups: t.DsackDups, ReordSeen: t.ReordSeen, RcvOoopackSegs: t.RcvOoopack, SndWndBytes: t.SndWnd, RcvWndBytes: t.RcvWnd,
		Rehash: t.Rehash, TotalRto: uint32(t.TotalRto), TotalRtoRecoveries: uint32(t.TotalRtoRecoveries), TotalRtoTimeMs: t.TotalRtoTimeMs,
		ReceivedCeSegs: t.ReceivedCe, DeliveredE1Bytes: t.DeliveredE1Bytes, DeliveredE0Bytes: t.DeliveredE0Bytes,
		DeliveredCeBytes: t.DeliveredCeBytes, ReceivedE1Bytes: t.ReceivedE1Bytes, ReceivedE0Bytes: t.ReceivedE0Bytes,
		ReceivedCeBytes: t.ReceivedCeBytes, AccecnFailMode: uint32(t.AccecnFailMode), AccecnOptSeen: uint32(t.AccecnOptSeen),
	}
}

func bbrMessage(i *inetdiag.BBRInfo) *congctlv1.BbrInfo {
	if *i == (inetdiag.BBRInfo{}) {
		return nil
	}
	return &congctlv1.BbrInfo{BwBytesPerS: i.BwBytesPerS, MinRttUs: i.MinRttUs, PacingGain: i.PacingGain, CwndGain: i.CwndGain}
}

// anyConn is a record with each field set by chance, over its whole range; a
// fifth of them stays zero.
func anyConn(rng *rand.Rand) *record.Conn {
	c := &record.Conn{}
	setScalars(rng, reflect.ValueOf(c).Elem())
	c.End, c.RateSource = record.End(rng.IntN(3)), record.RateSource(rng.IntN(3))
	c.Assigned, c.Applied = record.Arm(rng.IntN(6)), record.Applied(rng.IntN(12))
	c.Info.Len = rng.IntN(400)
	c.Cong = []string{"", "cubic", "bbr", "westwood", "größe"}[rng.IntN(5)]
	c.Local, c.Remote = anyAddr(rng), anyAddr(rng)
	c.Prefix, _ = record.PrefixOf(anyAddr(rng).Addr())
	if rng.IntN(4) == 0 {
		c.BBR = inetdiag.BBRInfo{}
	}
	if rng.IntN(8) == 0 {
		c.Info = inetdiag.TCPInfo{}
	}
	return c
}

func setScalars(rng *rand.Rand, v reflect.Value) {
	for i := range v.NumField() {
		f := v.Field(i)
		bits := rng.Uint64() >> rng.IntN(64)
		if rng.IntN(5) == 0 {
			bits = 0
		}
		switch f.Kind() {
		case reflect.Bool:
			f.SetBool(bits&1 == 1)
		case reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
			f.SetUint(bits & (math.MaxUint64 >> (64 - f.Type().Bits())))
		case reflect.Int64:
			f.SetInt(int64(bits))
		case reflect.Float64:
			f.SetFloat(rng.NormFloat64() * 1e6)
		case reflect.Struct:
			if f.Type() != reflect.TypeFor[netip.AddrPort]() {
				setScalars(rng, f)
			}
		}
	}
}

func anyAddr(rng *rand.Rand) netip.AddrPort {
	var b [16]byte
	binary.LittleEndian.PutUint64(b[:], rng.Uint64())
	binary.LittleEndian.PutUint64(b[8:], rng.Uint64())
	addr := netip.AddrFrom16(b)
	switch rng.IntN(5) {
	case 0:
		addr = netip.Addr{}
	case 1, 2:
		addr = netip.AddrFrom4([4]byte(b[:4]))
	}
	return netip.AddrPortFrom(addr, uint16(rng.Uint32()))
}

// slowDecode is Decode by the library's message and reflection.
func slowDecode(b []byte, c *record.Conn) (err error) {
	var m congctlv1.Conn
	if err := proto.Unmarshal(b, &m); err != nil {
		return err
	}
	*c = record.Conn{Cong: m.Cong}
	if foreign.Cut(m.Cong, maxCong) != m.Cong {
		return errors.New("no name of a congestion control")
	}
	if c.Local, err = slowAddr(m.Local, m.LocalPort); err != nil {
		return err
	}
	if c.Remote, err = slowAddr(m.Remote, m.RemotePort); err != nil {
		return err
	}
	if c.Prefix, err = prefixOf(m.Prefix); err != nil {
		return err
	}
	err = receive(connPairs, reflect.ValueOf(c), reflect.ValueOf(&m))
	if m.Info != nil {
		err = errors.Join(err, receive(infoPairs, reflect.ValueOf(&c.Info), reflect.ValueOf(m.Info)))
	}
	if m.Bbr != nil {
		err = errors.Join(err, receive(bbrPairs, reflect.ValueOf(&c.BBR), reflect.ValueOf(m.Bbr)))
	}
	return err
}

func slowAddr(raw []byte, port uint32) (netip.AddrPort, error) {
	addr, ok := netip.AddrFromSlice(raw)
	if !ok && len(raw) > 0 || port > 0xffff {
		return netip.AddrPort{}, errors.New("no address")
	}
	return netip.AddrPortFrom(addr.Unmap(), uint16(port)), nil
}

func receive(list []pair, to, message reflect.Value) error {
	for _, p := range list {
		field, sent := to.Elem().Field(p.field), message.Elem().Field(p.message)
		switch {
		case sent.Kind() == reflect.Bool:
			field.SetBool(sent.Bool())
		case sent.CanFloat():
			field.SetFloat(sent.Float())
		case p.last > 0 && uint64(sent.Int()) > uint64(p.last):
			if !p.lenient {
				return fmt.Errorf("field %s: no such number", p.name)
			}
			field.SetUint(uint64(p.last))
		case field.CanInt() && sent.CanInt():
			field.SetInt(sent.Int())
		case field.CanInt():
			field.SetInt(int64(sent.Uint()))
		case sent.CanInt():
			field.SetUint(uint64(sent.Int()))
		case field.OverflowUint(sent.Uint()):
			return fmt.Errorf("field %s: too large", p.name)
		default:
			field.SetUint(sent.Uint())
		}
	}
	return nil
}

// slowHeader is the way from a message to a header by the library, which takes texts that are too long or no UTF-8, and
// names twice.
func slowHeader(b []byte, h *Header) error {
	var m congctlv1.Batch
	if err := (proto.UnmarshalOptions{DiscardUnknown: true}).Unmarshal(b, &m); err != nil {
		return err
	}
	if n := len(m.BootId); n > 0 && n != len(h.Boot) {
		return errors.New("no boot id")
	}
	copy(h.Boot[:], m.BootId)
	h.Host, h.PoP, h.Sequence, h.CongctlVersion = m.Host, m.Pop, m.Sequence, foreign.Cut(m.CongctlVersion, maxWord)
	for _, e := range m.WindowEnds {
		end := WindowEnd{Start: e.Start, Unknown: foreign.Cut(e.Unknown, foreign.MaxText), Starved: foreign.Cut(e.Starved, foreign.MaxText)}
		for _, c := range e.DefaultCongs {
			if !slices.Contains(end.DefaultCongs, c) {
				end.DefaultCongs = append(end.DefaultCongs, c)
			}
		}
		h.Ends = append(h.Ends, end)
	}
	return nil
}
