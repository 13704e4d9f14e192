package record

import (
	"net/netip"

	"github.com/congctl/congctl/internal/tcp/inetdiag"
)

// NetnsID is the kernel's cookie of a network namespace (SO_NETNS_COOKIE,
// bpf_get_netns_cookie): unique since boot, never reused, unlike the inode.
type NetnsID uint64

// Cookie is the kernel's socket cookie (SO_COOKIE): unique within a namespace since boot.
type Cookie uint64

// PlanID is the serial of the plan that was in force; 0 is no plan.
type PlanID uint64

// BootID is the host's boot id: it separates cookies of one boot from those of the next.
type BootID [16]byte

// End is how a record's window ended for its connection.
type End uint8

const (
	EndWindow   End = iota // the window closed, the connection continues
	EndClose               // the connection closed, and eBPF saw it
	EndVanished            // gone from the dump without a close record (ring overflow, or not seen by eBPF)
)

var endNames = [...]string{"window", "close", "vanished"}

func (e End) String() string { return NameOf(endNames[:], int(e), "end") }

// MarshalText prints how the record ended by name.
func (e End) MarshalText() ([]byte, error) { return []byte(e.String()), nil }

// UnmarshalText reads how a record ended by name; on an error e is unchanged.
func (e *End) UnmarshalText(b []byte) error { return ParseName(e, endNames[:], b, "end") }

// RateSource is where a record's delivery rate came from.
type RateSource uint8

const (
	RateNone RateSource = iota // no sample limited by the path rather than the application
	RateMean                   // mean of the window's counted, path-limited samples, one a round trip (eBPF)
	RateLast                   // the kernel's last sample (no eBPF on this connection)
)

var rateSourceNames = [...]string{"none", "mean", "last"}

func (r RateSource) String() string { return NameOf(rateSourceNames[:], int(r), "rate source") }

// MarshalText prints the source by name.
func (r RateSource) MarshalText() ([]byte, error) { return []byte(r.String()), nil }

// UnmarshalText reads a source by name; on an error r is unchanged.
func (r *RateSource) UnmarshalText(b []byte) error {
	return ParseName(r, rateSourceNames[:], b, "rate source")
}

// Conn is one connection in one window. Exactly one such record exists for each connection
// and window that it lived in, whether the poller, the eBPF close record or both saw it.
// Key: (boot, Netns, Cookie, Window).
type Conn struct {
	Netns  NetnsID
	Cookie Cookie
	Window int64 // start of the window, Unix seconds, a multiple of the window length
	AtNs   int64 // Unix nanoseconds of the last observation
	End    End

	Local, Remote netip.AddrPort // unmapped
	Prefix        Prefix         // of Remote; zero if it has none

	Passive      bool   // accepted by this host
	ClientFacing bool   // passive, and its remote is a client by the configured lists
	PreStart     bool   // older than the agent: eBPF has no history of it
	MPTCP        bool   // a subflow: counted as a connection of its own remote prefix, never treated
	Cong         string // of what counts: of a treated response the treatment's, also after the way back
	DefaultCong  bool   // Cong is its namespace's default

	Assigned  Arm     // recomputable from prefix, block and salt
	Applied   Applied // at the last crossing, if that lies in the window's block
	Carryover bool    // last crossed in another block, in whichever arm: it counts in no estimate (loop/ledger has the rule)
	Plan      PlanID  // in force at the last crossing
	Crossings uint32  // responses that reached the threshold, lifetime
	// CrossedNs and SwitchedNs are Unix nanoseconds; 0 is never.
	CrossedNs, SwitchedNs int64

	// Deltas of this window.
	WinBytesAcked    uint64
	WinBytesSent     uint64 // first transmissions and retransmissions
	WinBytesRetrans  uint64
	WinBytesReceived uint64
	WinElapsedUs     uint64 // time observed in this window, without intervals in which nothing moved
	WinBusyUs        uint64
	WinRwndLimitedUs uint64
	WinSndbufUs      uint64
	// Of them, what counts in the experiment: responses from their crossing, past a block's wash-out, until their block's end
	// (eBPF only; bpf/count.h has the rule). Rate samples are of nothing else.
	WinCountedBytesAcked   uint64
	WinCountedBytesSent    uint64
	WinCountedBytesRetrans uint64
	WinCountedBusyUs       uint64
	WinRateSamples         uint32 // non-application-limited samples
	WinLimitedSamples      uint32 // application-limited samples
	RateBytesPerS          float64
	RateSource             RateSource
	WinEpisodes            uint32  // loss recoveries while it counted
	WinLateSamples         uint32  // path-limited samples beyond LateBytes after the crossing; none of what its application paces, and 0 where some ran under a cap and some did not
	LateBytesPerS          float64 // about the median of those of one response, LateSamples or more; 0 if none had so many
	Capped                 bool    // what counts ran under a pacing cap, or its application's own where one was due

	// Weight is 1/probability with which a sender that thins its records kept this one: it stands for so
	// many. 0 means 1. Sums ask Times instead.
	Weight float64

	// Client is 1 + the client's number in its network where Remote does not tell it; 0 otherwise.
	Client uint16

	// Info is the kernel's tcp_info at AtNs (lifetime counters, kernel names). A close record
	// fills only the fields that eBPF carries: see InfoFromClose.
	Info          inetdiag.TCPInfo
	BBR           inetdiag.BBRInfo
	HasBBR        bool
	InfoFromClose bool
}

// LeastGoodputBytes, bytes: an initial window (RFC 6928). Of a response that was all in flight at its crossing the last packets take a round trip
// however fast the path is, and a FIN alone, which the kernel counts as a byte, shows 6 bytes/s at 174 ms.
const LeastGoodputBytes = 10 * 1448

// Goodput returns acknowledged bytes over busy time of what counts, bytes/s; 0 below LeastGoodputBytes, or if nothing followed the connection.
func (c *Conn) Goodput() float64 {
	if c.WinCountedBytesAcked < LeastGoodputBytes || c.WinCountedBusyUs == 0 {
		return 0
	}
	return float64(c.WinCountedBytesAcked) / (float64(c.WinCountedBusyUs) / 1e6)
}

// MaxWeight bounds how many connections one record may stand for, whatever its sender says.
const MaxWeight = 1024

// Washed reports whether what the record has measured began in the wash-out, the first washoutS seconds of a block of blockS: by
// the connection's last crossing, or where nothing followed it by the record's window.
func (c *Conn) Washed(blockS, washoutS int64) bool {
	at := c.CrossedNs / 1e9
	if c.RateSource == RateLast {
		at = c.Window
	} else if at <= 0 { // never, or before 1970
		return false
	}
	return InWashout(at, blockS, washoutS)
}

// InWashout reports whether a time, Unix seconds, lies in the first washoutS seconds of a block of blockS.
func InWashout(unix, blockS, washoutS int64) bool { return blockS > 0 && unix%blockS < washoutS }

// Times is how many connections the record stands for: its Weight, rounded, 1 to MaxWeight. Whole, so that
// sums stay exact and do not depend on the order of their terms.
func (c *Conn) Times() uint64 {
	if !(c.Weight > 1) { // NaN too
		return 1
	}
	return uint64(min(c.Weight, MaxWeight) + 0.5)
}
