package agent

import (
	"net/netip"

	"github.com/congctl/congctl/internal/core/abi"
	"github.com/congctl/congctl/internal/core/inetdiag"
	"github.com/congctl/congctl/internal/core/plan"
	"github.com/congctl/congctl/internal/core/record"
)

// Namespace is a network namespace that is polled.
type Namespace struct {
	ID          record.NetnsID
	Name        string
	DefaultCong inetdiag.Cong
}

// DumpStats is what one dump of one namespace met.
type DumpStats struct {
	Sockets, Malformed uint64
	Repeated           uint64 // dumps run again because the first was interrupted
	Interrupted        bool   // the dump stayed incomplete (NLM_F_DUMP_INTR): absence in it proves nothing
}

// Sockets walks the TCP sockets of the polled namespaces.
type Sockets interface {
	// Namespaces looks anew at which namespaces there are.
	Namespaces() ([]Namespace, error)
	// Dump calls each for every socket; the argument is reused.
	Dump(ns record.NetnsID, each func(*inetdiag.Sock)) (DumpStats, error)
}

// Counters reads facts of a namespace that belong beside a dump.
type Counters interface {
	// Listening gives the local addresses that are listened on.
	Listening(ns record.NetnsID) (func(netip.AddrPort) bool, error)
	// PassiveOpens is the kernel's own count of accepted connections (TcpPassiveOpens).
	PassiveOpens(ns record.NetnsID) (uint64, error)
}

// Follower is the eBPF side that sees every accepted connection.
type Follower interface {
	SetNetns(map[record.NetnsID]inetdiag.Cong) (changed []record.NetnsID, err error)
	Passive(record.NetnsID) (uint64, error)
	// ReadCloses hands close records to fn when many wait, and all that wait for each
	// channel from asks, which it then closes. It blocks until asks is closed.
	ReadCloses(asks <-chan chan<- struct{}, fn func(*abi.Close)) (malformed uint64, err error)
}

// Treater puts plans into force.
type Treater interface {
	// Set makes the program the whole state and says how many prefixes are in force.
	Set(plan.Program) (int, error)
	// Stop sets or clears a stop bit of abi.
	Stop(bit uint32, on bool)
}

// SweepRequest and SweepResult: see Sweeper.
type SweepRequest struct{ Rearm, Evict bool }

// SweepResult is what a walk found and did.
type SweepResult struct {
	Marked, Stripped, Rearmed, RearmFailed, Evicted, EvictFailed uint64
}

// Sweeper walks live sockets inside the kernel.
type Sweeper interface {
	Sweep(ns Namespace, req SweepRequest) (SweepResult, error)
	// Suspects names what could have kept callbacks from us: other sock_ops programs, cgroups.
	Suspects() []string
}

// Clock gives Unix and CLOCK_BOOTTIME nanoseconds of one moment.
type Clock func() (unixNs, bootNs int64)

// Starvation says why the host is short of CPU, or "".
type Starvation func() (string, error)
