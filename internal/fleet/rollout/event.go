package rollout

import "github.com/congctl/congctl/internal/tcp/record"

// Event is something that happened. The caller authenticates it first: Host is the name in the
// host's certificate, By an operator's name.
type Event interface{ apply(r *Rollout) }

// Events of the controller and of operators.
type (
	// Offer is a new signed plan, or the answer to OrderWrite. An operator's passes a freeze, and freezes:
	// the next round would undo it.
	Offer struct {
		Plan Plan   `json:"plan"`
		By   string `json:"by,omitzero"` // the operator; "" for a round of the controller
		// Held: it treats no network that the settled plan does not treat in the same way. Its header may be another,
		// since a configuration can change while the plan is frozen; refused, it would let treatment expire.
		Held bool `json:"held,omitzero"`
	}
	// Kill is the kill switch of the PoP: an operator's, or the policy's brake.
	Kill struct{ On bool }
	// Freeze holds the settled plan; renewals go on.
	Freeze struct {
		On bool
		By string
	}
	// Abort takes the present roll-out back.
	Abort struct{ By string }
	// Tick is time that passes; about one a second.
	Tick struct{}
	// Restart is the first event of a new process: its connections are gone, and orders may be lost.
	Restart struct{}
)

// Events of hosts. A host has one stream: the caller gives no Disconnect of an earlier one.
type (
	// Connect says what the host has: Serial and Hash are 0 and "" without a plan in force.
	Connect struct {
		Host, Boot, Version string
		Tier                string // "" of an older agent
		BBR                 int    // version of its kernel's; 0 unknown
		Serial              record.PlanID
		Hash                string
	}
	// Disconnect ends a host's stream.
	Disconnect struct{ Host string }
	// Ack is a plan in force, with what the agent read back from its kernel.
	Ack struct {
		Host     string
		Serial   record.PlanID
		Hash     string
		Prefixes int
	}
	// Refusal leaves the host's plan before it in force.
	Refusal struct {
		Host   string
		Serial record.PlanID
		Why    string
	}
	// Stopped says whether the fleet's kill switch is on in the host's kernel.
	Stopped struct {
		Host string
		On   bool
	}
)

// Do is what an order asks for.
type Do string

// The orders.
const (
	OrderSend   Do = "send"   // plan Serial to Host
	OrderStop   Do = "stop"   // kill switch of Host: On
	OrderDrop   Do = "drop"   // the connection of Host: Text
	OrderWrite  Do = "write"  // and offer a new plan with the content of plan Serial; 0: without entries
	OrderRefuse Do = "refuse" // the event: Text is the answer to who offered or commanded it
	OrderTell   Do = "tell"   // the store: an event of Kind with Text
)

// Order is one thing to do. Fields that its Do does not name are zero.
type Order struct {
	Do     Do
	Host   string
	Serial record.PlanID
	On     bool
	Kind   string
	Text   string
}

// Kinds of events for the store. The text of each but KindHost begins with "plan" and its serial, by
// which the history of plans (loop/controller) finds it.
const (
	KindStage    = "rollout-stage"    // a plan reaches a stage
	KindSettled  = "rollout-settled"  // it is in force on all hosts
	KindBack     = "rollout-back"     // it is taken back, and why
	KindReplaced = "rollout-replaced" // a newer plan takes its place, or waits for its end
	KindHost     = "rollout-host"     // a host does not have what it should
)
