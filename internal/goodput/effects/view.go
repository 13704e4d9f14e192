package effects

import (
	"math"

	"github.com/congctl/congctl/internal/goodput/comparison"
	"github.com/congctl/congctl/internal/loop/effect"
	"github.com/congctl/congctl/internal/loop/policy"
)

// View is the answer as JSON. Ratios are treatment by control, after by before with a label.
type View struct {
	PoP       string `json:"pop"`
	Treatment string `json:"treatment,omitempty"`
	From      int64  `json:"from_unix_s"`
	To        int64  `json:"to_unix_s"`

	Label      string `json:"label,omitempty"` // of a change that is no experiment
	ChangeAt   int64  `json:"change_unix_s,omitempty"`
	Confounded string `json:"confounded,omitempty"` // why such an answer is no evidence

	Networks  int              `json:"networks"`
	Rows      int              `json:"window_rows"`
	Estimates []Estimate       `json:"estimates"`
	Overall   *Overall         `json:"overall,omitempty"`
	Busy      *Overall         `json:"goodput_over_busy_time,omitempty"`
	Cost      *comparison.Cost `json:"cost,omitempty"`
	Cap       *Cap             `json:"pacing_cap,omitempty"`
	AA        []Estimate       `json:"aa"`
	HoldOut   *HoldOut         `json:"hold_out,omitempty"`
	Taken     *policy.Taken    `json:"taken_from_others,omitempty"` // none while too little is known, and with a label
	Before    *BeforeAfter     `json:"before_after,omitempty"`
	Responses *ResponseTally   `json:"responses,omitempty"`
	Findings  []Finding        `json:"findings"`
}

// Estimate is one metric, for all or for one label.
type Estimate struct {
	Metric    string  `json:"metric"`
	By        string  `json:"by,omitempty"` // network, tenant or class; none for all
	Of        string  `json:"of,omitempty"` // its name
	Pairs     int     `json:"pairs"`
	Partial   int     `json:"groups_with_one_arm"`
	Treatment int     `json:"treatment_values"`
	Control   int     `json:"control_values"`
	Method    string  `json:"interval"`
	Ratios    []Ratio `json:"ratios"`
	Suspect   bool    `json:"suspect,omitempty"` // an A/A line whose interval leaves out 1
}

// Ratio is one quantile's. Low and high are left out without an interval.
type Ratio struct {
	Quantile  float64 `json:"quantile"`
	Treatment float64 `json:"treatment_bytes_per_s"`
	Control   float64 `json:"control_bytes_per_s"`
	Ratio     float64 `json:"ratio"`
	Low       float64 `json:"low,omitempty"`
	High      float64 `json:"high,omitempty"`
}

// Overall is the ratio of geometric means, with bounds that hold at any time.
type Overall struct {
	Pairs int     `json:"pairs"`
	Ratio float64 `json:"ratio"`
	Low   float64 `json:"low,omitempty"`
	High  float64 `json:"high,omitempty"`
	In    int64   `json:"bounds_in_s,omitempty"` // until there are bounds, if pairs come as they did
}

// Cap is what the pacing cap does: capped connections against scouts of the same windows.
type Cap struct {
	Networks int `json:"networks"`
	*policy.CapEffect
}

// HoldOut compares chosen networks that were held out with the others.
type HoldOut struct {
	Held  int     `json:"held_out_networks"`
	Open  int     `json:"other_networks"`
	Ratio float64 `json:"ratio,omitempty"`
	Low   float64 `json:"low,omitempty"`
	High  float64 `json:"high,omitempty"`
	Why   string  `json:"no_estimate,omitempty"`
}

// BeforeAfter is the change of the chosen networks' rates since they were chosen.
type BeforeAfter struct {
	Networks  int     `json:"networks"`
	Treated   float64 `json:"treated_by_before"`
	Untreated float64 `json:"untreated_by_before"` // what would have come anyway
	Note      string  `json:"note"`
}

// ResponseTally is what became of the access logs' lines.
type ResponseTally struct {
	Matched       uint64            `json:"matched"`
	Unmatched     uint64            `json:"unmatched"`
	UnmatchedFor  map[string]uint64 `json:"unmatched_by_reason"`
	Small         uint64            `json:"small"`
	Carryover     uint64            `json:"carryover"`
	Buffered      uint64            `json:"buffered"`
	BadLines      uint64            `json:"bad_lines"`
	LostRows      int               `json:"lost_rows"`      // half lines of the goodput files
	DroppedValues uint64            `json:"dropped_values"` // found no room
}

// Finding is what makes the answer doubtful, and what to do.
type Finding struct {
	Text string `json:"text"`
	Fix  string `json:"fix"`
}

// Confounded stands beside every answer of before and after.
const Confounded = "before and after also differ in everything else that changed at that time: no evidence of the cause"

// Fill puts a report into the view; by is the kind of the labels.
func (v *View) Fill(r comparison.Report, by string) {
	v.Networks, v.Rows = r.Networks, r.Rows
	v.Estimates = estimatesOf(r.Estimates, by)
	if v.Label != "" {
		v.Confounded = Confounded
		return
	}
	v.AA = estimatesOf(r.AA, "")
	for i := range v.AA {
		v.AA[i].Suspect = r.AA[i].Faulty()
	}
	v.Overall, v.Busy = overallOf(r.Overall), overallOf(r.Busy)
	if c := r.Cost; c.Pairs > 0 {
		v.Cost = &c
	}
	if c := policy.CapEffectOf(r.Cap); c != nil {
		v.Cap = &Cap{r.Cap.Networks, c}
	}
	if h := r.HoldOut; h.Held > 0 {
		v.HoldOut = &HoldOut{h.Held, h.Open, h.Ratio, h.Low, h.High, h.Why}
	}
	if b := r.Before; b.Prefixes > 0 {
		v.Before = &BeforeAfter{b.Prefixes, b.Naive, b.Untreated, b.Label}
	}
}

func overallOf(f effect.Fleet) *Overall {
	if f.Pairs == 0 {
		return nil
	}
	o := &Overall{Pairs: f.Pairs, Ratio: math.Exp(f.LogRatio), In: f.BoundsIn}
	if f.Known {
		o.Low, o.High = math.Exp(f.Low), math.Exp(f.High)
	}
	return o
}

func estimatesOf(list []comparison.Estimate, by string) []Estimate {
	out := make([]Estimate, 0, len(list))
	for _, e := range list {
		x := Estimate{Metric: e.Metric.String(), Pairs: e.Pairs, Partial: e.Partial, Treatment: e.Treatment, Control: e.Control,
			Method: e.Method.String()}
		if e.Part {
			x.By, x.Of = by, e.Label
		}
		if e.Pairs > 0 {
			for _, q := range e.Ratios {
				x.Ratios = append(x.Ratios, Ratio(q))
			}
		}
		out = append(out, x)
	}
	return out
}

// FillLog puts the counts of log lines into the view, if a log was followed.
func (v *View) FillLog(l Log) {
	t := l.Tally
	if t.Responses+l.BadLines == 0 {
		return
	}
	v.Responses = &ResponseTally{Matched: t.Matched, Unmatched: t.UnmatchedTotal(), UnmatchedFor: t.Unmatched.ByReason(), Small: t.Small,
		Carryover: t.Carryover, Buffered: t.Buffered, BadLines: l.BadLines, LostRows: l.Torn, DroppedValues: l.Dropped}
}
