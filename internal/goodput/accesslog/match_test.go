package accesslog

import (
	order "cmp"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/congctl/congctl/internal/tcp/record"
)

const (
	testWindow = 300
	testMin    = 100_000
	testBlock  = 1800
	morning    = 1_795_176_000 // 2026-11-20T12:00:00Z, a block's start
)

// truth is what a made-up connection really did.
type truth struct {
	cookie    record.Cookie
	client    netip.AddrPort
	from, to  int64 // Unix us
	responses []Response
	crossed   []int64 // Unix us, one a response; 0: below the threshold
}

// world makes connections on a few tuples, one after another on each, with HTTP/1
// responses in turn or bursts of HTTP/2 streams.
type world struct {
	rnd   *rand.Rand
	conns []truth
}

func newWorld(seed uint64) *world {
	w := &world{rnd: rand.New(rand.NewPCG(seed, 1))}
	end := int64(morning+4*testBlock) * 1e6
	cookie := record.Cookie(0)
	for i := range 6 {
		client := netip.MustParseAddrPort(fmt.Sprintf("203.0.113.%d:%d", i/2+1, 40000+i%2))
		for at := int64(morning)*1e6 + w.between(0, 400e6); at < end; at += w.between(3e3, 90e6) { // the port is used again
			cookie++
			c := truth{cookie: cookie, client: client, from: at}
			at = w.fill(&c, min(at+w.between(1e6, 3000e6), end))
			w.conns = append(w.conns, c)
		}
	}
	return w
}

func (w *world) between(a, b int64) int64 { return a + w.rnd.Int64N(b-a) }

func (w *world) fill(c *truth, end int64) int64 {
	at, http2, n := c.from, w.rnd.IntN(3) == 0, uint32(0)
	for at += w.between(2e3, 50e3); at < end; at += w.between(1e3, 400e6) {
		streams := 1
		if http2 {
			streams += w.rnd.IntN(4)
		}
		last := at
		for s := range streams {
			n++
			r := Response{Client: c.client, Server: netip.MustParseAddrPort("192.0.2.1:443"), Request: n, StartUs: at, Protocol: HTTP1}
			if http2 {
				r.Protocol = HTTP2
				if s > 0 {
					r.StartUs = w.between(at, last)
				}
			}
			r.EndUs = r.StartUs + w.between(10e3, 250e6)
			if http2 { // so that a burst and its late lines fit into a window
				r.EndUs = r.StartUs + w.between(10e3, 50e6)
			}
			r.BodyBytes = uint64(w.between(1e3, 100e3))
			if w.rnd.IntN(2) == 0 {
				r.BodyBytes = uint64(w.between(100e3, 5e6))
			}
			last = max(last, r.EndUs)
			c.responses, c.crossed = append(c.responses, r), append(c.crossed, 0)
		}
		at = last
	}
	c.to = max(at, end) + w.between(1e3, 1e6)
	return c.to
}

func blockOf(us int64) int64 { return us / 1e6 / testBlock }

// armAt: blocks take turns.
func armAt(us int64) record.Arm {
	if blockOf(us)%2 == 0 {
		return record.ArmControl
	}
	return record.ArmTreatment
}

// bursts are the truth about c: its responses joined, with the crossing.
func (c *truth) bursts() (out []Matched) {
	list := slices.Clone(c.responses)
	slices.SortStableFunc(list, compareResponses)
	for _, r := range list {
		if n := len(out); n > 0 && r.Protocol == HTTP2 && r.StartUs < out[n-1].EndUs {
			out[n-1].add(&r)
			continue
		}
		out = append(out, Matched{Response: r, Streams: 1})
	}
	for i := range out {
		b := &out[i]
		b.Cookie, b.Netns, b.Big = c.cookie, 1, b.BodyBytes >= testMin
		b.Prefix, _ = record.PrefixOf(c.client.Addr())
		at := b.EndUs
		if b.Big {
			at = crossingOf(b)
		}
		b.AtUs, b.Window = at, at/1e6/testWindow*testWindow
		b.Assigned = armAt(at)
		b.Applied = record.AppliedNone
	}
	return out
}

// crossingOf is a little after the steady rate's: acknowledgements take a round trip.
func crossingOf(b *Matched) int64 {
	return b.StartUs + int64(float64(b.EndUs-b.StartUs)*testMin/float64(b.BodyBytes)) + 200
}

