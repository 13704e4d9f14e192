package agent

import (
	"net/netip"

	"github.com/congctl/congctl/internal/loop/plan"
	"github.com/congctl/congctl/internal/tcp/abi"
	"github.com/congctl/congctl/internal/tcp/inetdiag"
	"github.com/congctl/congctl/internal/tcp/record"
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
	Interrupted        bool // the dump stayed incomplete (NLM_F_DUMP_INTR): absence in it proves nothing
}

// Sockets walks the TCP sockets of the polled namespaces.
type Sockets interface {
	// Namespaces lists the namespaces anew.
	Namespaces() ([]Namespace, error)
	// Dump calls each for every socket; the argument is reused.
	Dump(ns record.NetnsID, each func(*inetdiag.Sock)) (DumpStats, error)
}

// Counters reads facts of a namespace that belong beside a dump.
type Counters interface {
	// Listening returns the local addresses that are listened on.
	Listening(ns record.NetnsID) (func(netip.AddrPort) bool, error)
	// PassiveOpens is the kernel's own count of accepted connections (TcpPassiveOpens).
	PassiveOpens(ns record.NetnsID) (uint64, error)
}

// Follower is the eBPF side that sees every accepted connection.
type Follower interface {
	SetNetns(map[record.NetnsID]inetdiag.Cong) (changed []record.NetnsID, err error)
	Passive(record.NetnsID) (uint64, error)
	// Suspects names what could have kept callbacks from us: other sock_ops programs, cgroups.
	Suspects() []string
	// ReadCloses hands close records to fn when many wait. For each channel from asks it hands
	// over all that wait, then closes the channel. It blocks until asks is closed.
	ReadCloses(asks <-chan chan<- struct{}, fn func(*abi.Close)) (malformed uint64, err error)
}

// Treater puts plans into force.
type Treater interface {
	// Set makes the program the whole state and returns how many prefixes are in force.
	Set(plan.Program) (int, error)
	// Stop sets or clears a stop bit of abi.
	Stop(bit uint32, on bool)
	// Stops returns the stop bits that are in force.
	Stops() uint32
}

// Sweeper walks live sockets inside the kernel.
type Sweeper interface {
	Sweep(record.NetnsID, abi.SweepRequest) (abi.Sweep, error)
}

// Clock returns Unix and CLOCK_BOOTTIME nanoseconds of one moment.
type Clock func() (unixNs, bootNs int64)

// Starvation returns why the host is short of CPU, or "".
type Starvation func() (string, error)
