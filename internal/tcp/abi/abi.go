// Package abi is the byte layout that the eBPF programs and Go share: map
// values and ring records, bytes <-> structs. bpf/congctl.h is the same layout
// in C; a test compares sizes and offsets with the BTF of the committed objects.
//
// It decides nothing and opens no map.
//
// Its trap: Ns fields are CLOCK_BOOTTIME nanoseconds, not wall time. Only the agent, which
// knows the present offset, converts them to Unix time.
package abi

import (
	"fmt"
	"unsafe"

	"github.com/congctl/congctl/internal/tcp/inetdiag"
	"github.com/congctl/congctl/internal/tcp/record"
)

// Flags of Mark.Flags.
const (
	MarkMPTCP     = 1 << iota // an MPTCP subflow
	MarkCrossed               // the response in progress has reached the threshold
	MarkSwitched              // on the treatment at some time in its life
	MarkPending               // treatment decided, waiting for CA_Open
	MarkPrimed                // the last_* fields are valid
	MarkEvicted               // moved back to the default since the last switch
	MarkDrained               // all written data was acknowledged at the last callback
	MarkCounting              // the response in progress counts, see Mark.Counted
	MarkReturn                // has to go back to the default, waiting for CA_Open
	_                         // was: the switch set a pacing cap
	MarkWatched               // called at each write, to see the next response begin
	MarkLoss                  // in loss recovery at the last callback that counted
	MarkRanCapped             // the response that crossed last ran under a pacing cap, its application's own included where ours was due
	MarkAsked                 // with Control.Early: the policy was asked for the response in progress
)

// Bits of Control.Stop.
const (
	StopKilled  = 1 << iota // the operator's kill switch
	StopStarved             // the host is short of CPU
)

// Control is the one value of map "control".
type Control struct {
	Stop       uint32
	Active     uint32
	Plan       uint64
	MinBytes   uint64
	Generation uint64
	BlockNs    uint64
	BorderNs   uint64
	SleptNs    uint64
	Early      uint32 // 1: treat from the first byte on
	WashoutMs  uint32 // start of a block; what crosses in it counts nowhere
}

// Policy is the value of maps "policy_a" and "policy_b"; the key is a record.Prefix.
type Policy struct {
	SwitchNs, UntilNs, ExpiresNs uint64
	Plan                         uint64
	CapBytesPerS                 uint64
	ArmNow, ArmNext              record.Arm // what to do
	Role                         record.Arm // ArmAA: assigned for the record, and the treatment is the default itself
	Scout                        uint8      // one connection in so many is never capped; 0: all are
	_                            [4]byte
	Cong                         inetdiag.Cong
}

// Netns is the value of map "netns"; the key is a record.NetnsID.
type Netns struct {
	DefaultCong inetdiag.Cong
	Passive     uint64
}

// Mark is what the kernel keeps for each accepted connection (sk_storage); the
// sampler reads it in the same dump as the socket's tcp_info.
type Mark struct {
	BaseAcked, LastReceived       uint64
	LastWriteSeq, LastChronoStart uint32
	LastDelivered, LastIntervalUs uint32
	RateSum                       uint64
	RateN, LimitedN               uint32
	Before, Flags                 uint32

	UntilJiffies, LateRate               uint32
	LateN, Episodes                      uint16 // these two go round
	Crossings, Cap                       uint32
	Assigned                             record.Arm
	Applied                              record.Applied
	Errno                                int16
	EstablishedNs, CrossedNs, SwitchedNs uint64
	Plan                                 uint64
	CountedAcked, CountedSent            uint64
	CountedRetrans, CountedBusyUs        uint64
	Cong                                 inetdiag.Cong
}

// Close is one record of ring "closes".
type Close struct {
	Cookie, Netns, AtNs                                uint64
	Local, Remote                                      [16]byte
	LocalPort, RemotePort                              uint16
	OldState, CaState, AppLimited, Retransmits         uint8
	Cong                                               inetdiag.Cong
	Mark                                               Mark
	BytesAcked, BytesReceived, BytesSent, BytesRetrans uint64
	DeliveryRate                                       uint64
	BusyUs, RwndLimitedUs, SndbufLimitedUs             uint64
	SrttUs, RttvarUs, MinRttUs                         uint32
	SndCwnd, SndSsthresh, SndMss                       uint32
	SegsOut, SegsIn, DataSegsOut, DataSegsIn           uint32
	TotalRetrans, Lost, Delivered, DeliveredCe         uint32
	DsackDups, ReordSeen                               uint32
}

// Indexes of map "stats".
const (
	StatPassive = iota
	StatUnpolled
	StatNoStorage
	StatNoFlags
	StatRTT
	StatCrossed
	StatSwitched
	StatSwitchFailed
	StatCapFailed
	StatClosed
	StatRingFull
	StatNoTP
	StatReturned
	StatReturnFailed
	StatMax = 16
)

// MaxDenied is how many networks map "deny" holds.
const MaxDenied = 8192

// Sizes in bytes, as in C.
const (
	MarkSize  = int(unsafe.Sizeof(Mark{}))
	CloseSize = int(unsafe.Sizeof(Close{}))
)

// Counted returns what counts of a connection whose kernel counter is now; word is the mark's,
// as it stands. bpf/count.h has the rule. Less than nothing is a counter that was read a moment
// before the mark, or that tcp_disconnect reset while counting.
func (m *Mark) Counted(word, now uint64) uint64 {
	if m.Flags&MarkCounting != 0 {
		word = now - word
	}
	return uint64(max(0, int64(word)))
}

// LateSamples is how many late samples of one response LateRate rests on, at most 16; 0: none yet
// of the one that crossed last.
func (m *Mark) LateSamples() uint16 { return uint16(m.Flags >> 16) }

// DecodeMark copies a Mark out of an sk_storage value. Host byte order.
func DecodeMark(b []byte, m *Mark) error {
	if len(b) != MarkSize {
		return fmt.Errorf("decode mark: %d bytes, want %d: the agent and the loaded program are of different versions", len(b), MarkSize)
	}
	copy(unsafe.Slice((*byte)(unsafe.Pointer(m)), MarkSize), b)
	return nil
}

// DecodeClose copies a Close out of a ring record. Host byte order.
func DecodeClose(b []byte, c *Close) error {
	if len(b) < CloseSize {
		return fmt.Errorf("decode close record: %d bytes, want %d", len(b), CloseSize)
	}
	copy(unsafe.Slice((*byte)(unsafe.Pointer(c)), CloseSize), b[:CloseSize])
	return nil
}

// SweepRequest is what a walk over a namespace's sockets does besides counting.
type SweepRequest struct {
	Rearm       bool          // give stolen callback flags back (Linux 6.12)
	Evict       bool          // move treated connections back to DefaultCong (5.15)
	DefaultCong inetdiag.Cong // of the namespace
}

// Sweep is what one walk saw and did.
type Sweep struct {
	Seen        uint64 // full TCP sockets of the namespace
	Marked      uint64 // of them: followed by eBPF
	Stripped    uint64 // of them: another program took our callbacks
	Rearmed     uint64
	RearmFailed uint64
	Evicted     uint64
	EvictFailed uint64
}
