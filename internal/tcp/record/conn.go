package record

import (
	"net/netip"

	"github.com/congctl/congctl/internal/core/inetdiag"
)

// NetnsID is the kernel's cookie of a network namespace (SO_NETNS_COOKIE,
// bpf_get_netns_cookie): unique since boot, never reused, unlike the inode.
type NetnsID uint64

// Cookie is the kernel's socket cookie (SO_COOKIE): unique within a namespace since boot.
type Cookie uint64

// PlanID is the serial of the plan that was in force; 0 is no plan.
type PlanID uint64

// BootID is the host's boot id: it separates cookies of one boot from the next's.
type BootID [16]byte

// End says how a record's window ended for its connection.
type End uint8

const (
	EndWindow   End = iota // the window closed, the connection lives on
	EndClose               // the connection closed: eBPF saw it
	EndVanished            // gone from the dump without a close record (ring overflow, or not seen by eBPF)
)

var endNames = [...]string{"window", "close", "vanished"}

func (e End) String() string { return nameOf(endNames[:], int(e), "end") }

// MarshalText prints how the record ended by name.
func (e End) MarshalText() ([]byte, error) { return []byte(e.String()), nil }

// UnmarshalText reads how a record ended by name; on an error e stays.
func (e *End) UnmarshalText(b []byte) error { return parseName(e, endNames[:], b, "end") }

// RateSource says where a record's delivery rate came from.
type RateSource uint8

const (
	RateNone RateSource = iota // no sample that the path, and not the application, limited
	RateMean                   // mean of the window's non-application-limited samples, one a round trip (eBPF)
	RateLast                   // the kernel's last sample (no eBPF on this connection)
)

var rateSourceNames = [...]string{"none", "mean", "last"}

func (r RateSource) String() string { return nameOf(rateSourceNames[:], int(r), "rate source") }

// MarshalText prints the source by name.
func (r RateSource) MarshalText() ([]byte, error) { return []byte(r.String()), nil }

// UnmarshalText reads a source by name; on an error r stays.
func (r *RateSource) UnmarshalText(b []byte) error {
	return parseName(r, rateSourceNames[:], b, "rate source")
}

// Conn is one connection in one window: exactly one such record exists for each
// connection and window that it lived in, whether the poller, the close record
// of eBPF or both saw it. Key: (boot, Netns, Cookie, Window).
type Conn struct {
	Netns  NetnsID
	Cookie Cookie
	Window int64 // start of the window, Unix seconds, a multiple of the window length
	AtNs   int64 // Unix nanoseconds of the last observation
	End    End

	Local, Remote netip.AddrPort // unmapped
	Prefix        Prefix         // of Remote; zero where it has none

	Passive      bool // accepted by this host
	ClientFacing bool // passive, and its remote is a client by the configured lists
	PreStart     bool // older than the agent: eBPF has no history of it
	MPTCP        bool // a subflow: counted as a connection of its own remote prefix, never treated
	Cong         string
	DefaultCong  bool // Cong is its namespace's default

	Assigned  Arm     // recomputable from prefix, block and salt
	Applied   Applied // at the last crossing if it was since the window began; a switched connection keeps what it has
	Carryover bool    // switched in an earlier block, also when it was moved back since: its rates remember
	Plan      PlanID  // in force at that crossing
	Crossings uint32  // responses that reached the threshold, lifetime
	// CrossedNs and SwitchedNs are Unix nanoseconds; 0 is never.
	CrossedNs, SwitchedNs int64

	// Deltas of this window.
	WinBytesAcked     uint64
	WinBytesSent      uint64 // first transmissions and retransmissions
	WinBytesRetrans   uint64
	WinBytesReceived  uint64
	WinElapsedUs      uint64 // time observed in this window, intervals in which nothing moved left out
	WinBusyUs         uint64
	WinRwndLimitedUs  uint64
	WinSndbufUs       uint64
	WinRateSamples    uint32 // non-application-limited samples
	WinLimitedSamples uint32 // application-limited samples
	RateBytesPerS     float64
	RateSource        RateSource

	// Info is the kernel's tcp_info at AtNs (lifetime counters, kernel names). A
	// close record fills the fields that eBPF carries; InfoFromClose says so.
	Info          inetdiag.TCPInfo
	BBR           inetdiag.BBRInfo
	HasBBR        bool
	InfoFromClose bool
}
