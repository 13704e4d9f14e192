package pop

import "net/netip"

// Day is one file, read and checked.
type Day struct {
	Name, About, Notes string

	WindowUs, LengthUs uint64
	EndUs              uint64   // the day ends early here; 0: LengthUs
	Qdisc              string   // root qdisc of the edge: fq or pfifo_fast
	Default            string   // congestion control of the edge if the policy names none: cubic or bbr
	Congctl            string   // keys of congctl.yml besides those that the lab sets
	Static             []string // classes that the policy `static` treats
	Classes            []Class
	Faults             []Fault
	Expect             []Expectation // of each policy under which congctl treats
}

// Class is a set of similar networks.
type Class struct {
	Name      string
	Count     int
	Sites     int    // the networks are IPv6, spread evenly over this many /48; 0: as PrefixOf numbers them
	Behind    string // another class: these are its networks' neighbours, behind the same lines; "" for none
	Server    string // of neighbours: edge, or other, which congctl does not see
	SpreadPPM uint32 // sd of the log of the rate between networks of the class, millionths
	Path      Path
	Most      Path // the seed draws what is larger here, between Path and this; else zero
	Vary      Vary
	Whens     []When
	Traffic   Traffic
}

// Path is the way from the edge to a network: loss, then delay, then the bottleneck with its
// queue, the last mile.
type Path struct {
	RateBitPerS uint64
	RTTUs       uint64
	JitterUs    uint64
	LossPPM     uint32 // of all packets
	LossBurst   uint64 // packets lost in a row on average; 0: each by itself
	Buffer      Buffer
	Policer     bool   // drops what is above the rate, queues nothing
	BurstBytes  uint64 // of the policer
}

// Vary makes the rate wander: its log is a first-order autoregression,
//
//	x' = a x + sqrt(1 - a^2) N(0, SD),   a = exp(-Every / Memory)
//
// so the rate is log-normal about the path's at any time and forgets itself in Memory.
type Vary struct {
	SDPPM             uint32 // sd of the log of the rate, millionths; 0: steady
	MemoryUs, EveryUs uint64
}

// When is a time in which a path differs, once or repeatedly.
type When struct {
	FromUs, ForUs uint64
	EveryUs       uint64  // again after this time; 0: once
	RateBitPerS   *uint64 // nil: unchanged
	RTTUs         *uint64
	LossPPM       *uint32
}

// Traffic is what the clients of one network request.
type Traffic struct {
	FetchesPPM uint64 // sessions with large responses, mean per window, millionths
	PagesPPM   uint64 // sessions of small responses only
	Large      Range  // bytes of a response, log-uniform
	Small      Range
	Larges     int    // responses of a fetch, after a small one
	Smalls     int    // of a page
	Flows      int    // fetches that one client begins at once
	ThinkUs    uint64 // mean pause between the responses of a session
	HTTP2PPM   uint32 // share of sessions
	AppBitPerS uint64 // the server sends no faster; 0: as fast as TCP takes it
	Rcvbuf     uint64 // the client's receive buffer, bytes; 0: the kernel's
}

// Range is inclusive.
type Range struct{ Least, Most uint64 }

// Fault is something that goes wrong with the product, or with its host.
type Fault struct {
	AtUs uint64
	Do   string // one of Deeds
	ByUs int64  // of step_clock: forward, or back if negative
}

// Servers of neighbours.
const (
	ServerOther = "other"
	ServerEdge  = "edge"
)

// Theirs reports whether the class's server is not the edge.
func (c *Class) Theirs() bool { return c.Behind != "" && c.Server != ServerEdge }

// Deeds of a fault.
const (
	Kill       = "kill"        // SIGKILL
	Stop       = "stop"        // SIGTERM, and wait
	Start      = "start"       // again, with the same store
	Pause      = "pause"       // SIGSTOP: it exists and does nothing
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
	Behind  int  // the network whose path this one shares, but for losses, as its neighbour; -1: it has its own
	Theirs  bool // its server is not the edge but another one, which stays on CUBIC whatever the edge does
}

// Change is a network's path from AtUs on.
type Change struct {
	AtUs    uint64
	Network int
	Path    Path
}

// Session is one connection and its requests, one after another.
type Session struct {
	AtUs     uint64
	Network  int
	Host     int // which of the network's clients
	HTTP2    bool
	Requests []Request
}

// Request waits this long after the previous response.
type Request struct {
	WaitUs uint64
	Bytes  uint64
}

// Hosts of each network with clients on them.
const Hosts = 4

// PrefixOf returns the prefix of the i-th network: every third is IPv6, and all that are in a
// site by number, from 1 on. The ranges are those of RFC 2544 and RFC 3849, which no real client has
// and which the product takes for clients.
func PrefixOf(i, site int) netip.Prefix {
	if i%3 == 2 || site > 0 {
		a := [16]byte{0x20, 0x01, 0x0d, 0xb8, byte(site), byte((i + 1) >> 8), byte(i + 1)}
		return netip.PrefixFrom(netip.AddrFrom16(a), 56)
	}
	return netip.PrefixFrom(netip.AddrFrom4([4]byte{198, byte(18 + i>>8), byte(i), 0}), 24)
}
