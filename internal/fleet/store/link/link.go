// Package link is the network between agents and their controller: Connect over mutual TLS, both
// ends.
//
// It keeps nothing and decides nothing: what comes is handed on with the sender's identity.
//
// Its trap: a PoP and a host are in the caller's certificate, never in a request. Code that takes
// them from a message lets one agent speak for another.
package link

import (
	"math"

	"github.com/congctl/congctl/internal/answer/foreign"
	"github.com/congctl/congctl/internal/fleet/store/link/fleetv1"
	"github.com/congctl/congctl/internal/tcp/record"
)

// Limits of a message, decompressed: a peer's mistake or malice costs no more memory.
const (
	maxPush    = 2 << 20 // bytes: eight batches of the usual 256 KiB
	maxFollow  = 2 * maxStop
	besidePlan = 2 * maxStop // of an order: a stop, client keys
)

// Have is what an agent has when it begins to follow.
type Have struct {
	Boot    record.BootID
	Version string
	Plan    record.PlanID
	Hash    string
	Keys    []string // ids of the keys whose plans it takes
	Stop    []byte   // of the last order
	Tier    string   // "" of an older agent
	// PlanBytes is the most that a plan has which it takes. A client sets it.
	PlanBytes int
	BBR       int // version of its kernel's; 0 unknown
}

// Order is what an agent must do now; a later one replaces all of it.
type Order struct {
	Stopped, Evict bool
	Plan           []byte // signed text; nil: keep what is in force
	Stop           []byte // with Stopped: a stop that no log has yet, signed; for Have
	ClientKeys     []record.ClientKey
}

// Report is what became of an order.
type Report struct {
	Boot    record.BootID
	Plan    record.PlanID
	Hash    string // of the plan in force
	InForce int    // prefixes read back from the kernel
	Refusal string // why the plan was not taken; "": it was
	Stopped bool
	Evict   bool   // the order was one to evict,
	Evicted uint64 // and moved so many connections back
}

func have(m *fleetv1.FollowRequest) Have {
	h := Have{Boot: bootOf(m.BootId), Version: foreign.Cut(m.CongctlVersion, maxWord), Plan: record.PlanID(m.Plan), Hash: foreign.Cut(m.Hash, maxWord),
		Stop: m.Stop[:min(len(m.Stop), maxStop)], Tier: foreign.Cut(m.Tier, maxWord), PlanBytes: int(min(m.PlanBytes, math.MaxInt32)), BBR: int(min(m.BbrVersion, maxBBR))}
	for _, k := range m.PlanKeys[:min(len(m.PlanKeys), maxKeys)] {
		h.Keys = append(h.Keys, foreign.Cut(k, maxWord))
	}
	return h
}

// What an agent says is kept as long as it is connected. What is cut is no plan's hash and no controller's stop any more.
const (
	maxKeys = 16       // beyond what any rotation needs
	maxWord = 100      // bytes: versions, hashes, ids of keys
	maxBBR  = 99       // its newest version is 3
	maxStop = 64 << 10 // bytes: a text of some hundred, and at most four certificates
)

func (h Have) message() *fleetv1.FollowRequest {
	return &fleetv1.FollowRequest{BootId: h.Boot[:], CongctlVersion: h.Version, Plan: uint64(h.Plan), Hash: h.Hash, PlanKeys: h.Keys, Stop: h.Stop, Tier: h.Tier, PlanBytes: uint64(h.PlanBytes), BbrVersion: uint32(h.BBR)}
}

func orderOf(m *fleetv1.Order) Order {
	o := Order{Stopped: m.Stopped, Evict: m.Evict, Plan: m.Plan, Stop: m.Stop}
	for _, k := range m.ClientKeys {
		o.ClientKeys = append(o.ClientKeys, record.ClientKey{Day: k.Day, Key: k.Key})
	}
	return o
}

func (o Order) message() *fleetv1.Order {
	m := &fleetv1.Order{Stopped: o.Stopped, Evict: o.Evict, Plan: o.Plan, Stop: o.Stop}
	for _, k := range o.ClientKeys {
		m.ClientKeys = append(m.ClientKeys, &fleetv1.ClientKey{Day: k.Day, Key: k.Key})
	}
	return m
}

func report(m *fleetv1.ReportRequest) Report {
	return Report{Boot: bootOf(m.BootId), Plan: record.PlanID(m.Plan), Hash: foreign.Cut(m.Hash, maxWord), InForce: int(m.InForce), Refusal: foreign.Cut(m.Refusal, foreign.MaxText), Stopped: m.Stopped, Evict: m.Evict, Evicted: m.Evicted}
}

func (r Report) message() *fleetv1.ReportRequest {
	return &fleetv1.ReportRequest{BootId: r.Boot[:], Plan: uint64(r.Plan), Hash: r.Hash, InForce: uint32(r.InForce), Refusal: r.Refusal, Stopped: r.Stopped, Evict: r.Evict, Evicted: r.Evicted}
}

// bootOf takes an id of another length as none.
func bootOf(b []byte) (id record.BootID) {
	if len(b) == len(id) {
		copy(id[:], b)
	}
	return id
}

// minPacked: an answer of 100 bytes would cost an encoder of a megabyte, and 1,000 agents answer at once.
const minPacked = 1 << 10
