package agent

import (
	"maps"
	"slices"

	"github.com/congctl/congctl/internal/core/ledger"
)

// Status is what the agent knows of itself.
type Status struct {
	Namespaces        []string `json:"namespaces"`
	Polls             uint64   `json:"polls"`   // dumps, one a namespace and poll
	Sockets           uint64   `json:"sockets"` // sockets seen in all dumps
	InterruptedDumps  uint64   `json:"interrupted_dumps"`
	MalformedMessages uint64   `json:"malformed_messages"`
	MalformedCloses   uint64   `json:"malformed_closes"`
	DroppedCloses     uint64   `json:"dropped_closes"` // the queue was full
	KernelCounts
	Coverage   float64  `json:"coverage_ratio"` // of new passive connections, last minute
	CoverageOf uint64   `json:"coverage_of"`    // how many those were
	Stripped   uint64   `json:"callbacks_taken"`
	Rearmed    uint64   `json:"callbacks_given_back"`
	Evicted    uint64   `json:"evicted"`
	Plan       uint64   `json:"plan"`
	InForce    int      `json:"prefixes_in_force"`
	Killed     bool     `json:"killed"`
	Starved    string   `json:"starved,omitempty"`
	Unknown    string   `json:"window_unknown,omitempty"`
	Alarms     []string `json:"alarms"`

	Ledger ledger.Stats `json:"ledger"`
}

// KernelCounts are the eBPF program's counts since its start.
type KernelCounts struct {
	RingFull     uint64 `json:"ring_full"`        // close records that the kernel could not write
	Unpolled     uint64 `json:"unpolled_accepts"` // accepted in namespaces that nobody polls: never treated
	NotFollowed  uint64 `json:"not_followed"`     // accepted, and no memory for a mark or no callbacks to be had
	SwitchFailed uint64 `json:"switches_refused"` // by the kernel
}

// Status gives a copy of the state at the last poll.
func (a *Agent) Status() Status {
	a.mu.Lock()
	defer a.mu.Unlock()
	s := a.status
	s.Killed = a.killed
	s.DroppedCloses = a.closes.lost()
	if a.rooms.KernelCounts != nil {
		if n, err := a.rooms.KernelCounts(); err == nil {
			s.KernelCounts = n
		} else {
			s.Alarms = append(s.Alarms, "counters: "+err.Error())
		}
	}
	if a.plan != nil {
		s.Plan = uint64(a.plan.Serial)
	}
	for _, kind := range slices.Sorted(maps.Keys(a.alarms)) {
		s.Alarms = append(s.Alarms, kind+": "+a.alarms[kind])
	}
	return s
}

func (a *Agent) publish(spaces []Namespace) {
	stats := a.ledger.Stats()
	a.mu.Lock()
	defer a.mu.Unlock()
	a.status.Ledger = stats
	a.status.Starved, a.status.Unknown = a.starved, a.unknown
	a.status.Namespaces = a.status.Namespaces[:0:0]
	for _, ns := range spaces {
		a.status.Namespaces = append(a.status.Namespaces, ns.Name)
	}
}

// alarm tells of a fault once when it begins, and keeps it in the status until
// calm is called with its kind.
func (a *Agent) alarm(kind, text string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.raise(kind, text)
}

// raise is alarm for a caller that holds mu.
func (a *Agent) raise(kind, text string) {
	_, standing := a.alarms[kind]
	a.alarms[kind] = text
	if standing {
		return
	}
	a.rooms.Log.Warn("alarm", "kind", kind, "what", text)
	if a.rooms.OnAlarm != nil {
		a.rooms.OnAlarm(kind, text)
	}
}

func (a *Agent) calm(kind string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if _, ok := a.alarms[kind]; ok {
		delete(a.alarms, kind)
		a.rooms.Log.Info("alarm over", "kind", kind)
	}
}
