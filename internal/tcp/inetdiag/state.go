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

// StateName is the kernel's name of a TCP state without its TCP_ prefix.
func StateName(state uint8) string {
	if int(state) < len(stateNames) {
		return stateNames[state]
	}
	return "STATE_" + strconv.Itoa(int(state))
}

// Sets of states for Request.States, one bit (1 << state) each.
const (
	// Connected is every state in which a connection exists or is being torn down
	// and still has its full socket. TIME_WAIT and NEW_SYN_RECV are left out: the
	// kernel keeps no tcp_info for them. A FIN_WAIT2 that was handed to a timewait
	// socket still comes, without tcp_info.
	Connected uint32 = 1<<StateEstablished | 1<<StateFinWait1 | 1<<StateFinWait2 |
		1<<StateCloseWait | 1<<StateLastAck | 1<<StateClosing
	// Listening is LISTEN alone.
	Listening uint32 = 1 << StateListen
	// Everything is every state that a kernel up to 6.18 knows.
	Everything uint32 = 1<<(StateBoundInactive+1) - 2
)

// Address families of idiag_family.
const (
	FamilyBoth  uint8 = 0 // in a request only
	FamilyInet  uint8 = 2
	FamilyInet6 uint8 = 10
)

// OptNames are the bits of tcpi_options, lowest first (TCPI_OPT_*).
var OptNames = [...]string{"timestamps", "sack", "wscale", "ecn", "ecn_seen", "syn_data", "usec_ts", "tfo_child"}

// CaStateNames are the values of tcpi_ca_state (enum tcp_ca_state).
var CaStateNames = [...]string{"open", "disorder", "cwr", "recovery", "loss"}
