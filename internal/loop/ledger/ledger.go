package ledger

import (
	"net/netip"
	"slices"

	"github.com/congctl/congctl/internal/tcp/abi"
	"github.com/congctl/congctl/internal/tcp/record"
)

// Config holds a Ledger's fixed settings; loop/config has the defaults and their reasons.
type Config struct {
	WindowSeconds int64 // length of a window
	BlockSeconds  int64 // length of a block
	MaxConns      int   // entries kept at most, 353 bytes each. Connections beyond are known by their close record only
	// Unfollowed: no eBPF follows connections here, so an accepted one without a mark was not
	// missed; only polls see it.
	Unfollowed bool

	// ClientFacing reports whether a passive connection's remote end is a client, by the
	// configured lists; addresses are unmapped. nil: all are.
	ClientFacing func(ns record.NetnsID, local, remote netip.AddrPort, passive bool) bool
	// ArmAt returns the arm of a prefix at a time in Unix seconds, and whether a plan (or the
	// hold-out, or A/A) has the prefix at all. nil: no plan.
	ArmAt func(p record.Prefix, unix int64) (arm record.Arm, inPlan bool)
	// Emit takes each finished record. It is reused after the call.
	Emit func(*record.Conn)
}

// Ledger holds one entry for each connection that a poll has seen. It is not
// safe for concurrent use.
type Ledger struct {
	cfg   Config
	slab  slab
	nss   []*netns // by entry.ns; nil is a free place
	byID  map[record.NetnsID]*netns
	tombs tombstones
	congs congNames
	poll  poll
	off   int64 // Unix ns minus boot ns, as last given
	st    Stats

	mark  abi.Mark    // the one being read
	loose entry       // a connection that no poll has seen, while its close record is handled
	stray netns       // a namespace that no poll has seen, likewise
	rec   record.Conn // the one being emitted
}

// New returns an empty ledger.
func New(c Config) *Ledger { return &Ledger{cfg: c, byID: map[record.NetnsID]*netns{}} }

// lastNumber keeps window numbers clear of uint32's end, whatever time a damaged close record
// claims.
const lastNumber = 1<<32 - 1<<16

func (l *Ledger) windowOf(unixNs int64) uint32 { return l.windowNumber(unixNs / 1e9) }

// windowNumber counts windows since the epoch.
func (l *Ledger) windowNumber(unix int64) uint32 {
	return uint32(max(0, min(unix/l.cfg.WindowSeconds, lastNumber)))
}

func (l *Ledger) windowStart(n uint32) int64 { return int64(n) * l.cfg.WindowSeconds }

// Stats are the ledger's counts since New; Live, Gone and the namespaces' Live are current.
type Stats struct {
	Live int `json:"live"` // entries in use, Gone among them
	Gone int `json:"gone"` // vanished, kept for a late close record

	Emitted        [3]uint64 `json:"emitted"`         // records, by record.End
	VanishedMarked uint64    `json:"vanished_marked"` // of the vanished: eBPF followed them, so a close record was lost
	ClosesJoined   uint64    `json:"closes_joined"`   // closes of connections that a poll had seen
	ClosesAlone    uint64    `json:"closes_alone"`    // closes that no poll had seen: shorter than the poll
	Returned       uint64    `json:"returned"`        // vanished connections seen or closed later after all

	DuplicateSights uint64 `json:"duplicate_sights"` // the same socket twice in one dump, merged
	DuplicateCloses uint64 `json:"duplicate_closes"` // the same close twice, dropped
	Tombstones      uint64 `json:"tombstones"`       // sockets in a dump after their close record, ignored
	TombstonesEarly uint64 `json:"tombstones_early"` // times that remembered closes were dropped before two seconds
	Ignored         uint64 `json:"ignored"`          // sockets that are no connection (TIME_WAIT, CLOSE, LISTEN, ...)

	// Late observations came after their window had its record; they count in the next.
	Late uint64 `json:"late"`
	// Spanned intervals cross a window's end that no final poll cut (a late, interrupted or
	// missing poll); they count wholly in the window of their end.
	Spanned uint64 `json:"spanned"`
	// SetBack observations found their connection two windows or more ahead of the present: the
	// wall clock was set back. What is kept goes out, and counting continues at once.
	SetBack uint64 `json:"set_back"`

	CounterResets  uint64 `json:"counter_resets"`  // counters that went back: the socket was disconnected and reused
	Clamped        uint64 `json:"clamped"`         // times longer than 71 minutes in one window
	MarkFaults     uint64 `json:"mark_faults"`     // marks of a wrong size
	Overflow       uint64 `json:"overflow"`        // sights of connections beyond MaxConns: their close record alone counts them
	ForgottenEarly uint64 `json:"forgotten_early"` // vanished connections freed to make room
	NetnsOverflow  uint64 `json:"netns_overflow"`  // dumps of a namespace beyond the 65,536th

	Polls            uint64 `json:"polls"`
	PollsInterrupted uint64 `json:"polls_interrupted"`

	Netns   []NetnsStats `json:"netns"`   // by id
	Dropped NetnsStats   `json:"dropped"` // sum over the namespaces that are gone
}

// NetnsStats are the counts of one namespace. NewMarked / (NewMarked +
// NewUnmarked) is the coverage: the share of new passive connections that eBPF saw.
type NetnsStats struct {
	Netns       record.NetnsID `json:"netns"`
	Live        int            `json:"live"`
	PreStart    uint64         `json:"pre_start"`    // seen by the first dump, without a mark
	NewMarked   uint64         `json:"new_marked"`   // first seen by a dump, followed by eBPF
	NewUnmarked uint64         `json:"new_unmarked"` // first seen by a later dump, passive, and not followed: missed
	NewActive   uint64         `json:"new_active"`   // first seen by a later dump, opened by this host
}

// Stats returns a copy of the counts.
func (l *Ledger) Stats() Stats {
	st := l.st
	st.Live, st.TombstonesEarly = l.slab.live, l.tombs.early
	for _, ns := range l.nss {
		if ns == nil {
			continue
		}
		n := ns.st
		n.Netns, n.Live = ns.id, len(ns.index)
		st.Netns = append(st.Netns, n)
	}
	slices.SortFunc(st.Netns, func(a, b NetnsStats) int {
		if a.Netns < b.Netns {
			return -1
		}
		return 1
	})
	return st
}

// fold keeps a namespace's counts when it is deleted.
func (st *Stats) fold(n NetnsStats) {
	d := &st.Dropped
	d.PreStart += n.PreStart
	d.NewMarked += n.NewMarked
	d.NewUnmarked += n.NewUnmarked
	d.NewActive += n.NewActive
}
