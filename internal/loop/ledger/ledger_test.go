package ledger

import (
	"math/bits"
	"slices"
	"testing"
	"unsafe"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/congctl/congctl/internal/tcp/abi"
	"github.com/congctl/congctl/internal/tcp/inetdiag"
	"github.com/congctl/congctl/internal/tcp/record"
)

func TestEntrySize(t *testing.T) {
	// On 32 bits a pointer is shorter.
	if n := unsafe.Sizeof(entry{}); n > 328 || n < 328 && bits.UintSize == 64 {
		t.Fatalf("an entry has %d bytes, not 328: 100,000 of them in 33 MB", n)
	}
}

// watch runs a connection's observations through a ledger. extra: also the polls
// between the final ones.
func watch(obs []event, extra bool) (out []record.Conn) {
	l := ledgerOf(Config{WindowSeconds: simWindow, BlockSeconds: 60, Emit: func(r *record.Conn) { out = append(out, *r) }})
	c := newLife(1, 1)
	c.marked, c.mark.EstablishedNs = true, obs[0].atUs*1000
	start := int64(obs[0].atUs) * 1000
	l.BeginPoll(Poll{Netns: 1, AtNs: start + testOffset, BootNs: start, DefaultCong: inetdiag.CongOf("cubic"), First: true})
	l.EndPoll(true)
	for _, ev := range obs[1:] {
		c.n, c.mark.RateSum, c.mark.RateN = ev.n, ev.n[acked]*10, uint32(ev.n[acked])
		at := int64(ev.atUs)*1000 + testOffset
		if ev.kind == evClose {
			l.Close(c.close(at), testOffset)
			break
		}
		if ev.kind == evSight && !extra {
			continue
		}
		l.BeginPoll(Poll{Netns: 1, AtNs: at, BootNs: at - testOffset, DefaultCong: inetdiag.CongOf("cubic"), Final: ev.kind == evFinal, Window: ev.w * simWindow})
		l.Sock(c.sock())
		l.EndPoll(true)
	}
	return out
}

// What polls see within a window changes nothing in its record but the observed
// time, from which they can tell idle intervals: a close record alone, or after any
// number of dumps of the same interval, gives the same.
func TestPollsInBetweenDoNotMatter(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var n counters
		atUs := uint64(600e6)
		obs := []event{{atUs: atUs}}
		windowOf := func() int64 { return int64(atUs/1e6+1000) / simWindow }
		w := windowOf()
		for range rapid.IntRange(1, 25).Draw(t, "observations") {
			atUs += rapid.Uint64Range(1, 4e6).Draw(t, "us")
			for i := range n {
				n[i] += rapid.Uint64Range(0, 100).Draw(t, "moved")
			}
			ev := event{kind: evSight, w: windowOf(), n: n, atUs: atUs}
			if ev.w > w { // the final poll comes first, right at the end
				obs = append(obs, event{kind: evFinal, w: w, n: obs[len(obs)-1].n, atUs: uint64(ev.w*simWindow-1000) * 1e6})
				w = ev.w
			}
			obs = append(obs, ev)
		}
		obs = append(obs, event{kind: evClose, w: w, n: n, atUs: atUs})
		if d := cmp.Diff(watch(obs, false), watch(obs, true), cmpopts.EquateComparable(record.Conn{}.Local),
			cmpopts.IgnoreFields(record.Conn{}, "WinElapsedUs")); d != "" {
			t.Fatalf("without polls -, with them +:\n%s", d)
		}
	})
}

func TestManyNamespaces(t *testing.T) {
	var got []record.Conn
	l := ledgerOf(Config{Emit: func(r *record.Conn) { got = append(got, *r) }})
	for ns := record.NetnsID(1); ns <= 300; ns++ {
		l.BeginPoll(Poll{Netns: ns, AtNs: 1e9, BootNs: 1e9, DefaultCong: inetdiag.CongOf("cubic"), First: true})
		c := newLife(uint64(ns), 7) // the same cookie everywhere
		c.n[acked] = uint64(ns)
		c.marked, c.mark.EstablishedNs = true, 1e9
		l.Sock(c.sock())
		l.EndPoll(true)
	}
	for ns := record.NetnsID(1); ns <= 300; ns += 2 {
		l.DropNetns(ns)
	}
	if len(got) != 150 || slices.ContainsFunc(got, func(r record.Conn) bool {
		return r.Netns%2 == 0 || r.WinBytesAcked != uint64(r.Netns) || r.End != record.EndVanished
	}) {
		t.Fatalf("%d records of the dropped namespaces", len(got))
	}
	// A close record that was still in the ring belongs to the next window.
	c := newLife(1, 7)
	c.n[acked] = 11
	l.Close(c.close(testOffset+2e9), 0)
	if r := got[len(got)-1]; len(got) != 151 || r.WinBytesAcked != 10 || r.Window != 300 || r.End != record.EndClose {
		t.Fatalf("late close of a dropped namespace: %+v", r)
	}
	l.BeginPoll(Poll{Netns: 2, AtNs: 10e9, BootNs: 10e9, DefaultCong: inetdiag.CongOf("cubic")})
	if st := l.Stats(); len(st.Netns) != 150 || st.Live != 150 || st.Dropped.NewMarked != 150 {
		t.Fatalf("after two seconds: %d namespaces, %+v", len(st.Netns), st.Dropped)
	}
}

