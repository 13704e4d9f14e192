package plan

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strconv"

	"github.com/congctl/congctl/internal/tcp/record"
)

// Values of Plan.Experiment.
const (
	ExperimentOff = "off" // every entry is treated except in one block of GroupPromoted
	ExperimentOn  = "on"  // trial, promotion, hold-out and A/A
)

// Values of Entry.State.
const (
	StateSelected = "selected" // experiment off: chosen by level
	StateTrial    = "trial"    // experiment on: on probation, groups of GroupTrial blocks
	StatePromoted = "promoted" // experiment on: believed to help, groups of GroupPromoted blocks
	StateSettled  = "settled"  // experiment on, of earlier versions: groups of GroupSettled blocks
	StateHoldout  = "holdout"  // experiment on: in the hold-out, drawn or named; never treated
	StateAA       = "aa"       // experiment on: in the A/A set, drawn or named; never treated

	// With or without the experiment, and never drawn for hold-out or A/A.
	StateAlways       = "always"       // listed by the operator, groups of GroupPromoted blocks
	StateUncontrolled = "uncontrolled" // listed by the operator, treated in every block
)

// DrawByPoP as Plan.DrawBy: all networks share one draw (arms.go).
const DrawByPoP = "pop"

// DefaultGroupTrial is a trial's group, blocks: evidence is fastest at equal shares.
const DefaultGroupTrial = 2

// Values of Plan.CapRule that a controller writes.
const (
	CapRuleNone = "none"
	CapRuleLate = "late-p95" // 1.15 x p95 of the late rates of 6 h, and scouts
)

// Scouts: under CapRuleLate one treated connection in so many, by a hash of its cookie, is never capped. A tenth of the cost of no
// cap, for a sample that shows what the path gives without.
const Scouts = 10

// Salt keys the arms. It belongs to the experiment: a new one draws all arms anew.
type Salt []byte

// MarshalText prints the salt in hex, as in the file.
func (s Salt) MarshalText() ([]byte, error) { return hex.AppendEncode(nil, s), nil }

// UnmarshalText is the inverse of MarshalText; on an error the salt is unchanged.
func (s *Salt) UnmarshalText(b []byte) error {
	raw, err := hex.DecodeString(string(b))
	if err != nil {
		return fmt.Errorf("parse salt %s: not hex digits in pairs", quote(string(b)))
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
	GroupTrial      int           `json:"group_trial"`       // blocks
	GroupPromoted   int           `json:"group_promoted"`    // blocks; with the experiment off: of all entries
	GroupSettled    int           `json:"group_settled"`     // blocks; 0: the plan has no settled entries and is of format 1
	DrawBy          string        `json:"draw_by,omitempty"` // DrawByPoP; "": each network has its own draws, and the plan is of an earlier format
	HoldoutPermille int           `json:"holdout_permille"`
	AAPermille      int           `json:"aa_permille"`
	Salt            Salt          `json:"salt"`
	CapRule         string        `json:"cap_rule"` // where the entries' caps came from, and whether there are scouts
	Entries         []Entry       `json:"entries"`  // sorted by prefix
}

// Entry is one prefix to treat, or to measure as if treated. That of record.All is for each client network that has none.
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

// Find returns the entry of a prefix; the entries must be sorted.
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

// sorted returns the entries by prefix and leaves the plan unchanged.
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

// Text returns the plan without a signature: the same plan gives the same bytes, whatever the order
// of its entries. It writes '?' for what may not stand in a line; Validate refuses such a plan.
func (p *Plan) Text() []byte {
	b := p.body()
	sum := hashOf(b)
	b = append(b, hashPrefix...)
	b = append(b, sum...)
	return append(b, '\n')
}

// body returns everything before the hash line.
func (p *Plan) body() []byte {
	b := make([]byte, 0, 1024+len(p.Entries)*160)
	b = append(b, magic+" "+p.format()+"\n"...)
	for _, f := range p.header() {
		b = append(b, f.name...)
		b = append(b, ' ')
		b = f.write(b, p)
		b = append(b, '\n')
	}
	b = append(b, "entries "...)
	b = strconv.AppendInt(b, int64(len(p.Entries)), 10)
	b = append(b, "\n"+columnsName+" "+columns+"\n"...)
	for _, e := range p.sorted() {
		b = appendEntry(b, e)
		b = append(b, '\n')
	}
	return b
}
