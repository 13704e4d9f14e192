package popday

import (
	"encoding/json"
	"fmt"

	"github.com/congctl/congctl/internal/tcp/record"
)

// Facts are the counters of a run.
type Facts struct {
	Day            string         `json:"day"`
	Policy         string         `json:"policy"`
	Seed           uint64         `json:"seed"`
	Kernel         string         `json:"kernel"`
	BeganUnixS     int64          `json:"began_unix_s"`    // the day's first moment, by the machine's clock
	DurationUs     uint64         `json:"duration_us"`     // from there to the end of all
	BusyShare      float64        `json:"busy_share"`      // CPU not idle
	SoftnetDropped uint64         `json:"softnet_dropped"` // packets that the machine had no room for
	Responses      int            `json:"responses"`
	Large          int            `json:"large"`          // of LargeBytes and more
	Broken         int            `json:"broken"`         // that did not come whole
	SegmentsOut    uint64         `json:"segments_out"`   // of the edge (Tcp OutSegs)
	SegmentsAgain  uint64         `json:"segments_again"` // retransmitted (Tcp RetransSegs)
	Networks       []NetworkFacts `json:"networks"`
}

// NetworkFacts are those of one client network.
type NetworkFacts struct {
	Class  string        `json:"class"`
	Prefix record.Prefix `json:"prefix"`
}

// ReadFacts reads a run's facts.json. Fields that are not compared may stand in it as well.
func ReadFacts(b []byte) (f Facts, err error) {
	if err := json.Unmarshal(b, &f); err != nil {
		return Facts{}, fmt.Errorf("read facts: %w", err)
	}
	if f.Policy == "" || f.Seed == 0 || len(f.Networks) == 0 {
		return Facts{}, fmt.Errorf("read facts: policy %q, seed %d, %d networks", f.Policy, f.Seed, len(f.Networks))
	}
	return f, nil
}
