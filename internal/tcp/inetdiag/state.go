package inetdiag

import "strconv"

// TCP states as idiag_state carries them (include/net/tcp_states.h).
const (
	StateEstablished uint8 = 1 + iota
	StateSynSent
	StateSynRecv
	StateFinWait1
	StateFinWait2
	StateTimeWait
	StateClose
	StateCloseWait
	StateLastAck
	StateListen
	StateClosing
	StateNewSynRecv
	StateBoundInactive // 6.8 and later: bound, neither listening nor connected
)

var stateNames = [...]string{
	"UNKNOWN", "ESTABLISHED", "SYN_SENT", "SYN_RECV", "FIN_WAIT1", "FIN_WAIT2", "TIME_WAIT",
	"CLOSE", "CLOSE_WAIT", "LAST_ACK", "LISTEN", "CLOSING", "NEW_SYN_RECV", "BOUND_INACTIVE",
}

// StateName returns the kernel's name of a TCP state without its TCP_ prefix.
func StateName(state uint8) string {
	if int(state) < len(stateNames) {
		return stateNames[state]
	}
	return "STATE_" + strconv.Itoa(int(state))
}

// Sets of states for Request.States, one bit (1 << state) each.
const (
	// Connected is every state in which a connection exists or is being torn down and still has
	// its full socket. It leaves out TIME_WAIT and NEW_SYN_RECV, for which the kernel keeps no
	// tcp_info. A FIN_WAIT2 that was handed to a timewait socket still comes, without tcp_info.
	Connected uint32 = 1<<StateEstablished | 1<<StateFinWait1 | 1<<StateFinWait2 |
		1<<StateCloseWait | 1<<StateLastAck | 1<<StateClosing
	// Listening is LISTEN alone.
	Listening uint32 = 1 << StateListen
	// Everything is every state that kernels up to 6.18 know.
	Everything uint32 = 1<<(StateBoundInactive+1) - 2
)

// Address families of idiag_family.
const (
	FamilyBoth  uint8 = 0 // in a request only
	FamilyInet  uint8 = 2
	FamilyInet6 uint8 = 10
)
