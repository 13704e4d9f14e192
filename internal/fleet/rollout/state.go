package rollout

import (
	"time"

	"github.com/congctl/congctl/internal/tcp/record"
)

// Plan is what a roll-out must know of a signed plan.
type Plan struct {
	Serial   record.PlanID `json:"serial"`         // 0: no plan
	Hash     string        `json:"hash"`           // plan.Plan.Hash
	Content  string        `json:"content"`        // the hash without serial and dates: a renewal has the same
	Prefixes int           `json:"prefixes"`       // that each kernel must read back; 0: treats nothing
	Expires  int64         `json:"expires_unix_s"` // Unix seconds; from here on it is void
}

func (p Plan) expired(nowNs int64) bool { return nowNs/int64(time.Second) >= p.Expires }

// Stage is how far the present roll-out is.
type Stage string

// The stages. A roll-out goes down this list; each may end in StageBack.
const (
	StageSettled Stage = ""       // nothing rolls out
	StageCanary  Stage = "canary" // one host
	StageShare   Stage = "share"  // Rules.Share of the hosts
	StageAll     Stage = "all"    // all hosts
	StageBack    Stage = "back"   // Next failed; the controller has to write Base's content anew
	StageDirect  Stage = "direct" // Base goes to all at once: a renewal, a roll-back, an empty plan
)

// State is all that a roll-out remembers, as JSON. The zero value is a PoP without a plan.
type State struct {
	Stage   Stage            `json:"stage"`
	SinceNs int64            `json:"since_unix_ns"`    // of the stage
	Base    Plan             `json:"base"`             // the last settled: of hosts that the stage has not reached
	Next    Plan             `json:"next,omitzero"`    // what rolls out, or failed
	Waiting *Plan            `json:"waiting,omitzero"` // begins when Next has settled
	Killed  bool             `json:"killed"`
	Frozen  bool             `json:"frozen"`
	Hosts   map[string]*Host `json:"hosts"` // by name; those that have left, too, up to Rules.MaxHosts
}

// Host is one host as the roll-out sees it. Times are Unix nanoseconds.
type Host struct {
	Connected bool   `json:"connected"`
	SeenNs    int64  `json:"seen_unix_ns"` // last connected or disconnected
	Boot      string `json:"boot"`
	Version   string `json:"version"` // of congctl
	Tier      string `json:"tier,omitzero"`
	BBR       int    `json:"bbr_version,omitzero"` // of its kernel

	Serial   record.PlanID `json:"serial"`            // by its own word; nothing older is sent
	Hash     string        `json:"hash"`              // of that plan; "" if the kernel may not have it
	Prefixes int           `json:"prefixes"`          // read back from its kernel
	Acked    bool          `json:"acked,omitzero"`    // with the right counts, on this connection
	Refused  record.PlanID `json:"refused,omitzero"`  // or wrongly acknowledged: not sent again on this connection
	Reached  bool          `json:"reached,omitzero"`  // by Next: it may hold it
	Due      bool          `json:"due,omitzero"`      // the stage waits for it
	Astray   bool          `json:"astray,omitzero"`   // did not take what all hosts must have: no stage waits for it
	Told     record.PlanID `json:"told,omitzero"`     // of which the store heard that the host is astray
	Sent     record.PlanID `json:"sent,omitzero"`     // last plan sent on this connection
	FirstNs  int64         `json:"first_ns,omitzero"` // first time that Sent was sent
	SentNs   int64         `json:"sent_ns,omitzero"`  // last time

	StopKnown bool  `json:"stop_known,omitzero"` // it has said whether its kill switch is on
	Stopped   bool  `json:"stopped,omitzero"`
	StopNs    int64 `json:"stop_ns,omitzero"` // the switch was last sent; 0: not on this connection
}

// answered reports whether the host has read p back on this connection.
func (h *Host) answered(p Plan) bool { return h.Acked && h.Serial == p.Serial && h.Hash == p.Hash }

// refusedAll reports whether no copy of p is on its way to the host, which might take that one.
func (h *Host) refusedAll(p Plan) bool { return h.Refused == p.Serial && h.FirstNs == h.SentNs }

// Rules are the numbers of a roll-out.
type Rules struct {
	Share    float64       // of the connected hosts, second stage
	Limit    time.Duration // for the acknowledgements of a stage
	Retry    time.Duration // until an order without an answer is sent again
	MaxHosts int           // in memory
}

// DefaultRules fit rounds of 300 s.
//
//   - Share 0.25: what one machine does not show, a quarter of the PoP does, and three quarters go
//     on as they were.
//   - Limit 60 s: three stages and the way back are over after 4 min, before the next round's plan.
//     An agent answers in less than a second; a lost connection ends on its own and is not waited for.
//   - Retry 5 s: twelve tries within the limit.
//   - MaxHosts 2,000: twice the largest PoP that is tested; a state of 1 MB.
//
// A canary has no time to soak. What fails at once (refused, read back wrong) shows in its answer.
// What harms clients shows in blocks of 10 min, for the brake, while plans change every 5 min:
// a soak long enough to see harm would let no plan settle.
func DefaultRules() Rules {
	return Rules{Share: 0.25, Limit: 60 * time.Second, Retry: 5 * time.Second, MaxHosts: 2000}
}
