package record

import "fmt"

// Arm is what the experiment assigned to a prefix for one block. The numbers
// are the kernel map's ABI.
type Arm uint8

const (
	ArmNone      Arm = iota // the prefix is in no plan
	ArmTreatment            // move responses past the threshold to the plan's congestion control
	ArmControl              // record the same crossing, do nothing
	ArmHoldout              // in the global hold-out: never treated
	ArmAA                   // treated with the default itself, in blocks drawn like all others: must show no effect
	ArmUnknown              // unknown (treated before a restart, or the map value was past its end)
)

var armNames = [...]string{"none", "T", "C", "hold-out", "A/A", "unknown"}

func (a Arm) String() string { return NameOf(armNames[:], int(a), "arm") }

// MarshalText prints the arm by name.
func (a Arm) MarshalText() ([]byte, error) { return []byte(a.String()), nil }

// UnmarshalText reads an arm by name; on an error a is unchanged.
func (a *Arm) UnmarshalText(b []byte) error { return ParseName(a, armNames[:], b, "arm") }

// Applied is what really happened to a response when it crossed the threshold. The
// numbers are the kernel's ABI. A value that starts with "none-" is why an assigned
// treatment did not happen.
type Applied uint8

const (
	AppliedNone        Applied = iota // no crossing, or the prefix is in no plan
	AppliedTreatment                  // switched (A/A: to the default)
	AppliedControl                    // crossed in the control arm
	AppliedNoneExpired                // the map value had expired: a stalled agent treats nothing
	AppliedNoneKilled                 // the kill switch was on
	AppliedNoneStarved                // the host was short of CPU
	AppliedNoneApp                    // the application had chosen its own congestion control
	AppliedNoneDenied                 // the address is on the deny list
	AppliedNonePending                // never in CA_Open after the crossing
	AppliedNoneFailed                 // the kernel refused the switch
	AppliedNoneMPTCP                  // an MPTCP subflow: measured, never treated
	AppliedUnknown                    // treated before a restart, or not seen by eBPF
)

var appliedNames = [...]string{"none", "T", "C", "none-expired", "none-stopped", "none-starved", "none-app",
	"none-denied", "none-pending", "none-failed", "none-mptcp", "unknown"}

// Drawn reports whether an arm is drawn anew for each block.
func (a Arm) Drawn() bool { return a == ArmTreatment || a == ArmControl || a == ArmAA }

func (a Applied) String() string { return NameOf(appliedNames[:], int(a), "applied") }

// MarshalText prints what was applied by name.
func (a Applied) MarshalText() ([]byte, error) { return []byte(a.String()), nil }

// UnmarshalText reads what was applied by name; on an error a is unchanged.
func (a *Applied) UnmarshalText(b []byte) error {
	return ParseName(a, appliedNames[:], b, "applied")
}

// NameOf returns the i-th of names, or its number with what it is.
func NameOf(names []string, i int, what string) string {
	if i < len(names) {
		return names[i]
	}
	return fmt.Sprintf("%s(%d)", what, i)
}

// ParseName reads one of names; on an error to is unchanged.
func ParseName[T ~uint8](to *T, names []string, b []byte, what string) error {
	for i, n := range names {
		if n == string(b) {
			*to = T(i)
			return nil
		}
	}
	return fmt.Errorf("parse %s %.30q: not one of %v", what, b, names)
}
