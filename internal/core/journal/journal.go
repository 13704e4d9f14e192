// Package journal names what a store keeps of the loop: rounds, events, plan
// files, and the commit that binds them to the window they came from.
//
// It is not the store: that is data/sqlite on one host.
//
// Its trap: a Commit is whole or not at all. Whoever splits one loses the promise
// that a window is never there without its decision.
package journal

import (
	"errors"

	"github.com/congctl/congctl/internal/core/record"
)

// ErrExists is what a store gives for a window that it has closed already: after
// the wall clock was set back, windows come a second time.
var ErrExists = errors.New("already in the store")

// Round is the summary of one decision round and, as JSON, what it selected.
type Round struct {
	RoundStart int64 `json:"round_start_unix_s"`
	Window     int64 `json:"window_start_unix_s"` // the window that the round judged

	// Counts of prefixes.
	Known    int `json:"known"`
	Ranked   int `json:"ranked"`
	InGroup  int `json:"in_group"`
	Selected int `json:"selected"`
	New      int `json:"new"`
	Released int `json:"released"`
	Refused  int `json:"refused"`

	BoundaryBytesPerS float64 `json:"boundary_bytes_per_s"` // the group's boundary; 0 where there was none
	Note              string  `json:"note,omitempty"`       // why the round did nothing, e.g. "frozen"
	SelectionJSON     []byte  `json:"-"`
}

// Event is one thing that happened, with its evidence. It holds prefixes, never
// a client's address, unless the "addresses" rule is full.
type Event struct {
	ID       int64         // given by the store, rising
	At       int64         // Unix seconds
	Kind     string        // e.g. "selected", "refused", "released", "stop"
	Prefix   record.Prefix // 0: of no prefix
	Text     string        // one line for people
	Evidence []byte        // JSON, or empty
}

// PlanFile is one signed plan file, byte for byte.
type PlanFile struct {
	Serial  record.PlanID
	Created int64 // Unix seconds
	Hash    string
	Text    []byte
}

// Commit is what belongs together. Every part is optional.
type Commit struct {
	Closed   bool // the window Start closes with this commit, with Rows (maybe none)
	Start    int64
	Rows     []record.Window
	Notes    []record.WindowNote // why windows, this one or others, are not to be trusted
	Round    *Round
	Events   []Event
	Plan     *PlanFile
	Settings map[string][]byte
}

// Head is one window that the store knows: how many rows it has and, when it is
// not to be trusted, why.
type Head struct {
	Start int64 // Unix seconds
	Rows  int
	Note  string
}

// Keys of the settings that congctl keeps.
const (
	SettingKilled     = "killed"      // the operator's kill switch: it survives a restart
	SettingFrozen     = "frozen"      // the plan is held as it is
	SettingSalt       = "salt"        // of the experiment: the arms depend on it
	SettingSigningKey = "signing_key" // Ed25519 seed of this host's plans
)
