package outcome

import "github.com/congctl/congctl/internal/lab/scenario"

// Gate is one rule that a valid cell keeps. Got and Want are for people, with units.
type Gate struct {
	Name   string `json:"name"`
	OK     bool   `json:"ok"`
	Exempt string `json:"exempt,omitempty"` // why the scenario may break it
	Got    string `json:"got"`
	Want   string `json:"want"`
	Why    string `json:"why,omitempty"` // of a broken gate: the likely mistake and the fix
}

// Metrics are the numbers of a valid run. Rates count payload at the receiver.
type Metrics struct {
	GoodputBitPerS float64       `json:"goodput_bit_per_s"` // whole transfer, all flows
	SteadyBitPerS  float64       `json:"steady_bit_per_s"`  // after WarmUpUs; 0 where nothing was left
	CompletionUs   uint64        `json:"completion_us"`     // of the last byte of the last flow
	ConnUs         Spread        `json:"conn_us"`           // connections' completion times, where flows repeat
	RetransShare   float64       `json:"retrans_share"`     // bytes sent again / bytes sent
	QueueUs        Spread        `json:"queue_us"`          // probes' RTT less the idle one
	SrttQueueUs    Spread        `json:"srtt_queue_us"`     // srtt - min_rtt of the samples
	Jain           float64       `json:"jain"`              // of the flows' goodput
	LinkUse        float64       `json:"link_use"`          // bytes at the bottleneck / what its rate allows
	WireBitPerS    float64       `json:"wire_bit_per_s"`    // at the bottleneck as tc counts, after the first burst
	WireBytes      uint64        `json:"wire_bytes"`        // that WireBitPerS was measured over
	IdealShare     float64       `json:"ideal_share"`       // steady goodput / (rate x MSS / frame)
	PolicerShare   float64       `json:"policer_share"`     // of BBR's samples in a policer-detector episode (lt_bw)
	Flows          []FlowMetrics `json:"flows"`
}

// FlowMetrics are those of one flow.
type FlowMetrics struct {
	Name           string  `json:"name"`
	Cong           string  `json:"cong"`
	GoodputBitPerS float64 `json:"goodput_bit_per_s"`
	SteadyBitPerS  float64 `json:"steady_bit_per_s"`
	RetransShare   float64 `json:"retrans_share"`
}

// Spread are type-7 quantiles.
type Spread struct {
	P50 float64 `json:"p50"`
	P95 float64 `json:"p95"`
	P99 float64 `json:"p99"`
}

// Result is one run judged. Metrics is nil unless Valid: an invalid cell has no number.
type Result struct {
	Cell    string   `json:"cell"`
	Seed    uint64   `json:"seed"`
	Valid   bool     `json:"valid"`
	Gates   []Gate   `json:"gates"`
	Metrics *Metrics `json:"metrics,omitempty"`
}

// Interval is a median with its 95 % confidence interval; Low = High = Median for one run.
type Interval struct {
	Median float64 `json:"median"`
	Low    float64 `json:"low"`
	High   float64 `json:"high"`
}

// Row is a cell over all its seeds.
type Row struct {
	Cell      string    `json:"cell"`
	Group     string    `json:"group"`
	Arm       string    `json:"arm"`
	Runs      int       `json:"runs"`
	Invalid   int       `json:"invalid"`
	Reasons   []string  `json:"reasons,omitempty"` // broken gates and errors, each once
	Goodput   *Interval `json:"goodput_bit_per_s,omitempty"`
	Steady    *Interval `json:"steady_bit_per_s,omitempty"`
	Completed *Interval `json:"completion_us,omitempty"`
	Retrans   *Interval `json:"retrans_share,omitempty"`
	QueueP95  *Interval `json:"queue_p95_us,omitempty"`
	Jain      *Interval `json:"jain,omitempty"`
	Wire      *Interval `json:"wire_bit_per_s,omitempty"`
	Policer   *Interval `json:"policer_share,omitempty"`
	// Ratio of this arm's goodput to that of the scenario's first arm, in the same group.
	Ratio  *Interval `json:"ratio,omitempty"`
	Paired bool      `json:"paired"` // of Ratio: losses were the same for both arms
	Stop   string    `json:"stop"`   // why no more seeds: narrow enough, budget spent, requested
	Theory *Theory   `json:"theory,omitempty"`
}

// Theory is the prediction beside a row; lab/theory makes it.
type Theory struct {
	BoundBitPerS float64 `json:"bound_bit_per_s"` // physics
	LowBitPerS   float64 `json:"low_bit_per_s"`   // of the model's band
	HighBitPerS  float64 `json:"high_bit_per_s"`
	Model        string  `json:"model"`   // its name and source in a few words
	Verdict      string  `json:"verdict"` // as predicted | above the model: suspect the emulator | below: investigate | no model
}

// Summary is a scenario's run.
type Summary struct {
	Scenario scenario.Scenario `json:"scenario"`
	Rows     []Row             `json:"rows"` // in the order of the scenario's cells
	Winners  []Winner          `json:"winners"`
}

// Invalid counts the rows without a result.
func (s *Summary) Invalid() (n int) {
	for i := range s.Rows {
		if !s.Rows[i].valid() {
			n++
		}
	}
	return n
}

func (r *Row) valid() bool { return r.Runs > 0 && r.Invalid == 0 }

// Winner is the arm with the best median goodput of a group; a difference under 5 % is a tie.
type Winner struct {
	Group string `json:"group"`
	Arm   string `json:"arm"` // "" for a tie or where a cell is invalid
	Note  string `json:"note,omitempty"`
}
