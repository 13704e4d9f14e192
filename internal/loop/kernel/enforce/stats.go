package enforce

import (
	"fmt"

	"github.com/congctl/congctl/internal/tcp/abi"
)

// Stats are the program's own counters since it was loaded.
type Stats struct {
	Passive      uint64 `json:"passive"`       // accepted connections seen in followed namespaces
	Unpolled     uint64 `json:"unpolled"`      // accepted connections elsewhere: never treated
	NoStorage    uint64 `json:"no_storage"`    // not followed for want of memory
	NoFlags      uint64 `json:"no_flags"`      // not followed: callbacks could not be armed
	Callbacks    uint64 `json:"rtt_callbacks"` // once per round trip and connection
	Crossed      uint64 `json:"crossed"`       // responses that reached the threshold
	Switched     uint64 `json:"switched"`
	SwitchFailed uint64 `json:"switch_failed"`
	CapFailed    uint64 `json:"cap_failed"`
	Closed       uint64 `json:"closed"`    // close records written
	RingFull     uint64 `json:"ring_full"` // close records lost
	NoTCPSock    uint64 `json:"no_tcp_sock"`
	Returned     uint64 `json:"returned"` // moved back to the default at a response's or a block's end
	ReturnFailed uint64 `json:"return_failed"`
}

// Stats reads the counters.
func (e *Enforcer) Stats() (Stats, error) {
	var sum [abi.StatMax]uint64
	for i := range sum {
		var per []uint64
		if err := e.objs.Stats.Lookup(uint32(i), &per); err != nil {
			return Stats{}, fmt.Errorf("read counter %d: %w", i, err)
		}
		for _, n := range per {
			sum[i] += n
		}
	}
	return Stats{
		Passive: sum[abi.StatPassive], Unpolled: sum[abi.StatUnpolled], NoStorage: sum[abi.StatNoStorage],
		NoFlags: sum[abi.StatNoFlags], Callbacks: sum[abi.StatRTT], Crossed: sum[abi.StatCrossed],
		Switched: sum[abi.StatSwitched], SwitchFailed: sum[abi.StatSwitchFailed], CapFailed: sum[abi.StatCapFailed],
		Closed: sum[abi.StatClosed], RingFull: sum[abi.StatRingFull], NoTCPSock: sum[abi.StatNoTP],
		Returned: sum[abi.StatReturned], ReturnFailed: sum[abi.StatReturnFailed],
	}, nil
}
