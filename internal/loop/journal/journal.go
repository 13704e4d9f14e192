// Package journal names what a store keeps of the loop: rounds, events, plan files, and
// the commit that binds them to their window.
//
// It is not the store; that is loop/store/sqlite, on one host.
//
// Its trap: a Commit is whole or not at all. Code that splits one breaks the promise that a
// window never exists without its decision.
package journal

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/congctl/congctl/internal/loop/policy"
	"github.com/congctl/congctl/internal/tcp/record"
)

// ErrExists is what a store returns for a window that it has closed already: after the wall
// clock was set back, windows come a second time.
var ErrExists = errors.New("already in the store")

// Round is the summary of one decision round and, as JSON, what it selected.
type Round struct {
	policy.Summary
	SelectionJSON []byte `json:"-"`
}

// Event is one thing that happened, with its evidence. It holds prefixes, never
// a client's address, unless the "addresses" rule is full.
type Event struct {
	ID       int64           `json:"id"`              // set by the store, rising
	At       int64           `json:"at_unix_s"`       // Unix seconds
	Kind     string          `json:"kind"`            // e.g. "selected", "refused", "released", "stop"
	Prefix   record.Prefix   `json:"prefix,omitzero"` // 0: of no single prefix
	Text     string          `json:"text"`            // one line for people
	Evidence json.RawMessage `json:"evidence,omitempty"`
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
	Notes    []record.WindowNote // why windows, this one or others, cannot be trusted
	Round    *Round
	Events   []Event
	Plan     *PlanFile
	Settings map[string][]byte
}

// Head is one window in the store: how many rows it has and, if it cannot be trusted, why.
type Head struct {
	Start int64 // Unix seconds
	Rows  int
	Note  string
}

// Recorded is the windows in a store.
type Recorded interface {
	Heads(ctx context.Context, from, to int64) ([]Head, error)
	Windows(ctx context.Context, from, to int64, row func(*record.Window) error) error
}

// Inputs calls each with every window that starts in [from, to), oldest first, as the policy
// takes it. The rows are used again for the next one.
func Inputs(ctx context.Context, r Recorded, from, to, windowSeconds int64, each func(policy.Input) error) error {
	heads, err := r.Heads(ctx, from, to)
	if err != nil {
		return fmt.Errorf("read windows of the store: %w", err)
	}
	var rows []record.Window
	for _, h := range heads {
		rows = rows[:0]
		err := r.Windows(ctx, h.Start, h.Start+1, func(w *record.Window) error {
			rows = append(rows, *w)
			return nil
		})
		if err != nil {
			return fmt.Errorf("read windows of the store: window %d: %w", h.Start, err)
		}
		if err := each(policy.Input{Start: h.Start, RoundStart: h.Start + windowSeconds, Rows: rows, Unknown: h.Note}); err != nil {
			return err
		}
	}
	return nil
}

// Before is, in Unix seconds, from when on each part of a store is kept; 0 keeps all.
// Span bounds what one pruning deletes of each part: what lies within so many seconds
// of its oldest; 0 deletes all that is due.
type Before struct{ Windows, Rounds, Events, Plans, Span int64 }

// Keys of the settings that congctl keeps.
const (
	SettingKilled     = "killed"            // the operator's kill switch, which survives a restart
	SettingFrozen     = "frozen"            // the plan is held as it is
	SettingSalt       = "salt"              // of the experiment: the arms depend on it
	SettingSigningKey = "signing_key"       // Ed25519 seed of this host's plans
	SettingNextKey    = "signing_key_next"  // of those after a rotation; empty: none is made
	SettingPastKeys   = "signing_keys_past" // public keys before it, one behind the other
)
