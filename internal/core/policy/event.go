package policy

import "github.com/congctl/congctl/internal/core/record"

// EventKind says what happened.
type EventKind string

const (
	EventSelected EventKind = "selected" // goes into the plan
	EventReleased EventKind = "released" // leaves the plan
	EventRefused  EventKind = "refused"  // slow enough, kept out by a guard: told once, and again when the guards change
	EventIgnored  EventKind = "ignored"  // input left out
	EventEvicted  EventKind = "evicted"  // more prefixes than are tracked
	EventReset    EventKind = "reset"    // all history dropped

	// With the experiment only.
	EventPromoted EventKind = "promoted" // benefit shown: treated but for a control block in each group
	EventRetrial  EventKind = "retrial"  // promoted before, back on trial with fresh evidence
	EventDemoted  EventKind = "demoted"  // harm shown: leaves the plan and cools down
	EventRetired  EventKind = "retired"  // no benefit shown in time: leaves the plan and cools down
	EventBrake    EventKind = "brake"    // harm over all: everybody leaves the plan, and the kill switch is pulled
)

// Event is one thing that a round did, with what it rested on.
type Event struct {
	RoundStart int64         `json:"round_start"` // Unix seconds
	Kind       EventKind     `json:"kind"`
	Prefix     record.Prefix `json:"prefix,omitempty"` // zero where it concerns no single one
	Guard      string        `json:"guard,omitempty"`  // names of the guards, joined by commas
	Reason     string        `json:"reason"`           // one line
	Evidence   *Explanation  `json:"evidence,omitempty"`
}

// maxRefusals bounds the events of one round; the rest are told in the next
// ones. Evidence is 5 to 13 kB, and in the first hour a whole PoP is judged at once.
const maxRefusals = 500
