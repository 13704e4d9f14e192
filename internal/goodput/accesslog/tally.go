package accesslog

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/congctl/congctl/internal/tcp/record"
)

// Reason is why a response counts in no estimate.
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

func (r Reason) String() string { return record.NameOf(reasonNames[:], int(r), "reason") }

// Tally counts the responses of a Settle by result.
type Tally struct {
	Responses     uint64 `json:"responses"`           // lines that were read, those that still wait included
	Matched       uint64 `json:"matched"`             // responses, each stream counted
	Bursts        uint64 `json:"bursts,omitempty"`    // of several streams
	Small         uint64 `json:"small,omitempty"`     // of the matched, counted after joining: below the threshold
	Carryover     uint64 `json:"carryover,omitempty"` // on a connection that last crossed in another block
	Buffered      uint64 `json:"buffered,omitempty"`  // at least the threshold, and ended within one round trip
	Unmatched     Counts `json:"unmatched,omitzero"`
	ConnsOverflow uint64 `json:"connections_not_followed,omitempty"`
}

// Counts are numbers by [Reason]; as JSON by name, without zeros.
type Counts [Reasons]uint64

// ByReason returns those that are not zero.
func (c Counts) ByReason() map[string]uint64 {
	m := map[string]uint64{}
	for r, n := range c {
		if n > 0 {
			m[Reason(r).String()] = n
		}
	}
	return m
}

// MarshalJSON writes an object.
func (c Counts) MarshalJSON() ([]byte, error) { return json.Marshal(c.ByReason()) }

// UnmarshalJSON refuses a reason that it does not know.
func (c *Counts) UnmarshalJSON(b []byte) error {
	var m map[string]uint64
	if err := json.Unmarshal(b, &m); err != nil {
		return err
	}
	*c = Counts{}
	for name, n := range m {
		r := slices.Index(reasonNames[:], name)
		if r < 0 {
			return fmt.Errorf("unmatched %q: a reason unknown to this version", name)
		}
		c[r] = n
	}
	return nil
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

// UnmatchedTotal returns the number of responses that do not count.
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
