package top

import (
	"fmt"
	"io"

	"github.com/congctl/congctl/internal/answer"
	"github.com/congctl/congctl/internal/loop/policy"
	"github.com/congctl/congctl/internal/tcp/record"
)

// State is what top shows of the loop.
type State struct {
	PoP     string        `json:"pop"`
	Running bool          `json:"running"` // false: a replay of the store answers
	Stopped bool          `json:"stopped"`
	Frozen  bool          `json:"frozen"`
	Plan    record.PlanID `json:"plan"`
	Ranked  int           `json:"ranked"`
	Needed  int           `json:"ranked_needed"`
	Default string        `json:"default_cong"` // "default" where namespaces differ, or nothing runs
	Alarms  []string      `json:"alarms"`
}

// Network is a row of `congctl prefixes`.
type Network struct {
	policy.Row
	Treatment string     `json:"treatment,omitempty"`
	Arm       record.Arm `json:"arm"`
	ArmUntil  int64      `json:"arm_until_unix_s,omitempty"`
}

// Answer is what `congctl top --once` prints.
type Answer struct {
	AtUnixS int64 `json:"at_unix_s"`
	State
	Totals   []Total   `json:"totals"`
	Networks []Network `json:"networks"`
}

// WriteTotals writes the totals as a table.
func WriteTotals(w io.Writer, totals []Total) error {
	rows := make([][]string, 0, len(totals))
	for i := range totals {
		t := &totals[i]
		rows = append(rows, []string{t.Cong, fmt.Sprint(t.Networks), fmt.Sprint(t.Connections), size(t.BytesAcked), share(t.BytesRetrans, t.BytesSent)})
	}
	return answer.Table(w, "CONG NETWORKS CONNECTIONS ACKED RETRANS", rows)
}
