package control

import (
	"context"
	"encoding/json"

	"github.com/congctl/congctl/internal/app/agent"
	"github.com/congctl/congctl/internal/core/journal"
	"github.com/congctl/congctl/internal/core/policy"
	"github.com/congctl/congctl/internal/core/record"
)

// View is everything that can be read. The running controller, a replay of the
// store and [Client] each are one.
type View interface {
	// Prefixes lists tracked prefixes, in the order of [record.Prefix].
	Prefixes(context.Context, PrefixesRequest) ([]PrefixRow, error)
	// Explain says all that is known of one prefix. [NotFound] if it is not tracked.
	Explain(context.Context, record.Prefix) (policy.Explanation, error)
	// Rounds lists the last n rounds, newest first.
	Rounds(ctx context.Context, n int) ([]journal.Round, error)
	// Events lists the newest events first.
	Events(context.Context, EventsRequest) ([]Event, error)
	// Plan gives the plan file with a serial; 0 is the latest. [NotFound] if there is none.
	Plan(context.Context, record.PlanID) (PlanFile, error)
	Status(context.Context) (Status, error)
}

// PrefixesRequest filters prefixes; the zero value is all of them.
type PrefixesRequest struct {
	Selected bool `json:"selected,omitempty"` // only those in the plan
	Limit    int  `json:"limit,omitempty"`    // 0: no limit
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
	Limit  int           `json:"limit"`
}

// Event is journal.Event as it crosses the socket.
type Event struct {
	ID       int64           `json:"id"`
	AtUnixS  int64           `json:"at_unix_s"`
	Kind     string          `json:"kind"`
	Prefix   record.Prefix   `json:"prefix,omitzero"` // 0: of no prefix
	Text     string          `json:"text"`
	Evidence json.RawMessage `json:"evidence,omitempty"`
}

// EventOf puts a stored event into the shape that crosses the socket.
func EventOf(e journal.Event) Event {
	return Event{ID: e.ID, AtUnixS: e.At, Kind: e.Kind, Prefix: e.Prefix, Text: e.Text, Evidence: e.Evidence}
}

// PlanFile is a plan as it was signed: its text is the plan, byte for byte.
type PlanFile struct {
	Serial       record.PlanID `json:"serial"`
	CreatedUnixS int64         `json:"created_unix_s"`
	Hash         string        `json:"hash"`
	Text         string        `json:"text"`
	InForce      bool          `json:"in_force"` // false in a replay: nobody enforces it
}

// Status is the state of the whole process.
type Status struct {
	Running      bool          `json:"running"` // false: a replay of the store answers
	Version      string        `json:"version"`
	PoP          string        `json:"pop"`
	PID          int           `json:"pid,omitempty"`
	StartedUnixS int64         `json:"started_unix_s,omitempty"`
	Tier         string        `json:"tier,omitempty"` // full, good, basic, route, observe
	TierReason   string        `json:"tier_reason,omitempty"`
	Killed       bool          `json:"killed"` // by the operator's kill switch
	Frozen       bool          `json:"frozen"`
	Plan         record.PlanID `json:"plan"`                   // serial of the latest; 0: none
	RoundUnixS   int64         `json:"round_unix_s,omitempty"` // the last round
	Agent        *agent.Status `json:"agent,omitempty"`        // nil in a replay
}

// The queries behind View.
var (
	prefixesQuery = Query[PrefixesRequest, []PrefixRow]{Name: "prefixes"}
	explainQuery  = Query[prefixRequest, policy.Explanation]{Name: "explain"}
	roundsQuery   = Query[countRequest, []journal.Round]{Name: "rounds"}
	eventsQuery   = Query[EventsRequest, []Event]{Name: "events"}
	planQuery     = Query[planRequest, PlanFile]{Name: "plan"}
	statusQuery   = Query[None, Status]{Name: "status"}
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

// HandleView makes s answer from v.
func HandleView(s *Server, v View) {
	Handle(s, prefixesQuery, v.Prefixes)
	Handle(s, explainQuery, func(ctx context.Context, q prefixRequest) (policy.Explanation, error) {
		return v.Explain(ctx, q.Prefix)
	})
	Handle(s, roundsQuery, func(ctx context.Context, q countRequest) ([]journal.Round, error) { return v.Rounds(ctx, q.N) })
	Handle(s, eventsQuery, v.Events)
	Handle(s, planQuery, func(ctx context.Context, q planRequest) (PlanFile, error) { return v.Plan(ctx, q.Serial) })
	Handle(s, statusQuery, plain(v.Status))
}

// plain makes a method without a question a handler.
func plain[A any](fn func(context.Context) (A, error)) func(context.Context, None) (A, error) {
	return func(ctx context.Context, _ None) (A, error) { return fn(ctx) }
}

// Prefixes, Explain, Rounds, Events, Plan and Status make Client a [View].

func (c *Client) Prefixes(ctx context.Context, q PrefixesRequest) ([]PrefixRow, error) {
	return Ask(ctx, c, prefixesQuery, q)
}
func (c *Client) Explain(ctx context.Context, p record.Prefix) (policy.Explanation, error) {
	return Ask(ctx, c, explainQuery, prefixRequest{p})
}
func (c *Client) Rounds(ctx context.Context, n int) ([]journal.Round, error) {
	return Ask(ctx, c, roundsQuery, countRequest{n})
}
func (c *Client) Events(ctx context.Context, q EventsRequest) ([]Event, error) {
	return Ask(ctx, c, eventsQuery, q)
}
func (c *Client) Plan(ctx context.Context, serial record.PlanID) (PlanFile, error) {
	return Ask(ctx, c, planQuery, planRequest{serial})
}
func (c *Client) Status(ctx context.Context) (Status, error) {
	return Ask(ctx, c, statusQuery, None{})
}
