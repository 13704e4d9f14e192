package policy

import (
	"math"
	"slices"

	"github.com/congctl/congctl/internal/tcp/record"
)

// track is what is kept of one prefix. history and recent exist only while they hold
// something: most prefixes of a PoP are seen a few times a day.
type track struct {
	plain
	history []entry // known windows, oldest first
	recent  []slot  // by window number modulo the lookback
	refused string  // the guards that kept it out, as last told in an event
	chosen  *Selected
	past    []span  // oldest first
	trial   *trial  // beside chosen, with the experiment only
	paced   []paced // beside chosen, with Rules.Cap only; oldest first
}

// plain is what a track has that holds no pointer.
type plain struct {
	prefix record.Prefix
	bytes  uint64  // acknowledged since it is tracked: the least go first when the table is full
	last   float64 // last known control performance, bytes/s
	lastAt uint32  // the window of last
	lastN  uint32  // connections behind last, own and borrowed; 0: last was never known
	seen   uint32  // number of the last window with a row

	was, now blockLevel // with one draw for all only: the last two blocks

	hitAt [len(remembering)]uint32 // 1 + number of the last known window in which the guard hit; 0: none
}

// slot is one window of a prefix. float32 halves it; limits are rounded alike before a
// comparison, so that "at the limit" stays exact.
type slot struct {
	window   uint32
	eligible uint32  // control connections
	any      uint32  // eligible connections of all arms
	share    float32 // of all connections of the window; NaN if there were too few prefixes
	median   float64 // of the control rate, whole bytes/s

	rttUs, srttUs       float32 // control, median over connections; 0 is unknown
	retrans, rwnd, busy float32 // control, shares
	p20, p80            float32 // control rate, bytes/s
	bytes               float32 // of the control rows: the weight of retrans
}

// entry is one known window of the history, 16 bytes.
type entry struct {
	window uint16 // number modulo 2^16
	n      uint16 // connections behind perf, own and borrowed; sticks at the top
	perf   float32
	bits   uint32 // bit 0 in the group, bits 1-18 rank, bits 19-31 own connections (sticks at the top)
	class  uint8  // what slowed it then: 1 + index in Classes; 0 not known
}

const (
	maxRank = 1<<18 - 1
	maxOwn  = 1<<13 - 1
)

func newEntry(window uint32, l level, rank int, in bool) entry {
	e := entry{window: uint16(window), n: uint16(min(l.own+l.borrowed, math.MaxUint16)), perf: float32(l.perf),
		bits: uint32(min(rank, maxRank))<<1 | min(l.own, maxOwn)<<19}
	if in {
		e.bits |= 1
	}
	return e
}

func (e entry) in() bool      { return e.bits&1 == 1 }
func (e entry) rank() int     { return int(e.bits >> 1 & maxRank) }
func (e entry) own() int      { return int(e.bits >> 19) }
func (e entry) borrowed() int { return max(int(e.n)-e.own(), 0) }

// age is the number of windows between e and now; history never spans 2^15.
func (e entry) age(now uint32) int64 { return int64(uint16(now) - e.window) }

// at returns the slot of a window, nil if nothing was seen in it.
func (t *track) at(window uint32) *slot {
	if len(t.recent) == 0 {
		return nil
	}
	if s := &t.recent[int(window)%len(t.recent)]; s.window == window {
		return s
	}
	return nil
}

func (t *track) put(s slot, lookback int64) {
	if len(t.recent) == 0 {
		t.recent = make([]slot, lookback)
		for i := range t.recent {
			t.recent[i].window = none
		}
	}
	t.recent[int(s.window)%len(t.recent)] = s
	t.seen = s.window
}

// none is no window's number.
const none = math.MaxUint32

// age drops what is too old to count at window now.
func (t *track) age(now uint32, r Rules) {
	old := 0
	for old < len(t.history) && t.history[old].age(now) >= r.maxAge() {
		old++
	}
	if old > 0 {
		t.history = t.history[:copy(t.history, t.history[old:])]
	}
	if int64(now-t.seen) >= r.lookback() {
		t.recent = nil
	}
	t.fade(now, r)
	if t.lastN > 0 && int64(now-t.lastAt) >= r.maxAge() {
		t.last, t.lastAt, t.lastN = 0, 0, 0
	}
}

// push adds the newest known window; beyond the limit the oldest goes.
func (t *track) push(e entry, limit int) {
	if len(t.history) == limit {
		copy(t.history, t.history[1:])
		t.history[limit-1] = e
		return
	}
	if len(t.history) == cap(t.history) {
		// Steps of a third of the usual history: doubling would end at 48 places for 36.
		grown := make([]entry, len(t.history), min(cap(t.history)+12, limit))
		copy(grown, t.history)
		t.history = grown
	}
	t.history = append(t.history, e)
}

// setBack forgets what was measured in number and later windows, as of now. The last known
// performance is then that of the history.
func (t *track) setBack(number, now uint32, r Rules) {
	ahead := int64(now - number)
	t.history = slices.DeleteFunc(t.history, func(e entry) bool { return e.age(now) <= ahead })
	for i := range t.recent {
		if t.recent[i].window >= number {
			t.recent[i] = slot{window: none}
		}
	}
	t.seen = min(t.seen, number)
	t.forgetHits(number)
	t.past = slices.DeleteFunc(t.past, func(s span) bool { return s.number >= number/uint32(r.lookback()) })
	t.trial.setBack(int64(number)*r.WindowSeconds, r.Trial.BlockSeconds)
	t.paced = slices.DeleteFunc(t.paced, func(p paced) bool { return p.window >= number })
	if t.lastN == 0 || t.lastAt < number {
		return
	}
	t.last, t.lastAt, t.lastN = 0, 0, 0
	if n := len(t.history); n > 0 {
		h := t.history[n-1]
		t.last, t.lastAt, t.lastN = float64(h.perf), now-uint32(h.age(now)), uint32(h.n)
	}
}

// clear forgets all measurements, not decisions.
func (t *track) clear() {
	t.history, t.recent, t.past, t.paced = nil, nil, nil, nil
	t.last, t.lastAt, t.lastN = 0, 0, 0
	t.forgetHits(0)
	t.trial.setBack(math.MinInt64, 0)
}

// standing is the history in three numbers.
type standing struct{ known, in, changes int }

func (t *track) standing() (s standing) {
	s.known = len(t.history)
	for i, e := range t.history {
		if e.in() {
			s.in++
		}
		if i > 0 && e.in() != t.history[i-1].in() {
			s.changes++
		}
	}
	return s
}

// duty is the share of the known windows in the group; 0 when none is known.
func (s standing) duty() float64 {
	if s.known == 0 {
		return 0
	}
	return float64(s.in) / float64(s.known)
}

// flap is the share of changes between consecutive known windows; 0 below two.
func (s standing) flap() float64 {
	if s.known < 2 {
		return 0
	}
	return float64(s.changes) / float64(s.known-1)
}
