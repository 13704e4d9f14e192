package control

import (
	"context"

	"github.com/congctl/congctl/internal/loop/agent"
	"github.com/congctl/congctl/internal/loop/journal"
	"github.com/congctl/congctl/internal/loop/plan"
	"github.com/congctl/congctl/internal/loop/policy"
	"github.com/congctl/congctl/internal/tcp/record"
)

// View is everything that can be read. The running controller, a replay of the store and
// [Client] implement it.
type View interface {
	// Prefixes lists tracked prefixes in the requested order.
	Prefixes(context.Context, PrefixesRequest) ([]PrefixRow, error)
	// Explain returns all that is known of one prefix; [NotFound] if it is not tracked.
	Explain(context.Context, record.Prefix) (policy.Explanation, error)
	// Rounds lists the last n rounds, newest first.
	Rounds(ctx context.Context, n int) ([]journal.Round, error)
	// Events lists the newest events first.
	Events(context.Context, EventsRequest) ([]journal.Event, error)
	// Plan returns the plan file with a serial; 0 is the latest. [NotFound] if there is none.
	Plan(context.Context, record.PlanID) (PlanFile, error)
	// Compare says what a push of a plan file would change in the plan in force; [Refused] if the push would be.
	Compare(ctx context.Context, text string) (plan.Diff, error)
	// History lists the last n plans, newest first; 0 is all.
	History(ctx context.Context, n int) ([]PlanLine, error)
	Status(context.Context) (Status, error)
}

// PrefixesRequest filters prefixes; the zero value is all of them.
type PrefixesRequest struct {
	Selected bool           `json:"selected,omitempty"` // only those in the plan
	States   []policy.State `json:"states,omitempty"`   // only those in one of them; none: all
	Sort     policy.Order   `json:"sort,omitempty"`     // "": by interest
	Limit    int            `json:"limit,omitempty"`    // the first so many; 0: no limit
}

// PrefixRow is what the policy knows of a prefix and what the plan in force does to it now.
type PrefixRow struct {
	policy.Row
	Treatment string     `json:"treatment,omitempty"` // congestion control; "" if not in the plan, or never treated
	Arm       record.Arm `json:"arm"`                 // of the present block
	ArmUntil  int64      `json:"arm_until_unix_s,omitempty"`
}

// EventsRequest filters events.
type EventsRequest struct {
	Prefix record.Prefix `json:"prefix,omitzero"` // 0: of all
	Kinds  []string      `json:"kinds,omitempty"` // only those of one of them; none: all
	Limit  int           `json:"limit"`
}

// PlanFile is a plan as it was signed: Text is the plan, byte for byte.
type PlanFile struct {
	Serial       record.PlanID `json:"serial"`
	CreatedUnixS int64         `json:"created_unix_s"`
	Hash         string        `json:"hash"`
	Text         string        `json:"text"`
	InForce      bool          `json:"in_force"` // false in a replay: no process enforces it
}

// PlanLine is what became of one plan. Added and so on are against the plan before it.
type PlanLine struct {
	Serial       record.PlanID `json:"serial"`
	CreatedUnixS int64         `json:"created_unix_s"`
	By           string        `json:"by"` // "round", "the roll-out", which takes a plan back, or an operator
	Networks     int           `json:"networks"`
	Added        int           `json:"added"`
	Removed      int           `json:"removed"`
	Changed      int           `json:"changed"`
	State        string        `json:"state"` // canary, share, all, settled, taken back, replaced, waits, in force; "": nothing was told of it
	Why          string        `json:"why"`   // of the state, in one line
	Hash         string        `json:"hash"`
}

// Status is the state of the whole process.
type Status struct {
	Running      bool          `json:"running"` // false: a replay of the store answers
	Version      string        `json:"version"`
	PoP          string        `json:"pop"`
	PID          int           `json:"pid,omitempty"`
	StartedUnixS int64         `json:"started_unix_s,omitempty"`
	Tier         string        `json:"tier,omitempty"` // full, good, observe
	TierReason   string        `json:"tier_reason,omitempty"`
	Stopped      bool          `json:"stopped"`               // by the kill switch: what the kernel does; in a replay what the store says
	StoppedNext  bool          `json:"stopped_at_next_start"` // what the store says; it differs where the store could not be written
	Frozen       bool          `json:"frozen"`
	Plan         record.PlanID `json:"plan"`                   // serial of the latest; 0: none
	RoundUnixS   int64         `json:"round_unix_s,omitempty"` // the last round
	Ranked       int           `json:"ranked"`                 // networks ranked in the last round
	MinRanked    int           `json:"ranked_needed"`          // with fewer nothing is decided
	All          bool          `json:"all_networks,omitempty"` // the plan treats those that it does not name, too: policy.select all
	Treatment    string        `json:"treatment,omitempty"`    // congestion control; "" in a replay
	ToDecide     int           `json:"windows_to_decision"`    // known windows that the first network lacks; 0: none
	DecideUnixS  int64         `json:"first_decision_unix_s,omitempty"`
	Agent        *agent.Status `json:"agent,omitempty"` // nil in a replay
}

