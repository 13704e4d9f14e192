package sample

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/congctl/congctl/internal/tcp/inetdiag"
)

// scripted is a dumper whose kernel is a script: for the n-th request, the n-th
// list of datagrams, with the request's sequence number put in where it is 0.
func scripted(t *testing.T, answers ...[][]byte) *Dumper {
	t.Helper()
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		req := make([]byte, 4096)
		for _, answer := range answers {
			if n, err := unix.Read(fds[1], req); err != nil || n < inetdiag.HeaderLen {
				return
			}
			for _, datagram := range answer {
				if _, err := unix.Write(fds[1], stamped(datagram, binary.LittleEndian.Uint32(req[8:]))); err != nil {
					return
				}
			}
		}
	}()
	sock, err := socketOn(fds[0], silence)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.Close(fds[0]); <-done; unix.Close(fds[1]) })
	return &Dumper{sock: sock}
}

func stamped(datagram []byte, seq uint32) []byte {
	b := slices.Clone(datagram)
	for at := 0; at+inetdiag.HeaderLen <= len(b); {
		if binary.LittleEndian.Uint32(b[at+8:]) == 0 {
			binary.LittleEndian.PutUint32(b[at+8:], seq)
		}
		n := int(binary.LittleEndian.Uint32(b[at:]))
		if n < inetdiag.HeaderLen {
			break
		}
		at += (n + 3) &^ 3
	}
	return b
}

// inetMessage is an inet_diag_msg with its tcp_info.
func inetMessage(cookie uint64, info []byte) []byte {
	b := make([]byte, inetdiag.MsgLen)
	b[0] = inetdiag.FamilyInet
	binary.LittleEndian.PutUint64(b[44:], cookie)
	b = binary.LittleEndian.AppendUint16(b, uint16(4+len(info)))
	b = binary.LittleEndian.AppendUint16(b, 2) // INET_DIAG_INFO
	return append(b, info...)
}

func sockMessage(cookie uint64, h inetdiag.Header) []byte {
	if h.Type == 0 {
		h.Type = inetdiag.TypeGetSock
	}
	return inetdiag.AppendMessage(nil, h, inetMessage(cookie, make([]byte, inetdiag.TCPInfoLen)))
}

func message(kind uint16, data ...byte) []byte {
	return inetdiag.AppendMessage(nil, inetdiag.Header{Type: kind}, data)
}

var end = message(inetdiag.TypeDone, 0, 0, 0, 0)

func cat(parts ...[]byte) []byte { return slices.Concat(parts...) }

func collect(d *Dumper) (cookies []uint64, st Stats, err error) {
	st, err = d.Dump(inetdiag.Request{States: inetdiag.Connected}, func(s *inetdiag.Sock) { cookies = append(cookies, s.Cookie) })
	return cookies, st, err
}

func TestDumpSurvivesWhatGoesWrong(t *testing.T) {
	one, two, three := sockMessage(1, inetdiag.Header{}), sockMessage(2, inetdiag.Header{}), sockMessage(3, inetdiag.Header{})
	intr := sockMessage(2, inetdiag.Header{Flags: inetdiag.FlagDumpIntr})
	stale := sockMessage(9, inetdiag.Header{Seq: 77})
	broken := message(inetdiag.TypeGetSock, 1, 2, 3)
	badLength := slices.Clone(one)
	badLength[0], badLength[1] = 8, 0
	huge := cat(message(99, make([]byte, 2*readBytes)...), three)
	for _, c := range []struct {
		name    string
		answers [][][]byte
		cookies []uint64
		want    Stats
	}{
		{"quiet", [][][]byte{{cat(one, two), cat(three, end)}}, []uint64{1, 2, 3}, Stats{Sockets: 3, Reads: 2}},
		{"malformed socket", [][][]byte{{cat(one, broken, two), end}}, []uint64{1, 2}, Stats{Sockets: 2, Malformed: 1, Reads: 2}},
		{"bad length costs the rest of its chunk", [][][]byte{{cat(one, badLength, two), cat(three, end)}}, []uint64{1, 3}, Stats{Sockets: 2, Malformed: 1, Reads: 2}},
		{"interrupted once", [][][]byte{{cat(one, intr), end}, {cat(one, two, three), end}}, []uint64{1, 2, 1, 2, 3}, Stats{Sockets: 5, Repeated: 2, Interrupted: 1, Retried: 1, Reads: 4}},
		{"interrupted twice stands", [][][]byte{{cat(one, intr), end}, {cat(intr, three), end}}, []uint64{1, 2, 2, 3}, Stats{Sockets: 4, Repeated: 2, Interrupted: 2, Retried: 1, Reads: 4}},
		{"interrupted at the end", [][][]byte{{one, stampFlag(end)}, {one, end}}, []uint64{1, 1}, Stats{Sockets: 2, Repeated: 1, Interrupted: 1, Retried: 1, Reads: 4}},
		{"chunk too large", [][][]byte{{cat(one, two), huge, end}, {cat(one, two), huge, end}}, []uint64{1, 2, 1, 2, 3}, Stats{Sockets: 5, Repeated: 2, Truncated: 1, Retried: 1, Unknown: 1, Reads: 6}},
		{"stale and unknown", [][][]byte{{cat(stale, message(inetdiag.TypeNoop), message(50), one), end}}, []uint64{1}, Stats{Sockets: 1, Stale: 1, Unknown: 1, Reads: 2}},
		{"done without errno", [][][]byte{{one, message(inetdiag.TypeDone)}}, []uint64{1}, Stats{Sockets: 1, Malformed: 1, Reads: 2}},
	} {
		cookies, got, err := collect(scripted(t, c.answers...))
		got.Bytes = 0
		if err != nil || !slices.Equal(cookies, c.cookies) || got != c.want {
			t.Errorf("%s:\n got %v %+v %v\nwant %v %+v", c.name, cookies, got, err, c.cookies, c.want)
		}
	}
}

