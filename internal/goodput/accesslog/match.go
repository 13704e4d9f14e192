package accesslog

import (
	"cmp"
	"math"
	"net/netip"
	"slices"

	"github.com/congctl/congctl/internal/tcp/record"
)

// Which connection carried a response? The one with its addresses and ports that was open
// when the response began. A client's port may serve several connections one after another,
// so the lives of a tuple are kept apart by their ends: a response belongs to the first life
// that had not ended when it began.
//
// Which arm? The one in force when the response reached the threshold:
//
//	crossing = the kernel's own stamp (record CrossedNs) if it lies in the response,
//	           else start + time * threshold / bytes
//	arm      = that of the connection's record of the crossing's window
//
// Blocks are whole windows, so all crossings of one window have one arm, even those whose
// stamp a later response of the window overwrote.

// MatchConfig holds a Matcher's fixed settings.
type MatchConfig struct {
	WindowSeconds int64
	MinBytes      uint64 // threshold of a response; smaller ones count apart
	MaxConns      int    // tuples followed; 0 is 1,000,000, about 200 bytes each
	MaxResponses  int    // waiting for their window; 0 is 1,000,000, about 150 bytes each
}

// Matched is a response, or overlapping ones of one connection, with its place in the experiment.
type Matched struct {
	Response
	Streams uint32 // responses joined into this one; 1 except for HTTP/2

	Netns     record.NetnsID
	Cookie    record.Cookie
	Prefix    record.Prefix
	AtUs      int64 // of the crossing; of the end below the threshold. Unix time
	Window    int64 // that holds it, Unix seconds
	Assigned  record.Arm
	Applied   record.Applied
	Carryover bool
	Crossed   bool // the kernel saw the crossing, too
	Big       bool // at least the threshold
	Buffered  bool // ended within one round trip: the buffer took it, so this does not measure the path
}

// Matcher joins responses with connections' records. Not safe for concurrent use.
type Matcher struct {
	cfg     MatchConfig
	lives   map[tuple][]*life
	conns   int
	waiting []Response
	first   int64 // the first window of any record, Unix seconds
	settled int64 // the last window that is out
	tally   Tally
}

// tuple is what a log knows of a connection.
type tuple struct {
	client netip.AddrPort
	port   uint16 // of the server
}

// NewMatcher returns an empty one.
func NewMatcher(c MatchConfig) *Matcher {
	c.MaxConns, c.MaxResponses = cmp.Or(c.MaxConns, 1_000_000), cmp.Or(c.MaxResponses, 1_000_000)
	return &Matcher{cfg: c, lives: map[tuple][]*life{}, first: math.MaxInt64, settled: math.MinInt64}
}

// longestUs is how long a response may last, two days: an upgraded connection may last longer, and its
// crossing is in no record any more. goodput/store/responses relies on it.
const longestUs = 48 * 3600e6

// Response takes one line. It waits until its window is settled.
func (m *Matcher) Response(r Response) {
	m.tally.Responses++
	switch {
	case r.Protocol == HTTP3:
		m.tally.count(NotTCP)
	case r.EndUs-r.StartUs > longestUs:
		m.tally.count(NoRecord)
	case m.window(r.EndUs) <= m.settled:
		m.tally.count(Late)
	case len(m.waiting) >= m.cfg.MaxResponses:
		m.tally.count(Overflow)
	default:
		m.waiting = append(m.waiting, r)
	}
}

// window is the start of the window that holds a time.
func (m *Matcher) window(us int64) int64 {
	s := us / 1e6
	return s - s%m.cfg.WindowSeconds
}

// Settle returns the responses that ended in window start or before, with the tally since
// the previous Settle. Call it when all records of the window *after* are in: the crossing
// of a response at a window's end is in that one, and a server may write its log late.
//
// If start lies before what is settled, the wall clock was set back: waiting responses
// belong to a time that comes again, and are dropped.
func (m *Matcher) Settle(start int64) ([]Matched, Tally) {
	if start < m.settled {
		m.tally.Unmatched[Late] += uint64(len(m.waiting))
		m.waiting, m.lives, m.conns = nil, map[tuple][]*life{}, 0
	}
	m.settled = start
	out := m.resolve(m.due(start))
	m.forget(start)
	t := m.tally
	m.tally = Tally{}
	return out, t
}

