package agent

import (
	"maps"
	"slices"
	"sync"

	"github.com/congctl/congctl/internal/loop/ledger"
	"github.com/congctl/congctl/internal/loop/window"
)

// Status is the agent's view of itself.
type Status struct {
	Namespaces        []string `json:"namespaces"`
	DefaultCongs      []string `json:"default_congestion_controls"` // of each namespace
	NotTrusted        int      `json:"namespaces_not_trusted,omitzero"`
	Polls             uint64   `json:"polls"`        // dumps, one a namespace and poll
	PolledNs          int64    `json:"-"`            // boot time of the last dump that succeeded; 0: none
	DumpSeconds       float64  `json:"dump_seconds"` // all dumps took so long, by the clock
	Sockets           uint64   `json:"sockets"`      // sockets seen in all dumps
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
	Stopped    bool     `json:"stopped"` // by the kill switch, as the kernel has it
	Starved    string   `json:"starved,omitempty"`
	Unknown    string   `json:"window_unknown,omitempty"`
	Alarms     []string `json:"alarms"`
	Hosts      []string `json:"hosts,omitzero"` // of a PoP: those connected. What counts a host's own measuring is 0 then

	LeftOut window.LeftOut `json:"left_out"` // of all windows so far
	Ledger  ledger.Stats   `json:"ledger"`
}

// KernelCounts are the eBPF program's counts since its start.
type KernelCounts struct {
	RingFull     uint64 `json:"ring_full"`        // close records that the kernel could not write
	Unpolled     uint64 `json:"unpolled_accepts"` // accepted in namespaces that are not polled: never treated
	NotFollowed  uint64 `json:"not_followed"`     // accepted, but no memory for a mark or no callbacks available
	SwitchFailed uint64 `json:"switches_refused"` // by the kernel
}

// Status returns a copy of the state at the last poll. What the kernel counts is read before the lock is taken: the loop needs
// it for each record.
func (a *Agent) Status() Status {
	var counts KernelCounts
	var err error
	if a.deps.KernelCounts != nil {
		counts, err = a.deps.KernelCounts()
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	s := a.status
	s.Stopped = a.killed
	if a.deps.Treater != nil {
		s.Stopped = a.deps.Treater.Stops()&stopKilled != 0
	}
	s.DroppedCloses = a.closes.lost()
	if err == nil {
		s.KernelCounts = counts
	} else {
		s.Alarms = append(s.Alarms, "counters: "+err.Error())
	}
	if a.plan != nil {
		s.Plan = uint64(a.plan.Serial)
	}
	s.Alarms = append(s.Alarms, a.alarms.list()...)
	return s
}

func (a *Agent) publish(spaces []Namespace) {
	stats := a.ledger.Stats()
	a.mu.Lock()
	defer a.mu.Unlock()
	a.status.Ledger = stats
	a.status.Starved, a.status.Unknown = a.starved, a.unknown
	a.status.Namespaces, a.status.DefaultCongs = a.status.Namespaces[:0:0], a.status.DefaultCongs[:0:0]
	for _, ns := range spaces {
		a.status.Namespaces = append(a.status.Namespaces, ns.Name)
		a.status.DefaultCongs = append(a.status.DefaultCongs, ns.DefaultCong.String())
	}
}

// alarms are the faults that last, each with its text, by kind.
type alarms struct {
	mu       sync.Mutex
	standing map[string]string
}

func (s *alarms) list() (texts []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, kind := range slices.Sorted(maps.Keys(s.standing)) {
		texts = append(texts, kind+": "+s.standing[kind])
	}
	return texts
}

// RaiseAlarm reports a fault once when it begins, and keeps it in the status until
// ClearAlarm is called with its kind.
func (a *Agent) RaiseAlarm(kind, text string) {
	a.alarms.mu.Lock()
	defer a.alarms.mu.Unlock()
	_, standing := a.alarms.standing[kind]
	a.alarms.standing[kind] = text
	if !standing && a.deps.OnAlarm != nil {
		a.deps.OnAlarm(kind, text)
	}
}

// ClearAlarm ends the alarm of a kind, if it stands.
func (a *Agent) ClearAlarm(kind string) {
	a.alarms.mu.Lock()
	defer a.alarms.mu.Unlock()
	if _, standing := a.alarms.standing[kind]; !standing {
		return
	}
	delete(a.alarms.standing, kind)
	if a.deps.OnClear != nil {
		a.deps.OnClear(kind)
	}
}
