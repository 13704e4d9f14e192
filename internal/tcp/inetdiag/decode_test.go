package inetdiag

import (
	"errors"
	"math/rand/v2"
	"net/netip"
	"reflect"
	"testing"
)

const hasEverything = HasUnknown<<1 - 1

func TestDecodeUndoesAppend(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	var got Sock // reused, as a dump does: a leftover of the one before would show
	for i := range 3000 {
		has := Attrs(r.Uint32()) & hasEverything
		if i%3 == 0 {
			has = hasEverything
		}
		want := randomSock(r, has)
		if err := Decode(want.Append(nil), &got); err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(got, want) {
			t.Fatalf("round %d:\n got %+v\nwant %+v", i, got, want)
		}
	}
}

// A kernel of another age sends a shorter or longer tcp_info: every field that
// fits is the same, every other is zero, and Len tells which.
func TestTCPInfoOfOtherKernels(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	full := randomSock(r, HasInfo)
	for _, n := range []int{0, 1, 104, 160, 192, 200, 224, 232, 240, 248, 279, 280, 281, 400} {
		s := full
		s.Info.Len = n
		var got Sock
		if err := Decode(s.Append(nil), &got); err != nil {
			t.Fatalf("%d bytes: %v", n, err)
		}
		if got.Info.Len != n || got.Has != HasInfo {
			t.Errorf("%d bytes: Len %d, Has %x", n, got.Info.Len, got.Has)
		}
		for _, f := range []struct {
			name      string
			end       int
			got, want uint64
		}{
			{"SndCwnd", 84, uint64(got.Info.SndCwnd), uint64(full.Info.SndCwnd)},
			{"TotalRetrans", 104, uint64(got.Info.TotalRetrans), uint64(full.Info.TotalRetrans)},
			{"DataSegsOut", 160, uint64(got.Info.DataSegsOut), uint64(full.Info.DataSegsOut)},
			{"SndbufLimitedUs", 192, got.Info.SndbufLimitedUs, full.Info.SndbufLimitedUs},
			{"SndWnd", 232, uint64(got.Info.SndWnd), uint64(full.Info.SndWnd)},
			{"TotalRtoTimeMs", 248, uint64(got.Info.TotalRtoTimeMs), uint64(full.Info.TotalRtoTimeMs)},
			{"AccecnFailMode", 278, uint64(got.Info.AccecnFailMode), uint64(full.Info.AccecnFailMode)},
			{"AccecnOptSeen", 280, uint64(got.Info.AccecnOptSeen), uint64(full.Info.AccecnOptSeen)},
		} {
			if want := f.want; n >= f.end && f.got != want {
				t.Errorf("%d bytes: %s is %d, want %d", n, f.name, f.got, want)
			} else if n <= f.end-8 && f.got != 0 {
				t.Errorf("%d bytes: %s is %d beyond what was sent", n, f.name, f.got)
			}
		}
	}
}

func TestDecodeRefusesBrokenMessages(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	whole := randomSock(r, hasEverything)
	b := whole.Append(nil)
	full := b[:len(b):len(b)]
	refused := 0
	for n := range full {
		var s Sock
		err := Decode(full[:n], &s)
		if err == nil {
			continue // a cut between two attributes is a message with fewer of them
		}
		refused++
		if !errors.Is(err, ErrSocket) {
			t.Fatalf("cut at %d: %v does not wrap ErrSocket", n, err)
		}
	}
	if boundaries := len(full) - refused; boundaries > 2*18 {
		t.Errorf("%d of %d cuts were accepted, at most one per attribute and its padding can be", boundaries, len(full))
	}
	var s Sock
	b = append([]byte(nil), full...)
	b[0] = 1 // AF_UNIX
	if err := Decode(b, &s); !errors.Is(err, ErrSocket) {
		t.Errorf("family 1: %v", err)
	}
	for _, bad := range [][]byte{{3, 0, 2, 0}, {8, 0, attrMark, 0, 1, 2}, {4, 0, attrTOS, 0}, {6, 0, attrMark, 0, 1, 2, 0, 0}, {5, 0, attrCgroupID, 0, 9, 0, 0, 0}, {4, 0, attrSockOpt, 0}, {9, 0, attrULP, 0, 9, 0, 1, 0, 7, 0, 0, 0}} {
		if err := Decode(append(append([]byte(nil), full[:MsgLen]...), bad...), &s); !errors.Is(err, ErrSocket) {
			t.Errorf("attribute %v: %v", bad, err)
		}
	}
}

func TestMappedAddressesStayMapped(t *testing.T) {
	want := Sock{Family: FamilyInet6, Local: netip.MustParseAddrPort("[::ffff:10.0.0.1]:443"), Remote: netip.MustParseAddrPort("[::ffff:203.0.113.9]:5000")}
	var got Sock
	if err := Decode(want.Append(nil), &got); err != nil || got.Remote != want.Remote || !got.Remote.Addr().Is4In6() {
		t.Fatalf("%v, %v", got.Remote, err)
	}
}

func TestDecodeAllocatesNothing(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	var messages [][]byte
	for range 16 {
		s := randomSock(r, Attrs(r.Uint32())&hasEverything)
		messages = append(messages, s.Append(nil))
	}
	var s Sock
	if n := testing.AllocsPerRun(100, func() {
		for _, m := range messages {
			if Decode(m, &s) != nil {
				t.Fatal("refused")
			}
		}
	}); n != 0 {
		t.Errorf("%v allocations for 16 sockets", n)
	}
}

func FuzzDecode(f *testing.F) {
	r := rand.New(rand.NewPCG(9, 10))
	for range 8 {
		s := randomSock(r, Attrs(r.Uint32())&hasEverything)
		f.Add(s.Append(nil))
	}
	f.Add(make([]byte, MsgLen))
	f.Fuzz(func(t *testing.T, b []byte) {
		var s, again Sock
		if Decode(b, &s) != nil {
			return
		}
		if s.Has&HasInfo != 0 && s.Info.Len > 60000 {
			return // would not fit an attribute together with its header
		}
		if err := Decode(s.Append(nil), &again); err != nil {
			t.Fatalf("own encoding refused: %v", err)
		}
		if len(s.Storage) == 0 {
			s.Storage, again.Storage = nil, nil
		}
		if !reflect.DeepEqual(s, again) {
			t.Fatalf("\nfirst  %+v\nsecond %+v", s, again)
		}
	})
}

func BenchmarkDecode(b *testing.B) {
	r := rand.New(rand.NewPCG(11, 12))
	s := randomSock(r, HasInfo|HasBBR|HasCong|HasShutdown|HasCgroupID|HasSockOpt)
	m := s.Append(nil)
	b.SetBytes(int64(len(m)))
	b.ReportAllocs()
	for b.Loop() {
		if Decode(m, &s) != nil {
			b.Fatal("refused")
		}
	}
}