// due cuts off what ended by the end of window start, sorted by tuple and time, with the
// HTTP/2 streams that overlap it, so that no burst is cut at a border.
func (m *Matcher) due(start int64) []Response {
	slices.SortStableFunc(m.waiting, compareResponses)
	var due []Response
	keep := m.waiting[:0]
	for rest := m.waiting; len(rest) > 0; {
		n, first := chain(rest)
		if m.window(first) <= start {
			due = append(due, rest[:n]...)
		} else {
			keep = append(keep, rest[:n]...)
		}
		rest = rest[n:]
	}
	m.waiting = keep
	return due
}

// chain counts the responses at the head of list that overlap, and returns the first end.
func chain(list []Response) (n int, firstEnd int64) {
	head := &list[0]
	firstEnd, last := head.EndUs, head.EndUs
	for n = 1; n < len(list) && head.Protocol == HTTP2; n++ {
		r := &list[n]
		if tupleOf(r) != tupleOf(head) || r.Protocol != HTTP2 || r.StartUs >= last {
			break
		}
		firstEnd, last = min(firstEnd, r.EndUs), max(last, r.EndUs)
	}
	return n, firstEnd
}

func tupleOf(r *Response) tuple { return tuple{client: r.Client, port: r.Server.Port()} }

// nextWaiting returns when the connection's next response that is not yet due began.
func (m *Matcher) nextWaiting(r *Response) int64 {
	i, _ := slices.BinarySearchFunc(m.waiting, *r, compareResponses)
	if i < len(m.waiting) && tupleOf(&m.waiting[i]) == tupleOf(r) {
		return m.waiting[i].StartUs
	}
	return math.MaxInt64
}

func compareResponses(a, b Response) int {
	return cmp.Or(a.Client.Compare(b.Client), cmp.Compare(a.Server.Port(), b.Server.Port()),
		cmp.Compare(a.StartUs, b.StartUs), cmp.Compare(a.EndUs, b.EndUs))
}

// resolve finds each response's connection, joins what overlaps on one, and assigns arms.
func (m *Matcher) resolve(due []Response) (out []Matched) {
	byLife := map[*life][]Response{}
	var order []*life
	for _, r := range due {
		l, why := m.find(&r)
		if why != None {
			m.tally.count(why)
			continue
		}
		if byLife[l] == nil {
			order = append(order, l)
		}
		byLife[l] = append(byLife[l], r)
	}
	for _, l := range order {
		out = m.place(out, l, byLife[l])
	}
	return out
}

// place turns the responses of one life, in order of their start, into matched ones.
func (m *Matcher) place(out []Matched, l *life, list []Response) []Matched {
	bursts := m.join(l, list)
	for i := range bursts {
		b := &bursts[i]
		next := m.nextWaiting(&b.Response)
		if i+1 < len(bursts) {
			next = min(next, bursts[i+1].StartUs)
		}
		if why := m.assign(l, b, next); why != None {
			m.tally.Unmatched[why] += uint64(b.Streams)
			continue
		}
		m.tally.matched(b)
		out = append(out, *b)
	}
	return out
}

// assign sets b's place in the experiment; next is when the following response began.
func (m *Matcher) assign(l *life, b *Matched, next int64) Reason {
	if !l.client {
		return NotClient
	}
	b.Netns, b.Cookie, b.Prefix, b.Big = l.netns, l.cookie, l.prefix, b.BodyBytes >= m.cfg.MinBytes
	at := b.EndUs
	if b.Big {
		at = b.StartUs + int64(float64(b.EndUs-b.StartUs)*float64(m.cfg.MinBytes)/float64(b.BodyBytes))
	}
	s := l.crossing(b.StartUs, min(next, b.EndUs+m.cfg.WindowSeconds*1e6))
	if b.Crossed = b.Big && s != nil; b.Crossed {
		at = s.crossedUs
	} else {
		s = l.sight(m.window(at))
	}
	if s == nil {
		return NoRecord
	}
	if s.assigned == record.ArmUnknown || s.applied == record.AppliedUnknown {
		return ArmUnknown
	}
	b.AtUs, b.Window, b.Assigned, b.Applied, b.Carryover = at, m.window(at), s.assigned, s.applied, s.carryover
	b.Buffered = s.minRttUs > 0 && s.minRttUs != math.MaxUint32 && b.TransferUs() < int64(s.minRttUs)
	return None
}
