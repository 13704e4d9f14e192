package ledger

import (
	"github.com/congctl/congctl/internal/tcp/inetdiag"
	"github.com/congctl/congctl/internal/tcp/record"
)

// Lifetime counters of a connection that records carry as deltas. Bytes come first: only they
// reveal a counter reset (see addCounters).
const (
	acked = iota
	sent
	retrans
	received
	busyUs
	rwndUs
	sndbufUs

	nCounters
	nBytes    = busyUs
	elapsedUs = nCounters - nBytes // fourth of entry.winUs, after the three kernel times
	counting  = elapsedUs + 1      // fifth: busy while counting
	nTimes    = counting + 1
)

type counters [nCounters]uint64

// What of them counts in the experiment: see Mark.Counted.
const (
	countedAcked = iota
	countedSent
	countedRetrans
	countedBusyUs

	nCounted
)

// entry is what is kept of one connection between two observations. No pointers
// (the collector never scans 100,000 of them) and 328 bytes, so that a sight touches
// five cache lines or six: TestEntrySize holds it.
type entry struct {
	cookie  uint64
	last    counters         // lifetime, at the last observation
	counted [nCounted]uint64 // likewise
	rateSum uint64           // Mark.RateSum there

	// This window's, so far.
	winBytes   [nBytes]uint64
	winCounted [countedBusyUs]uint64 // bytes; the time is in winUs
	winRateSum uint64

	lastNs                uint64 // boot time of the last observation
	crossedNs, switchedNs uint64 // boot time, 0 never
	plan                  uint64

	local, remote [16]byte // IPv4 as IPv4-mapped

	// Microseconds in 32 bits hold 71 minutes of one window; longer (a stalled agent with uncut
	// windows) sticks there and is counted.
	winUs               [nTimes]uint32
	rateN, limitedN     uint32 // Mark's, at the last observation
	winRateN, winLimitN uint32

	lateN, episodes       uint16 // Mark's, at the last observation
	winLateN, winEpisodes uint16 // stick at their highest: a round trip of 4 ms has that many in a window
	lateRate              uint32 // Mark's, when it last had new samples and rested on enough

	rate      float32 // bytes/s: the kernel's last non-application-limited sample in this window, 0 none
	crossings uint32
	minRttUs  uint32
	srttUs    uint32

	home       uint32 // boot second in the block in which a connection without a mark counts, 0 not known yet: see settleIn
	win        uint32 // window number of win*; while nothing was observed, the first one without a record
	next, prev uint32 // in the namespace's list; next also chains the free ones

	localPort, remotePort uint16
	ns                    uint16 // index of Ledger.nss
	seen                  uint16 // netns.seq of the last dump that had it
	flags                 flags
	missed                uint8 // complete dumps in a row without it
	cong, to              uint8 // indexes of Ledger.congs; to is that of the last switch
	assigned              record.Arm
	applied               record.Applied
}

type flags uint16

const (
	observed flags = 1 << iota // something belongs to window win
	cut                        // the last observation was a final poll's: the interval since starts at a boundary
	passive                    // accepted by this host
	marked                     // followed by eBPF
	preStart                   // older than the agent
	foreign                    // pre-start, not on its namespace's default: treated before, or chosen by the application
	mptcp
	gone   // its EndVanished record is out
	capped // the response that crossed last ran under a pacing cap
	mixed  // this window's late samples are of responses under a cap and without
)

func (e *entry) is(f flags) bool { return e.flags&f != 0 }

func (e *entry) set(f flags, on bool) {
	if on {
		e.flags |= f
	} else {
		e.flags &^= f
	}
}

// chunkLen entries are allocated at once: 328 kB, so that growing never copies, and the last,
// partly used chunk wastes little beside 33 MB at 100,000 entries.
const chunkLen = 1024

// none is no entry. Index 0 is never handed out, so that zero means none.
const none = 0

// slab hands out entries by number, in chunks that never move. It reuses freed ones last in,
// first out, and keeps memory for the next storm, at most Config.MaxConns.
type slab struct {
	chunks []*[chunkLen]entry
	used   uint32 // numbers ever handed out, plus number 0
	free   uint32 // first of the chain through entry.next
	live   int
}

func (s *slab) at(i uint32) *entry { return &s.chunks[i/chunkLen][i%chunkLen] }

// take returns a zeroed entry and its number.
func (s *slab) take() (uint32, *entry) {
	s.live++
	if i := s.free; i != none {
		e := s.at(i)
		s.free = e.next
		*e = entry{}
		return i, e
	}
	if s.used == none {
		s.used = 1
	}
	if int(s.used/chunkLen) == len(s.chunks) {
		s.chunks = append(s.chunks, new([chunkLen]entry))
	}
	i := s.used
	s.used++
	return i, s.at(i)
}

func (s *slab) give(i uint32) {
	s.live--
	s.at(i).next = s.free
	s.free = i
}

// congNames maps a packed congestion control name to one byte, and back to a string made
// once. A kernel has a dozen; all beyond 255 share one place.
type congNames struct {
	packs []inetdiag.Cong
	names []string
}

const otherCong = 255

// number finds c by a walk over a few 16-byte values: cheaper than a map's hash.
func (t *congNames) number(c inetdiag.Cong) uint8 {
	for i := range t.packs {
		if t.packs[i] == c {
			return uint8(i)
		}
	}
	if len(t.packs) == otherCong {
		return otherCong
	}
	t.packs = append(t.packs, c)
	t.names = append(t.names, c.String())
	return uint8(len(t.packs) - 1)
}

func (t *congNames) name(i uint8) string {
	if int(i) < len(t.names) {
		return t.names[i]
	}
	return "other"
}

func (t *congNames) packed(i uint8) inetdiag.Cong {
	if int(i) < len(t.packs) {
		return t.packs[i]
	}
	return inetdiag.CongOf("other")
}
