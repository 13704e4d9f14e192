package pop

import "net/netip"

// Day is one file, read and checked.
type Day struct {
	Name, About, Notes string

	WindowUs, LengthUs uint64
	EndUs              uint64   // the day is broken off here; 0: LengthUs
	Qdisc              string   // root qdisc of the edge: fq or pfifo_fast
	Default            string   // congestion control of the edge where the policy names none: cubic or bbr
	Congctl            string   // keys of congctl.yml besides those that the lab sets
	Static             []string // classes that the policy `static` treats
	Classes            []Class
	Faults             []Fault
}

// Class is networks alike.
type Class struct {
	Name      string
	Count     int
	SpreadPPM uint32 // sd of the log of the rate between networks of the class, millionths
	Path      Path
	Vary      Vary
	Whens     []When
	Traffic   Traffic
}

// Path is the way from the edge to a network: loss, then delay, then the bottleneck
// with its queue, the last mile.
type Path struct {
	RateBitPerS uint64
	RTTUs       uint64
	JitterUs    uint64
	LossPPM     uint32
	Buffer      Buffer
	Policer     bool   // drops what is above the rate, queues nothing
	BurstBytes  uint64 // of the policer
}

// Vary makes the rate wander: its log is a first-order autoregression,
//
//	x' = a x + sqrt(1 - a^2) N(0, SD),   a = exp(-Every / Memory)
//
// so the rate is log-normal about the path's at any moment and forgets itself in Memory.
type Vary struct {
	SDPPM             uint32 // sd of the log of the rate, millionths; 0: steady
	MemoryUs, EveryUs uint64
}

// When is a stretch of time in which a path is another one, once or again and again.
type When struct {
	FromUs, ForUs uint64
	EveryUs       uint64  // again after so long; 0: once
	RateBitPerS   *uint64 // nil: as ever
	RTTUs         *uint64
	LossPPM       *uint32
}

// Traffic is what the clients of one network ask for.
type Traffic struct {
	FetchesPPM uint64 // sessions with large responses, mean per window, millionths
	PagesPPM   uint64 // sessions of small responses only
	Large      Range  // bytes of a response, log-uniform
	Small      Range
	Larges     int    // responses of a fetch, after a small one
	Smalls     int    // of a page
	ThinkUs    uint64 // mean pause between the responses of a session
	HTTP2PPM   uint32 // share of sessions
	AppBitPerS uint64 // the server hands out no faster; 0: as fast as TCP takes it
	Rcvbuf     uint64 // the client's receive buffer, bytes; 0: the kernel's
}

// Range is inclusive.
type Range struct{ Least, Most uint64 }

// Fault is what goes wrong with the product, or with its host.
type Fault struct {
	AtUs uint64
	Do   string // one of Deeds
	ByUs int64  // of step_clock: forward, or back where it is negative
}

// Deeds that a fault can be.
const (
	Kill       = "kill"        // SIGKILL
	Stop       = "stop"        // SIGTERM, and wait
	Start      = "start"       // again, with the same store
	Pause      = "pause"       // SIGSTOP: it is there and does nothing
	Resume     = "resume"      // SIGCONT
	StepClock  = "step_clock"  // of the wall clock, by ByUs
	EmptyStore = "empty_store" // stop, remove the store, start
)

// World is a day with a seed: nothing in it is random any more.
type World struct {
	Networks []Network
	Changes  []Change  // by AtUs
	Sessions []Session // by AtUs
}

// Network is one client prefix.
type Network struct {
	Class   string
	Number  int // within its class, from 1
	Prefix  netip.Prefix
	Path    Path // at the start
	Traffic Traffic
}

// Change is a network's path from AtUs on.
type Change struct {
	AtUs    uint64
	Network int
	Path    Path
}

// Session is one connection and what is asked for on it, one after another.
type Session struct {
	AtUs     uint64
	Network  int
	Host     int // which of the network's clients
	HTTP2    bool
	Requests []Request
}

// Request waits so long after the response before it.
type Request struct {
	WaitUs uint64
	Bytes  uint64
}

// Hosts of each network that clients live on.
const Hosts = 4

// PrefixOf is the network that the i-th has: every third is IPv6. Ranges of RFC 2544
// and RFC 3849, which no real client has and which the product takes for clients.
func PrefixOf(i int) netip.Prefix {
	if i%3 == 2 {
		a := [16]byte{0x20, 0x01, 0x0d, 0xb8, 0, byte((i + 1) >> 8), byte(i + 1)}
		return netip.PrefixFrom(netip.AddrFrom16(a), 56)
	}
	return netip.PrefixFrom(netip.AddrFrom4([4]byte{198, byte(18 + i>>8), byte(i), 0}), 24)
}
