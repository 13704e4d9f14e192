package accesslog

import "fmt"

// Reason says why a response counts in no estimate.
type Reason uint8

const (
	None         Reason = iota
	NoConnection        // no record has its addresses and ports at that time: a proxy in between, another host, an unpolled namespace
	BeforeStart         // ended before the first record
	Ambiguous           // two connections of different namespaces fit
	NoRecord            // the connection has no record of the window of the crossing: before the start, or too long ago
	ArmUnknown          // treated before a restart, or missed by eBPF
	NotClient           // of a connection that is not client-facing
	Overlap             // its connection's burst was out already
	Late                // its line came after its window was settled
	NotTCP              // HTTP/3
	Overflow            // too many waited
	Reasons             // how many there are
)

var reasonNames = [Reasons]string{"matched", "no-connection", "before-start", "ambiguous", "no-record", "arm-unknown", "not-client", "overlap",
	"late", "not-tcp", "overflow"}

func (r Reason) String() string {
	if r < Reasons {
		return reasonNames[r]
	}
	return fmt.Sprintf("reason(%d)", uint8(r))
}

// Tally counts what became of the responses of a Settle.
type Tally struct {
	Responses     uint64 // lines that were read, those that still wait included
	Matched       uint64 // responses, each stream counted
	Bursts        uint64 // of several streams
	Small         uint64 // of the matched, counted after joining: below the threshold
	Carryover     uint64 // on a connection that was switched in an earlier block
	Buffered      uint64 // at least the threshold, and ended within one round trip
	Unmatched     [Reasons]uint64
	ConnsOverflow uint64 // connections not followed
}

func (t *Tally) count(r Reason) { t.Unmatched[r]++ }

func (t *Tally) matched(b *Matched) {
	t.Matched += uint64(b.Streams)
	if b.Streams > 1 {
		t.Bursts++
	}
	switch {
	case !b.Big:
		t.Small++
	case b.Buffered:
		t.Buffered++
	}
	if b.Carryover {
		t.Carryover++
	}
}

// UnmatchedTotal is the number of responses that count nowhere.
func (t *Tally) UnmatchedTotal() (n uint64) {
	for _, c := range t.Unmatched {
		n += c
	}
	return n
}

// Add sums two tallies.
func (t *Tally) Add(o Tally) {
	t.Responses += o.Responses
	t.Matched += o.Matched
	t.Bursts += o.Bursts
	t.Small += o.Small
	t.Carryover += o.Carryover
	t.Buffered += o.Buffered
	t.ConnsOverflow += o.ConnsOverflow
	for i := range t.Unmatched {
		t.Unmatched[i] += o.Unmatched[i]
	}
}
