package ledger

import "github.com/congctl/congctl/internal/core/record"

// Lifetime counters of a connection that records carry as deltas. Bytes come
// first: they alone tell a counter reset (see addCounters).
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
	nTimes    = elapsedUs + 1
)

type counters [nCounters]uint64

// entry is what is kept of one connection between two observations. No pointers
// (the collector never scans 100,000 of them) and 256 bytes, so that a sight touches
// four cache lines: TestEntrySize holds it.
type entry struct {
	cookie  uint64
	last    counters // lifetime, at the last observation
	rateSum uint64   // Mark.RateSum there

	// This window's so far.
	winBytes   [nBytes]uint64
	winRateSum uint64

	lastNs                uint64 // boot time of the last observation
	crossedNs, switchedNs uint64 // boot time, 0 never
	plan                  uint64

	local, remote [16]byte // IPv4 as IPv4-mapped

	// Microseconds in 32 bits hold 71 minutes of one window; longer (a stalled
	// agent with windows that nobody cut) sticks there and is counted.
	winUs               [nTimes]uint32
	rateN, limitedN     uint32 // Mark's, at the last observation
	winRateN, winLimitN uint32

	rate      float32 // bytes/s: the kernel's last non-application-limited sample in this window, 0 none
	crossings uint32
	minRttUs  uint32
	srttUs    uint32

	win        uint32 // window number of win*; while nothing was observed, the first one still without a record
	next, prev uint32 // in the namespace's list; next also chains the free ones

	localPort, remotePort uint16
	ns                    uint16 // index of Ledger.nss
	seen                  uint16 // netns.seq of the last dump that had it
	flags                 flags
	missed                uint8 // complete dumps in a row without it
	cong                  uint8 // index of Ledger.congs
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
	switched // to the treatment, whether or not it was moved back
	gone     // its EndVanished record is out
)

func (e *entry) is(f flags) bool { return e.flags&f != 0 }

func (e *entry) set(f flags, on bool) {
	if on {
		e.flags |= f
	} else {
		e.flags &^= f
	}
}

// nextWindow forgets the window whose record is out.
func (e *entry) nextWindow(wasCut bool) {
	e.win++
	e.flags &^= observed
	e.set(cut, wasCut)
	e.winBytes = [nBytes]uint64{}
	e.winUs = [nTimes]uint32{}
	e.winRateSum, e.winRateN, e.winLimitN, e.rate = 0, 0, 0, 0
}