func stampFlag(m []byte) []byte {
	b := slices.Clone(m)
	b[6] |= inetdiag.FlagDumpIntr
	return b
}

func TestDumpReportsTheKernelsErrno(t *testing.T) {
	one := sockMessage(1, inetdiag.Header{})
	for name, answer := range map[string][][]byte{
		"error":           {message(inetdiag.TypeError, 0xf0, 0xff, 0xff, 0xff)}, // -EBUSY
		"done with errno": {one, message(inetdiag.TypeDone, 0xf0, 0xff, 0xff, 0xff)},
	} {
		if _, _, err := collect(scripted(t, answer)); !errors.Is(err, unix.EBUSY) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// The answer lies there before it is asked for, so that only its end is waited for.
func TestDumpWithoutEnd(t *testing.T) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fds[0])
	defer unix.Close(fds[1])
	if _, err := unix.Write(fds[1], sockMessage(1, inetdiag.Header{Seq: 1})); err != nil {
		t.Fatal(err)
	}
	sock, err := socketOn(fds[0], 20*time.Millisecond)
	if err != nil {
		t.Fatal(err)
	}
	cookies, _, err := collect(&Dumper{sock: sock})
	if err == nil || !strings.Contains(err.Error(), "none within") || len(cookies) != 1 {
		t.Errorf("no end: %v, %v", cookies, err)
	}
}

// TestDumpOwnConnections needs no root: some connections of this process, both
// families, found among all of the namespace's with the right contents.
func TestDumpOwnConnections(t *testing.T) {
	w := newWorld(t)
	var ports []inetdiag.PortRange
	want := map[uint64]string{}
	for _, family := range []int{unix.AF_INET, unix.AF_INET6} {
		l := w.socket(family, "reno")
		if err := unix.Bind(l, loopback(family, 1, 0)); err == unix.EADDRNOTAVAIL && family == unix.AF_INET6 {
			continue // no IPv6 here
		}
		w.must(unix.Listen(l, 16))
		port := boundPort(t, l)
		ports = append(ports, inetdiag.PortRange{Lo: uint16(port), Hi: uint16(port)})
		for range 5 {
			p := w.connect(l, family, 1, port, "reno")
			w.move(p.server, p.client, 1234)
			cookie, err := unix.GetsockoptUint64(p.server, unix.SOL_SOCKET, unix.SO_COOKIE)
			w.must(err)
			want[cookie] = fmt.Sprint(port, " reno 1234")
		}
	}
	code, err := inetdiag.SportFilter(ports)
	if err != nil {
		t.Fatal(err)
	}
	d, err := Open("")
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	for _, families := range [][]uint8{{inetdiag.FamilyBoth}, {inetdiag.FamilyInet, inetdiag.FamilyInet6}} {
		got := map[uint64]string{}
		for _, family := range families {
			st, err := d.Dump(inetdiag.Request{Family: family, States: inetdiag.Connected, Ext: inetdiag.ExtPoll, Bytecode: code}, func(s *inetdiag.Sock) {
				got[s.Cookie] = fmt.Sprint(s.Local.Port(), " ", s.Cong, " ", s.Info.BytesAcked)
			})
			if err != nil || st.Malformed+st.NewAttrs != 0 {
				t.Fatalf("%+v, %v", st, err)
			}
		}
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("families %v:\n got %v\nwant %v", families, got, want)
		}
	}
}

func boundPort(t testing.TB, fd int) int {
	t.Helper()
	at, err := unix.Getsockname(fd)
	if err != nil {
		t.Fatal(err)
	}
	switch a := at.(type) {
	case *unix.SockaddrInet4:
		return a.Port
	case *unix.SockaddrInet6:
		return a.Port
	}
	return 0
}

func TestDumpAllocatesNothing(t *testing.T) {
	w := newWorld(t)
	l := w.socket(unix.AF_INET, "")
	w.must(unix.Bind(l, loopback(unix.AF_INET, 1, 0)))
	w.must(unix.Listen(l, 300))
	for range 200 {
		w.connect(l, unix.AF_INET, 1, boundPort(t, l), "")
	}
	d, err := Open("")
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	n := 0
	visit := func(*inetdiag.Sock) { n++ }
	req := inetdiag.Request{States: inetdiag.Connected, Ext: inetdiag.ExtAll}
	allocs := testing.AllocsPerRun(20, func() {
		n = 0
		if _, err := d.Dump(req, visit); err != nil {
			t.Fatal(err)
		}
	})
	if n < 400 || allocs != 0 {
		t.Errorf("%v allocations for a dump of %d sockets", allocs, n)
	}
}
