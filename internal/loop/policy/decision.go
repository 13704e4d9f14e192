package policy

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/congctl/congctl/internal/loop/effect"
	"github.com/congctl/congctl/internal/tcp/record"
)

// Input is one window and what is known about the host at its end. The caller keeps Rows,
// in any order.
type Input struct {
	Start      int64           // of the window, Unix seconds, a multiple of WindowSeconds
	RoundStart int64           // its end, Unix seconds
	Rows       []record.Window // all of this Start

	Unknown            string // not empty: why the whole window is unknown for all prefixes; rows are ignored and nothing is decided
	Starved            string // not empty: why the host is short of CPU; no new prefix is selected
	Frozen             bool   // the plan is held as it is: windows are measured, nothing is decided
	TreatmentIsDefault bool   // nothing to treat: no prefix is selected, and selected ones are released
	Stopped            bool   // nothing is treated, by the kill switch or because the host only observes. Without an experiment it changes nothing; with one nothing is decided and every trial begins again
}

// Summary is a round in numbers, as a store keeps it.
type Summary struct {
	RoundStart int64 `json:"round_start_unix_s"`
	Window     int64 `json:"window_start_unix_s"` // the window that the round judged

	// Counts of prefixes.
	Known    int `json:"known"`    // their performance is known in this window
	Ranked   int `json:"ranked"`   // they drew the boundary: the known ones, and treated ones by their last known performance
	InGroup  int `json:"in_group"` // of the known
	Selected int `json:"selected"` // after the round
	New      int `json:"new"`
	Released int `json:"released"`
	Refused  int `json:"refused"` // slow enough, kept out by a guard

	BoundaryBytesPerS float64 `json:"boundary_bytes_per_s"` // 0: not drawn
	Note              string  `json:"note,omitempty"`       // why the round did nothing, e.g. "frozen"
}

// Decision is a round's outcome.
type Decision struct {
	Summary
	Tracked   int         // prefixes in memory
	Selection []Selected  // after the round, by prefix
	Cooling   []Cooling   // after the round, by prefix: tried before, and not to be tried before its time
	Turns     Turns       // after the round, with one draw for all
	Harm      effect.Harm // likewise
	Stopped   bool        // nothing was treated, with the experiment: nothing was decided
	Brake     string      // not empty: pull the kill switch, for this reason
	Events    []Event
}

// Selected is a prefix of the plan, with the reasons for which it was chosen; they do not
// change while it stays, so that a stable history keeps the plan stable.
type Selected struct {
	Prefix        record.Prefix `json:"prefix"`
	Since         int64         `json:"since"` // the round that chose it, or put it in its present state, Unix seconds
	Reason        string        `json:"reason"`
	Duty          float64       `json:"duty"`
	Flap          float64       `json:"flap"`
	PerfBytesPerS float64       `json:"performance_bytes_per_s"`

	// With the experiment only.
	State   State      `json:"state,omitempty"`         // trial or promoted; always, with or without an experiment
	Role    record.Arm `json:"role,omitempty"`          // hold-out or A/A: never treated; none: treated
	From    int64      `json:"evidence_from,omitempty"` // start of the first block that counts, Unix seconds
	Group   int        `json:"group_blocks,omitempty"`  // blocks in its groups from this round on; 0: as the rules say, in rounds of earlier versions
	Retired int        `json:"retired,omitempty"`       // times in a row, before this trial

	// With selection by benefit only.
	Class    Class  `json:"class,omitempty"`    // what slowed it when it was selected
	Explored bool   `json:"explored,omitempty"` // unlikely to gain, and tried to learn
	Network  string `json:"network,omitempty"`  // its name then: what it shows is pooled with it

	Uncontrolled bool `json:"uncontrolled,omitempty"` // of StateAlways: treated in every block

	Pace Pace `json:"pacing,omitzero"` // with Rules.Cap only; it moves while the prefix stays
}

// EventKind is what happened.
type EventKind string

const (
	EventSelected EventKind = "selected" // enters the plan
	EventReleased EventKind = "released" // leaves the plan
	EventRefused  EventKind = "refused"  // slow enough, but kept out by a guard: told once, and again when the guards change
	EventIgnored  EventKind = "ignored"  // input left out
	EventEvicted  EventKind = "evicted"  // more prefixes than are tracked
	EventReset    EventKind = "reset"    // all history dropped

	// With the experiment only.
	EventPromoted EventKind = "promoted" // benefit believed: treated except for a control block in each group
	EventRetrial  EventKind = "retrial"  // promoted before, back on trial
	EventDemoted  EventKind = "demoted"  // harm shown: leaves the plan and cools down
	EventRetired  EventKind = "retired"  // no benefit believed any longer: leaves the plan and cools down
	EventCapped   EventKind = "capped"   // treated under a pacing cap from here on
	EventUncapped EventKind = "uncapped" // no longer
	EventBrake    EventKind = "brake"    // harm over all: every prefix leaves the plan, and the kill switch is pulled
)

// Event is one thing that a round did, and why.
type Event struct {
	RoundStart int64         `json:"round_start"` // Unix seconds
	Kind       EventKind     `json:"kind"`
	Prefix     record.Prefix `json:"prefix,omitempty"` // zero if it concerns no single prefix
	Guard      string        `json:"guard,omitempty"`  // names of the guards, joined by commas
	Reason     string        `json:"reason"`           // one line
	Evidence   *Explanation  `json:"evidence,omitempty"`
}

// maxRefusals bounds the events of one round; the rest follow in the next ones. Evidence
// is 5 to 13 kB, and in the first hour a whole PoP is judged at once.
const maxRefusals = 500

// Memory is what a round leaves behind that cannot be recomputed from its windows. It is
// stored with each round, for Replay.
type Memory struct {
	Selected []Selected  `json:"selected"`
	Cooling  []Cooling   `json:"cooling"`
	Turns    Turns       `json:"turns,omitzero"`
	Harm     effect.Harm `json:"harm,omitzero"`
	Stopped  bool        `json:"stopped,omitempty"` // nothing was treated: nothing was decided and no event was told
}

// Memory returns what to store of a decision.
func (d Decision) Memory() Memory { return Memory{d.Selection, d.Cooling, d.Turns, d.Harm, d.Stopped} }

// plainMemory has no methods: encoding/json writes its fields.
type plainMemory Memory

// MarshalJSON writes an object; without anything else, a list of the selected, which is the
// form of older stores.
func (m Memory) MarshalJSON() ([]byte, error) {
	if len(m.Cooling) == 0 && m.Turns == (Turns{}) && m.Harm == (effect.Harm{}) && !m.Stopped {
		return json.Marshal(m.Selected)
	}
	return json.Marshal(plainMemory(m))
}

// UnmarshalJSON reads what MarshalJSON wrote; on an error m is unchanged.
func (m *Memory) UnmarshalJSON(b []byte) error {
	var v plainMemory
	var err error
	if bytes.HasPrefix(bytes.TrimSpace(b), []byte("[")) {
		err = json.Unmarshal(b, &v.Selected)
	} else {
		err = json.Unmarshal(b, &v)
	}
	if err != nil {
		return fmt.Errorf("read memory of a round: %w", err)
	}
	*m = Memory(v)
	return nil
}
