package policy

import (
	"cmp"
	"math"
	"slices"

	"github.com/congctl/congctl/internal/answer"
	"github.com/congctl/congctl/internal/tcp/record"
)

// Row is one prefix in a table.
type Row struct {
	Prefix record.Prefix `json:"prefix"`
	State  State         `json:"state"`
	Guard  string        `json:"guard,omitempty"`        // names of the guards that would keep it out
	Since  int64         `json:"since_unix_s,omitempty"` // selected since, Unix seconds
	Why    string        `json:"why,omitempty"`          // the first sentence of its Explanation

	PerfBytesPerS float64 `json:"performance_bytes_per_s"` // last known control performance; 0: none
	PerfStart     int64   `json:"performance_window_start_unix_s,omitempty"`
	Conns         int     `json:"performance_connections"` // eligible control connections behind it, own and borrowed

	TreatedBytesPerS float64 `json:"treated_bytes_per_s,omitempty"` // geometric mean of the rates of its last treated block; 0: none, or not tried

	KnownNow bool    `json:"known"`    // in the last window
	InGroup  bool    `json:"in_group"` // in the last window
	Known    int     `json:"known_windows"`
	Duty     float64 `json:"duty"`
	Flap     float64 `json:"flap"`

	// Control connections of the lookback; 0 without any.
	MinRTTUs     float64 `json:"min_rtt_us"`
	RetransShare float64 `json:"retrans_share"`
	Signature    Class   `json:"signature,omitempty"` // absent: not known

	// What its pairs show, treatment over control; 0 below two pairs.
	Rate    float64 `json:"rate_ratio,omitempty"`
	Goodput float64 `json:"goodput_ratio,omitempty"` // over busy time
	Claim   Claim   `json:"claim,omitempty"`         // absent: not treated
	ShownIn int64   `json:"shown_in_s,omitempty"`    // seconds until its benefit is shown, if its blocks go on as they did; 0: it is, or will not be
}

// Shown is the claim in a word or two, "-" without one.
func (r *Row) Shown() string {
	switch {
	case r.Claim == ClaimShown:
		return "yes"
	case r.Claim == ClaimOpen && r.ShownIn > 0:
		return "in " + answer.About(r.ShownIn)
	case r.Claim == ClaimOpen:
		return "no"
	}
	return cmp.Or(string(r.Claim), "-")
}

// WindowsToDecide returns how many known windows the first network still lacks before
// anything can be decided about it; 0: a decision is possible.
func (e *Engine) WindowsToDecide() int {
	lacks := e.rules.Known()
	if e.rules.Select == SelectAll {
		return 0
	}
	for _, t := range e.tracks {
		if lacks = min(lacks, e.rules.Known()-len(t.history)); lacks <= 0 {
			return 0
		}
	}
	return lacks
}

// Rows lists every tracked prefix, sorted by prefix, as of the last round.
func (e *Engine) Rows() []Row {
	rows := make([]Row, len(e.tracks))
	for i, t := range e.tracks {
		rows[i] = e.row(t)
	}
	return rows
}

func (e *Engine) row(t *track) Row {
	s, p := t.standing(), t.pool(e.now, e.rules)
	guard := hits(e.guards(t, p))
	row := Row{Prefix: t.prefix, State: e.state(t, guard), Guard: guard,
		PerfBytesPerS: t.last, Conns: int(t.lastN),
		Why:   e.verdict(t, s)[0],
		Known: s.known, Duty: s.duty(), Flap: s.flap(), MinRTTUs: p.MinRTTUs, RetransShare: p.RetransShare}
	if s := e.signature(t, p); s != nil {
		row.Signature = s.Class
	}
	if s := cmp.Or(t.chosen, e.withAll(t)); s != nil {
		row.Since = s.Since
	}
	if t.trial != nil {
		row.TreatedBytesPerS = t.treatedRate()
		row.Rate, _, _ = ratioOf(t.trial.evidence)
		row.Goodput, _, _ = ratioOf(t.trial.goodput)
		row.Claim, row.ShownIn = e.claim(t)
	}
	if t.lastN > 0 {
		row.PerfStart = e.start(t.lastAt)
		row.KnownNow = t.lastAt == e.now
	}
	if n := len(t.history); row.KnownNow && n > 0 {
		row.InGroup = t.history[n-1].in()
	}
	return row
}

// treatedRate returns the rate of the last treated block of a prefix with a trial, bytes/s; 0 if there was none, as of A/A.
func (t *track) treatedRate() float64 {
	for _, b := range slices.Backward(t.trial.blocks) {
		if b.arm == record.ArmTreatment && b.groupLen > 0 && t.chosen.Role == record.ArmNone {
			return math.Round(math.Exp(b.MeanLog))
		}
	}
	return 0
}

// Order is a way to sort a table of prefixes. Equals go by interest, so that every
// order is total.
//
// Interest is what an operator looks at first: prefixes that are treated, then those
// in the plan that never are (hold-out, A/A), then all others as selection by level
// would take them: the highest duty cycle first, of equals the slowest. Candidates
// therefore stand above prefixes that are fast, and prefixes without a known
// performance come last.
type Order string

// Orders, each with its name for users.
const (
	ByInterest Order = "interest"
	ByAddress  Order = "address"     // IPv4 first
	ByRate     Order = "rate"        // slowest first, unknown last
	ByConns    Order = "connections" // most first
	ByDuty     Order = "duty"        // highest first
	ByFlap     Order = "flap"        // highest first
)

// Orders lists all orders, the default first.
var Orders = []Order{ByInterest, ByAddress, ByRate, ByConns, ByDuty, ByFlap}

// Sort sorts rows; an order that is not one of Orders is by interest.
func (o Order) Sort(rows []Row) {
	slices.SortFunc(rows, func(a, b Row) int { return cmp.Or(o.compare(&a, &b), byInterest(&a, &b)) })
}

func (o Order) compare(a, b *Row) int {
	switch o {
	case ByAddress:
		return cmp.Compare(a.Prefix, b.Prefix)
	case ByRate:
		return bySlowness(a, b)
	case ByConns:
		return cmp.Compare(b.Conns, a.Conns)
	case ByDuty:
		return cmp.Compare(b.Duty, a.Duty)
	case ByFlap:
		return cmp.Compare(b.Flap, a.Flap)
	}
	return 0
}

func byInterest(a, b *Row) int {
	return cmp.Or(cmp.Compare(a.State.interest(), b.State.interest()), cmp.Compare(b.Duty, a.Duty), bySlowness(a, b), cmp.Compare(a.Prefix, b.Prefix))
}

func bySlowness(a, b *Row) int {
	return cmp.Or(record.CompareBool(a.Conns == 0, b.Conns == 0), cmp.Compare(a.PerfBytesPerS, b.PerfBytesPerS))
}

// interest ranks a state, the most interesting first.
func (s State) interest() int {
	switch s {
	case StateAlways, StateTrial, StatePromoted, StateSelected:
		return 0
	case StateHoldout, StateAA:
		return 1
	}
	return 2
}
