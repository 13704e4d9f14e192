package accesslog

import (
	"math"
	"net/netip"

	"github.com/congctl/congctl/internal/tcp/record"
)

// life is one connection, as far as its records show.
type life struct {
	netns   record.NetnsID
	cookie  record.Cookie
	local   netip.Addr
	prefix  record.Prefix
	client  bool  // client-facing
	fromUs  int64 // the start of its first record's window: it was established at that time or later
	untilUs int64 // its end; the largest number while it lives
	last    int64 // window of the latest record
	sights  []sight
	joined  int64 // end of what was settled of it: later lines of an overlapping stream are too late
}

// sight is the arm in one record, 40 bytes.
type sight struct {
	window    int64
	crossedUs int64 // of the last crossing, if after the window's begin; else 0
	assigned  record.Arm
	applied   record.Applied
	carryover bool
	minRttUs  uint32
}

// maxSights windows of a connection are remembered. A response that crossed the threshold
// earlier has no arm: an hour in windows of five minutes.
const maxSights = 13

// Conn takes one record and does not keep it.
func (m *Matcher) Conn(c *record.Conn) {
	m.first = min(m.first, c.Window)
	key := tuple{client: c.Remote, port: c.Local.Port()}
	l := m.lifeOf(key, c)
	if l == nil {
		if m.conns >= m.cfg.MaxConns {
			m.tally.ConnsOverflow++
			return
		}
		m.conns++
		l = &life{netns: c.Netns, cookie: c.Cookie, local: c.Local.Addr(), prefix: c.Prefix, client: c.ClientFacing && c.Prefix.Valid(),
			fromUs: c.Window * 1e6, untilUs: math.MaxInt64}
		m.lives[key] = append(m.lives[key], l)
	}
	l.see(c)
	if c.End == record.EndClose {
		l.untilUs = c.AtNs / 1e3
	}
}

func (m *Matcher) lifeOf(key tuple, c *record.Conn) *life {
	for _, l := range m.lives[key] {
		if l.cookie == c.Cookie && l.netns == c.Netns {
			return l
		}
	}
	return nil
}

func (l *life) see(c *record.Conn) {
	s := sight{window: c.Window, assigned: c.Assigned, applied: c.Applied, carryover: c.Carryover, minRttUs: c.Info.MinRttUs}
	if c.CrossedNs >= c.Window*1e9 {
		s.crossedUs = c.CrossedNs / 1e3
	}
	if len(l.sights) == maxSights {
		copy(l.sights, l.sights[1:])
		l.sights = l.sights[:maxSights-1]
	}
	l.sights = append(l.sights, s)
	l.last = max(l.last, c.Window)
}

// sight is that of one window; nil without a record of it.
func (l *life) sight(window int64) *sight {
	for i := range l.sights {
		if l.sights[i].window == window {
			return &l.sights[i]
		}
	}
	return nil
}

// crossing is the first stamp within [from, to); nil without one.
func (l *life) crossing(from, to int64) *sight {
	for i := range l.sights {
		if c := l.sights[i].crossedUs; c >= from && c < to {
			return &l.sights[i]
		}
	}
	return nil
}

// clockSlackUs: a server's times are cut to milliseconds, as is its duration, so a response
// can seem to begin two milliseconds before its connection.
const clockSlackUs = 2000

// find returns the connection of a response, or why there is none.
func (m *Matcher) find(r *Response) (*life, Reason) {
	var best *life
	for _, l := range m.lives[tupleOf(r)] {
		switch {
		case !l.fits(r):
		case best == nil:
			best = l
		case best.netns != l.netns:
			return nil, Ambiguous // the same addresses in two namespaces
		case l.before(best, r.StartUs):
			best = l
		}
	}
	switch {
	case best != nil:
		return best, None
	case r.EndUs < m.first*1e6 || m.first == math.MaxInt64:
		return nil, BeforeStart
	}
	return nil, NoConnection
}

// before reports whether a response that began at startUs belongs to l rather than o: of
// those that had not ended then, to the first to end; of two without a known end, to the
// later one, since a tuple has one connection at a time.
func (l *life) before(o *life, startUs int64) bool {
	lived, oLived := l.untilUs >= startUs+clockSlackUs, o.untilUs >= startUs+clockSlackUs
	switch {
	case lived != oLived:
		return lived
	case l.untilUs == o.untilUs:
		return l.fromUs > o.fromUs
	case lived:
		return l.untilUs < o.untilUs
	}
	return l.untilUs > o.untilUs
}

func (l *life) fits(r *Response) bool {
	addr := r.Server.Addr()
	return r.EndUs >= l.fromUs && r.StartUs <= l.untilUs && (!addr.IsValid() || addr == l.local)
}

// forget drops connections whose last record is older than window start.
func (m *Matcher) forget(start int64) {
	for key, list := range m.lives {
		keep := list[:0]
		for _, l := range list {
			if l.last >= start {
				keep = append(keep, l)
			}
		}
		m.conns -= len(list) - len(keep)
		if len(keep) == 0 {
			delete(m.lives, key)
		} else {
			m.lives[key] = keep
		}
	}
}