// records of c, one a window; stamps tells whether the kernel saw crossings.
func (c *truth) records(stamps bool) (out []record.Conn) {
	const w = testWindow * 1e6
	for start := c.from / w * w; start <= c.to; start += w {
		r := record.Conn{
			Netns: 1, Cookie: c.cookie, Window: start / 1e6, AtNs: (start + w) * 1e3, Passive: true, ClientFacing: true,
			Local: netip.MustParseAddrPort("192.0.2.1:443"), Remote: c.client, Assigned: armAt(start),
		}
		r.Prefix, _ = record.PrefixOf(c.client.Addr())
		if c.to < start+w {
			r.AtNs, r.End = c.to*1e3, record.EndClose
		}
		for _, b := range c.bursts() {
			if at := crossingOf(&b); stamps && b.Big && at < start+w {
				r.CrossedNs = max(r.CrossedNs, at*1e3)
			}
		}
		out = append(out, r)
	}
	return out
}

// run plays the world into a matcher in the order in which a host would see it:
// lines up to a minute late, records at their window's end or close.
func (w *world) run(stamps bool) ([]Matched, Tally) {
	type event struct {
		at int64
		do func(m *Matcher)
	}
	var events []event
	for _, c := range w.conns {
		for _, r := range c.records(stamps) {
			events = append(events, event{r.AtNs / 1e3, func(m *Matcher) { m.Conn(&r) }})
		}
		for _, r := range c.responses {
			events = append(events, event{r.EndUs + w.between(0, 60e6), func(m *Matcher) { m.Response(r) }})
		}
	}
	slices.SortStableFunc(events, func(a, b event) int { return order.Compare(a.at, b.at) })
	m := NewMatcher(MatchConfig{WindowSeconds: testWindow, MinBytes: testMin})
	var out []Matched
	var tally Tally
	settle := func(start int64) {
		got, t := m.Settle(start)
		out = append(out, got...)
		tally.Add(t)
	}
	open := int64(morning)
	for _, e := range events {
		for e.at > (open+testWindow)*1e6 {
			settle(open - testWindow)
			open += testWindow
		}
		e.do(m)
	}
	for range 6 {
		settle(open - testWindow)
		open += testWindow
	}
	return out, tally
}

// TestTruth: every response finds its own connection, window and arm, with and
// without the kernel's stamps.
func TestTruth(t *testing.T) {
	total := Tally{}
	for seed := range uint64(40) {
		w := newWorld(seed)
		got, tally := w.run(seed%2 == 0)
		total.Add(tally)
		want := map[string]Matched{}
		for _, c := range w.conns {
			for _, b := range c.bursts() {
				want[fmt.Sprint(c.cookie, b.StartUs)] = b
			}
		}
		for _, b := range got {
			b.Crossed = false
			if off := b.AtUs - want[fmt.Sprint(b.Cookie, b.StartUs)].AtUs; -1000 < off && off < 1000 { // between the kernel's stamp and the line's
				b.AtUs -= off
			}
			key := fmt.Sprint(b.Cookie, b.StartUs)
			if d := cmp.Diff(want[key], b, cmp.Comparer(func(x, y netip.AddrPort) bool { return x == y })); d != "" {
				t.Fatalf("seed %d, %s:\n%s", seed, key, d)
			}
			delete(want, key)
		}
		if len(want) > 0 || tally.UnmatchedTotal() > 0 {
			t.Fatalf("seed %d: %d never came out; %+v", seed, len(want), tally)
		}
	}
	if total.Bursts < 100 || total.Small < 100 || total.Matched < 4000 {
		t.Errorf("the worlds hold too little to prove it: %+v", total)
	}
}

// What lasted longer than a crossing is remembered, a WebSocket for instance, counts nowhere.
func TestLongerThanRecords(t *testing.T) {
	m := NewMatcher(MatchConfig{WindowSeconds: testWindow, MinBytes: testMin})
	m.Response(Response{StartUs: 0, EndUs: longestUs})
	m.Response(Response{StartUs: 0, EndUs: longestUs + 1})
	if len(m.waiting) != 1 || m.tally.Unmatched[NoRecord] != 1 {
		t.Errorf("%d wait, %+v", len(m.waiting), m.tally)
	}
}