// The queries behind View.
var (
	prefixesQuery = Query[PrefixesRequest, []PrefixRow]{Name: "prefixes"}
	explainQuery  = Query[prefixRequest, policy.Explanation]{Name: "explain"}
	roundsQuery   = Query[countRequest, []journal.Round]{Name: "rounds"}
	eventsQuery   = Query[EventsRequest, []journal.Event]{Name: "events"}
	compareQuery  = Query[compareRequest, plan.Diff]{Name: "compare", plan: true}
	historyQuery  = Query[countRequest, []PlanLine]{Name: "history"}
	planQuery     = Query[planRequest, PlanFile]{Name: "plan"}
	statusQuery   = Query[None, Status]{Name: "status"}
	aliveQuery    = Query[None, None]{Name: "alive"}
)

type prefixRequest struct {
	Prefix record.Prefix `json:"prefix"`
}

type countRequest struct {
	N int `json:"n"`
}

type planRequest struct {
	Serial record.PlanID `json:"serial"`
}

// HandleView makes h answer from v.
func HandleView(h *Handler, v View) {
	handlePrefixes(h, v)
	Handle(h, explainQuery, func(ctx context.Context, q prefixRequest) (policy.Explanation, error) {
		return v.Explain(ctx, q.Prefix)
	})
	Handle(h, roundsQuery, func(ctx context.Context, q countRequest) ([]journal.Round, error) { return v.Rounds(ctx, q.N) })
	Handle(h, eventsQuery, v.Events)
	Handle(h, planQuery, func(ctx context.Context, q planRequest) (PlanFile, error) { return v.Plan(ctx, q.Serial) })
	Handle(h, compareQuery, func(ctx context.Context, q compareRequest) (plan.Diff, error) { return v.Compare(ctx, q.Text) })
	Handle(h, historyQuery, func(ctx context.Context, q countRequest) ([]PlanLine, error) { return v.History(ctx, q.N) })
	HandleStatus(h, v.Status)
}

// HandleStatus makes h answer with a status, and nothing else of a View: an agent decides nothing.
func HandleStatus(h *Handler, status func(context.Context) (Status, error)) {
	Handle(h, statusQuery, plain(status))
}

// HandleAlive makes h say whether the process does its work, as its watchdog is told.
func HandleAlive(h *Handler, alive func(context.Context) error) {
	Handle(h, aliveQuery, func(ctx context.Context, _ None) (None, error) {
		if err := alive(ctx); err != nil {
			return None{}, &Error{Text: err.Error(), Code: Unavailable}
		}
		return None{}, nil
	})
}

// plain makes a handler of a method without a request.
func plain[A any](fn func(context.Context) (A, error)) func(context.Context, None) (A, error) {
	return func(ctx context.Context, _ None) (A, error) { return fn(ctx) }
}

// Prefixes, Explain, Rounds, Events, Plan, Compare, History and Status make Client a [View].

func (c *Client) Prefixes(ctx context.Context, q PrefixesRequest) ([]PrefixRow, error) {
	return Ask(ctx, c, prefixesQuery, q)
}
func (c *Client) Explain(ctx context.Context, p record.Prefix) (policy.Explanation, error) {
	return Ask(ctx, c, explainQuery, prefixRequest{p})
}
func (c *Client) Rounds(ctx context.Context, n int) ([]journal.Round, error) {
	return Ask(ctx, c, roundsQuery, countRequest{n})
}
func (c *Client) Events(ctx context.Context, q EventsRequest) ([]journal.Event, error) {
	return Ask(ctx, c, eventsQuery, q)
}
func (c *Client) Plan(ctx context.Context, serial record.PlanID) (PlanFile, error) {
	return Ask(ctx, c, planQuery, planRequest{serial})
}
func (c *Client) Compare(ctx context.Context, text string) (plan.Diff, error) {
	return Ask(ctx, c, compareQuery, compareRequest{text})
}
func (c *Client) History(ctx context.Context, n int) ([]PlanLine, error) {
	return Ask(ctx, c, historyQuery, countRequest{n})
}

// Alive returns an error unless the process does its work.
func (c *Client) Alive(ctx context.Context) error {
	_, err := Ask(ctx, c, aliveQuery, None{})
	return err
}

func (c *Client) Status(ctx context.Context) (Status, error) {
	return Ask(ctx, c, statusQuery, None{})
}