// Closed keys are remembered in bounded memory, for two seconds unless they are too many.
func TestTombstones(t *testing.T) {
	var ts tombstones
	for i := range uint64(3 * maxTombstones) {
		ts.add(key{1, i}, i)
	}
	if n := len(ts.young) + len(ts.old); n > 2*maxTombstones || ts.early != 2 {
		t.Fatalf("%d remembered, %d early turns", n, ts.early)
	}
	k := key{1, 3*maxTombstones - 1}
	if !ts.has(k, k.cookie+tombstoneNs-1) || ts.has(k, k.cookie+tombstoneNs) || ts.has(key{2, k.cookie}, k.cookie) {
		t.Fatal("a key is remembered for two seconds in its own namespace")
	}
	ts.age(2 * tombstoneNs)
	ts.age(3 * tombstoneNs)
	if len(ts.young)+len(ts.old) != 0 {
		t.Fatal("not emptied")
	}
}

// Between two polls the sets turn by the times of the closes, and forget none of two seconds.
func TestTombstonesTurnBetweenPolls(t *testing.T) {
	var ts tombstones
	const perS, memory = 20_000, 2 * 20_000
	for i := range uint64(10 * perS) {
		now := i * 1e9 / perS
		ts.add(key{1, i}, now)
		if i%perS == 0 {
			ts.add(key{2, i}, 1<<63) // damaged
			ts.add(key{2, i + 1}, 0)
		}
		if n := len(ts.young) + len(ts.old); n > 2*memory+20 || i >= memory && !ts.has(key{1, i - memory + 1}, now) {
			t.Fatalf("%d s, %d remembered", now/1e9, n)
		}
	}
	if ts.early != 0 {
		t.Errorf("%d early turns", ts.early)
	}
}

// A turn that is due by the clock does not follow upon an early one: the set that was
// full a moment ago would go with all its keys.
func TestTombstonesEarlyTurnIsATurn(t *testing.T) {
	var ts tombstones
	const now = 10e9
	ts.age(now - 9e9)
	for i := range uint64(maxTombstones + 1) {
		ts.add(key{1, i}, now)
	}
	ts.age(now + 1)
	if !ts.has(key{1, 0}, now+2) || !ts.has(key{1, maxTombstones}, now+2) {
		t.Error("a close of 2 ns ago is forgotten")
	}
	// A damaged close record from the far future does not keep the sets from turning.
	for i := range uint64(2 * maxTombstones) {
		ts.add(key{2, i}, 1<<63)
	}
	ts.age(now + 3e9)
	ts.age(now + 6e9)
	if n := len(ts.young) + len(ts.old); n != 0 {
		t.Errorf("%d keys left", n)
	}
}

func TestCongNamesBounded(t *testing.T) {
	var n congNames
	for i := range 1000 {
		c := inetdiag.CongOf("x" + string(rune('a'+i%26)) + string(rune('a'+i/26%26)) + string(rune('a'+i/676)))
		if j := n.number(c); i < otherCong && n.packed(j) != c {
			t.Fatalf("name %d reads back as %s", i, n.name(j))
		}
	}
	if n.name(n.number(inetdiag.CongOf("late"))) != "other" {
		t.Fatal("the 256th name has a place of its own")
	}
}

// Room is made by the vanished before anyone is turned away.
func TestOverflowForgetsTheGoneFirst(t *testing.T) {
	l := ledgerOf(Config{MaxConns: 2})
	dump := func(at int64, cookies ...uint64) {
		l.BeginPoll(Poll{Netns: 1, AtNs: at * 1e9, BootNs: at * 1e9, DefaultCong: inetdiag.CongOf("cubic")})
		for _, k := range cookies {
			l.Sock(newLife(1, k).sock())
		}
		l.EndPoll(true)
	}
	dump(1, 1, 2, 3)
	dump(2)
	dump(3)
	dump(4, 4, 5, 6)
	st := l.Stats()
	if st.Overflow != 2 || st.ForgottenEarly != 2 || st.Live != 2 || st.Gone != 0 || st.Emitted[record.EndVanished] != 2 {
		t.Fatalf("%+v", st)
	}
}

// Whatever bytes a mark or a close record has: no panic, one record for a close,
// never an underflow.
func FuzzMarkAndClose(f *testing.F) {
	ordinary := newLife(1, 1).close(testOffset + 600e9)
	f.Add(unsafe.Slice((*byte)(unsafe.Pointer(ordinary)), abi.CloseSize), make([]byte, abi.MarkSize), uint64(1000))
	f.Add(slices.Repeat([]byte{0xff}, abi.CloseSize), slices.Repeat([]byte{0xff}, abi.MarkSize), uint64(1))
	f.Add([]byte{}, []byte{1, 2, 3}, ^uint64(0))
	f.Fuzz(func(t *testing.T, closeBytes, mark []byte, n uint64) {
		var out []record.Conn
		l := ledgerOf(Config{Emit: func(r *record.Conn) { out = append(out, *r) }})
		c := newLife(1, 1)
		c.n[acked], c.n[busyUs] = n, n
		s := c.sock()
		s.Has |= inetdiag.HasStorage
		s.Storage = mark
		for i, final := range []bool{false, true} {
			l.BeginPoll(Poll{Netns: 1, AtNs: 1600e9, BootNs: 600e9, DefaultCong: inetdiag.CongOf("cubic"), Final: final, Window: 1500})
			s.Info.BytesAcked -= uint64(i) * (n / 2)
			l.Sock(s)
			l.EndPoll(true)
		}
		// None yet if the mark says that it was accepted after the window's end.
		if len(out) > 1 || len(out) == 1 && n < 1<<62 && out[0].WinBytesAcked > n+n/2+1 {
			t.Fatalf("%d records, first %+v", len(out), out)
		}
		polled := len(out)
		var cl abi.Close
		if abi.DecodeClose(closeBytes, &cl) != nil {
			return
		}
		l.Close(&cl, testOffset)
		if cl.OldState != tcpClose && (len(out) <= polled || out[len(out)-1].End != record.EndClose) {
			t.Fatalf("close of %d bytes gave %d records", cl.BytesAcked, len(out))
		}
	})
}
