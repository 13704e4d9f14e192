package goodput

import (
	"cmp"

	"github.com/congctl/congctl/internal/tcp/record"
)

// Kind is what a row's values are.
type Kind uint8

const (
	Responses Kind = iota // of at least the threshold: body bytes by time, from the log
	Small                 // of less: they fit into a socket's buffer, so the time means little
	Acked                 // connections of a window with at least the threshold: bytes acknowledged by busy time, from the kernel
)

var kindNames = [...]string{"responses", "small", "acked"}

func (k Kind) String() string { return record.NameOf(kindNames[:], int(k), "kind") }

// MarshalText prints a kind by name.
func (k Kind) MarshalText() ([]byte, error) { return []byte(k.String()), nil }

// UnmarshalText reads a kind by name; on an error k is unchanged.
func (k *Kind) UnmarshalText(b []byte) error { return record.ParseName(k, kindNames[:], b, "kind") }

// Key names a row.
type Key struct {
	Window    int64         `json:"window_start"` // Unix seconds
	Prefix    record.Prefix `json:"prefix"`
	Kind      Kind          `json:"kind"`
	Arm       record.Arm    `json:"arm"`
	Carryover bool          `json:"carryover,omitempty"` // on a connection that last crossed in another block: in no estimate
	Washout   bool          `json:"washout,omitempty"`   // at the start of a block: in no estimate
	Tenant    string        `json:"tenant,omitempty"`
}

// Row sums up a network's responses of one kind.
type Row struct {
	Key
	N        uint32 `json:"n"` // responses, or connections
	Bytes    uint64 `json:"bytes"`
	Buffered uint32 `json:"buffered,omitempty"` // over within a round trip: their goodput is the buffer's
	// BytesPerS are the values, ascending; a uniform sample of SampleCap if there are more.
	BytesPerS []float32 `json:"bytes_per_s"`
}

// Weight returns how many responses each value stands for.
func (r *Row) Weight() float64 {
	if len(r.BytesPerS) == 0 {
		return 0
	}
	return float64(r.N) / float64(len(r.BytesPerS))
}

// Counts reports whether the row may enter an estimate.
func (k Key) Counts() bool { return !k.Carryover && !k.Washout }

func compareKeys(a, b Key) int {
	return cmp.Or(cmp.Compare(a.Window, b.Window), cmp.Compare(a.Prefix, b.Prefix), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Arm, b.Arm),
		cmp.Compare(flag(a.Carryover), flag(b.Carryover)), cmp.Compare(flag(a.Washout), flag(b.Washout)), cmp.Compare(a.Tenant, b.Tenant))
}

func flag(b bool) int {
	if b {
		return 1
	}
	return 0
}
