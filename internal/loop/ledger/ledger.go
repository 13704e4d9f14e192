package ledger

import (
	"slices"

	"github.com/congctl/congctl/internal/core/record"
)

// Stats are the ledger's counts since New; Live, Gone and the namespaces' Live are of now.
type Stats struct {
	Live int `json:"live"` // entries in use, Gone among them
	Gone int `json:"gone"` // vanished, kept for a late close record

	Emitted        [3]uint64 `json:"emitted"`         // records, by record.End
	VanishedMarked uint64    `json:"vanished_marked"` // of the vanished: eBPF followed them, so a close record was lost
	ClosesJoined   uint64    `json:"closes_joined"`   // closes of connections that a poll had seen
	ClosesAlone    uint64    `json:"closes_alone"`    // closes that no poll had seen: shorter than the poll
	Returned       uint64    `json:"returned"`        // vanished connections seen or closed after all

	DuplicateSights uint64 `json:"duplicate_sights"` // the same socket twice in one dump, merged
	DuplicateCloses uint64 `json:"duplicate_closes"` // the same close twice, dropped
	Tombstones      uint64 `json:"tombstones"`       // sockets in a dump after their close record, ignored
	TombstonesEarly uint64 `json:"tombstones_early"` // times that remembered closes were dropped before two seconds
	Ignored         uint64 `json:"ignored"`          // sockets that are no connection (TIME_WAIT, CLOSE, LISTEN, ...)

	// Late observations came when their window had its record: counted in the next.
	Late uint64 `json:"late"`
	// Spanned intervals cross a window's end that no final poll cut (a late,
	// interrupted or missing poll): all in the window of their end.
	Spanned uint64 `json:"spanned"`
	// SetBack observations found their connection two windows ahead of the present or
	// more: the wall clock was set back. What is kept goes out, and counting goes on at once.
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

// Stats copies the counts.
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

// fold keeps a namespace's counts when it goes.
func (st *Stats) fold(n NetnsStats) {
	d := &st.Dropped
	d.PreStart += n.PreStart
	d.NewMarked += n.NewMarked
	d.NewUnmarked += n.NewUnmarked
	d.NewActive += n.NewActive
}
