package plan

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"

	"github.com/congctl/congctl/internal/core/record"
)

// Values of Plan.Experiment.
const (
	ExperimentOff = "off" // every entry is treated but for one block of GroupPromoted
	ExperimentOn  = "on"  // trial, promotion, hold-out and A/A
)

// Values of Entry.State.
const (
	StateSelected = "selected" // experiment off: chosen by level
	StateTrial    = "trial"    // experiment on: on probation, groups of GroupTrial blocks
	StatePromoted = "promoted" // experiment on: shown to help, groups of GroupPromoted blocks
	StateHoldout  = "holdout"  // experiment on: in the hold-out, drawn or named; never treated
	StateAA       = "aa"       // experiment on: in the A/A set, drawn or named; never treated
)

// Defaults, as in the policy; all are configuration.
const (
	DefaultMinBytes        = 100_000 // bytes acknowledged before a response is treated: shorter ones end in slow start
	DefaultBlockSeconds    = 1800    // long enough for several windows, short enough for a verdict within hours
	DefaultWashoutSeconds  = 300     // one window: the old arm's queue and the responses begun under it are gone
	DefaultGroupTrial      = 2       // one control block in 2: evidence is fastest at equal shares
	DefaultGroupPromoted   = 8       // one control block in 8: keeps the level known at 1/8 of the gain
	DefaultHoldoutPermille = 50      // 5 % of prefixes never treated: what the whole system buys
	DefaultAAPermille      = 50      // 5 % of prefixes that must show no effect
	CapRuleNone            = "none"  // the only pacing cap rule that is acted upon
)

// Salt keys the arms. It belongs to the experiment: a new one draws all arms anew.
type Salt []byte

// MarshalText prints the salt in hex, as in the file.
func (s Salt) MarshalText() ([]byte, error) { return hex.AppendEncode(nil, s), nil }

// UnmarshalText is the inverse of MarshalText; on an error the salt stays.
func (s *Salt) UnmarshalText(b []byte) error {
	raw, err := hex.DecodeString(string(b))
	if err != nil {
		return fmt.Errorf("parse salt %q: not hex digits in pairs", b)
	}
	*s = raw
	return nil
}

// Plan is one PoP's plan. Its fields are the lines of the file, in this order.
type Plan struct {
	PoP             string        `json:"pop"`
	Serial          record.PlanID `json:"serial"`         // > 0, a new one for each plan
	Created         int64         `json:"created_unix_s"` // Unix seconds
	Expires         int64         `json:"expires_unix_s"` // Unix seconds; from here on the plan is void
	Treatment       string        `json:"treatment"`      // the experiment's congestion control; each entry names its own
	MinBytes        uint64        `json:"min_bytes"`      // of one response, acknowledged
	BlockSeconds    int64         `json:"block_seconds"`
	WashoutSeconds  int64         `json:"washout_seconds"`
	Experiment      string        `json:"experiment"`
	GroupTrial      int           `json:"group_trial"`    // blocks
	GroupPromoted   int           `json:"group_promoted"` // blocks; with the experiment off: of all entries
	HoldoutPermille int           `json:"holdout_permille"`
	AAPermille      int           `json:"aa_permille"`
	Salt            Salt          `json:"salt"`
	CapRule         string        `json:"cap_rule"` // where the entries' caps came from; says, does nothing
	Entries         []Entry       `json:"entries"`  // sorted by prefix
}

// Entry is one prefix to treat, or to measure as if.
type Entry struct {
	Prefix       record.Prefix `json:"prefix"`
	Cong         string        `json:"cong"`
	State        string        `json:"state"`
	Since        int64         `json:"since_unix_s"`    // Unix seconds of its first plan in this state
	CapBytesPerS uint64        `json:"cap_bytes_per_s"` // SO_MAX_PACING_RATE with the switch; 0 none
	Reason       string        `json:"reason"`          // printable ASCII, 1 to MaxReasonBytes
}

// Sort orders the entries by prefix.
func (p *Plan) Sort() { slices.SortStableFunc(p.Entries, byPrefix) }

// Find gives the entry of a prefix; the entries must be sorted.
func (p *Plan) Find(pfx record.Prefix) (e Entry, ok bool) {
	i, ok := slices.BinarySearchFunc(p.Entries, pfx, func(e Entry, t record.Prefix) int { return cmp.Compare(e.Prefix, t) })
	if !ok {
		return Entry{}, false
	}
	return p.Entries[i], true
}

// Expired reports whether the plan is void at a time, Unix seconds.
func (p *Plan) Expired(unix int64) bool { return unix >= p.Expires }

// Hash is the hex SHA-256 of the file's lines before the hash line: the plan's
// identity. Two plans with the same content have the same hash.
func (p *Plan) Hash() string { return hashOf(p.body()) }

func hashOf(body []byte) string {
	sum := sha256.Sum256(body)
	return hex.EncodeToString(sum[:])
}

// sorted gives the entries by prefix, without touching the plan.
func (p *Plan) sorted() []Entry {
	if p.inOrder() {
		return p.Entries
	}
	s := slices.Clone(p.Entries)
	// Duplicates are refused later, but even they print in one order only.
	slices.SortFunc(s, func(a, b Entry) int {
		return cmp.Or(byPrefix(a, b), cmp.Compare(a.Cong, b.Cong), cmp.Compare(a.State, b.State), cmp.Compare(a.Since, b.Since),
			cmp.Compare(a.CapBytesPerS, b.CapBytesPerS), cmp.Compare(a.Reason, b.Reason))
	})
	return s
}

func (p *Plan) inOrder() bool {
	for i := 1; i < len(p.Entries); i++ {
		if p.Entries[i-1].Prefix >= p.Entries[i].Prefix {
			return false
		}
	}
	return true
}

func byPrefix(a, b Entry) int { return cmp.Compare(a.Prefix, b.Prefix) }
