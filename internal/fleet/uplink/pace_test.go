package uplink

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/congctl/congctl/internal/tcp/record"
)

func TestBackoff(t *testing.T) {
	for attempt, most := range map[int]time.Duration{-1: 1, 0: 1, 1: 1, 2: 2, 3: 4, 4: 8, 5: 10, 6: 10, 7: 10, 1 << 30: 10} {
		most *= time.Second
		if low, high := Backoff(attempt, 0), Backoff(attempt, 1); low != 0 || high != most {
			t.Errorf("attempt %d: %s to %s, want 0 to %s", attempt, low, high, most)
		}
		if mid := Backoff(attempt, 0.5); mid != most/2 {
			t.Errorf("attempt %d: half of it is %s", attempt, mid)
		}
	}
}

// TestBucket: over any time no more goes than the rate and one burst, and what is within the rate never waits.
func TestBucket(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		const perS, window = 1000, 100 * time.Second
		start := time.Unix(0, 0)
		now, sent := start, 0.0
		b := newBucket(perS, window, start)
		for range 200 {
			n := rapid.IntRange(1, 50_000).Draw(rt, "n")
			now = now.Add(b.take(n, now))
			sent += float64(n)
			if most := perS*(now.Sub(start)+window).Seconds() + 1; sent > most {
				rt.Fatalf("%v bytes by %s, at most %v", sent, now.Sub(start), most)
			}
			now = now.Add(time.Duration(rapid.IntRange(0, 20).Draw(rt, "s")) * time.Second)
		}
	})
	b := newBucket(1000, 100*time.Second, time.Unix(0, 0))
	for s := range int64(1000) {
		if wait := b.take(1000, time.Unix(s, 0)); wait != 0 {
			t.Fatalf("within the rate, %s at second %d", wait, s)
		}
	}
	if wait := newBucket(0, time.Second, time.Unix(0, 0)).take(1<<30, time.Unix(0, 0)); wait != 0 {
		t.Errorf("without a limit: %s", wait)
	}
}

func TestStep(t *testing.T) {
	for _, k := range []struct {
		h            int
		full, budget int64
		slow, behind bool
		want         int
	}{
		{0, 100, 100, false, false, 0},
		{0, 101, 100, false, false, 1},
		{0, 1 << 40, 100, false, false, 1}, // one step a window
		{1, 200, 100, false, false, 1},
		{1, 100, 100, false, false, 0},
		{2, 200, 100, false, false, 1},
		{2, 200, 100, false, true, 2}, // the spool is to be emptied first
		{0, 1, 0, true, true, 1},
		{3, 1 << 40, 0, false, false, 2}, // no budget
		{10, 1 << 40, 1, true, true, 10},
	} {
		if got := step(k.h, k.full, k.budget, k.slow, k.behind); got != k.want {
			t.Errorf("%+v: %d", k, got)
		}
	}
}

// keptOf returns which of n connections, numbered in a row as a client can make them, are kept.
func keptOf(key byte, window int64, halvings, n int) (kept []bool) {
	th := newThinner([16]byte{key}, record.BootID{9}, 0, 0)
	th.panes = []pane{{start: window, halvings: halvings}}
	for i := range n {
		w, ok := th.choose(&record.Conn{Netns: 1, Cookie: record.Cookie(i), Window: window}, far{})
		if ok && halvings > 0 && w != float64(int(1)<<halvings) {
			panic("weight")
		}
		kept = append(kept, ok)
	}
	return kept
}

func agree(a, b []bool) (n int) {
	for i := range a {
		if a[i] == b[i] {
			n++
		}
	}
	return n
}

func TestChoice(t *testing.T) {
	const n = 40_000
	sd := math.Sqrt(n) / 2
	for h := range 5 {
		count := 0
		a := keptOf(1, 300, h, n)
		for i, k := range keptOf(1, 300, h+1, n) {
			if k && !a[i] {
				t.Fatalf("%d is kept at %d halvings and not at %d", i, h+1, h)
			}
			if a[i] {
				count++
			}
		}
		if want := float64(n) / float64(int(1)<<h); math.Abs(float64(count)-want) > 4*sd {
			t.Errorf("%d halvings keep %d, want about %v", h, count, want)
		}
	}
	one := keptOf(1, 300, 1, n)
	if agree(one, keptOf(1, 300, 1, n)) != n {
		t.Error("the same connections, another choice")
	}
	for name, other := range map[string][]bool{"key": keptOf(2, 300, 1, n), "window": keptOf(1, 600, 1, n)} {
		if same := agree(one, other); math.Abs(float64(same)-n/2) > 4*sd {
			t.Errorf("another %s: %d of %d choices are the same", name, same, n)
		}
	}
}

// TestHashIsCBCMAC: three blocks, as the comment says.
func TestHashIsCBCMAC(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	for range 100 {
		var key [16]byte
		var boot record.BootID
		binary.LittleEndian.PutUint64(key[:], rng.Uint64())
		binary.LittleEndian.PutUint64(boot[:], rng.Uint64())
		c := &record.Conn{Netns: record.NetnsID(rng.Uint64()), Cookie: record.Cookie(rng.Uint64()), Window: int64(rng.Uint64())}
		th := newThinner(key, boot, 0, 0)
		var input [48]byte
		copy(input[:], boot[:])
		binary.LittleEndian.PutUint64(input[16:], uint64(c.Netns))
		binary.LittleEndian.PutUint64(input[24:], uint64(c.Cookie))
		binary.LittleEndian.PutUint64(input[32:], uint64(c.Window))
		var mac [16]byte
		for i := 0; i < len(input); i += 16 {
			for j := range mac {
				mac[j] ^= input[i+j]
			}
			th.block.Encrypt(mac[:], mac[:])
		}
		if got, want := th.hash(c), binary.LittleEndian.Uint64(mac[:]); got != want {
			t.Fatalf("%x, want %x", got, want)
		}
	}
}

func TestChoiceDoesNotAllocate(t *testing.T) {
	th := newThinner([16]byte{1}, record.BootID{}, 0, 0)
	th.panes = []pane{{halvings: 3}}
	c := &record.Conn{Cookie: 1}
	if n := testing.AllocsPerRun(100, func() { th.choose(c, far{}) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
