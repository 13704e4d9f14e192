package policy

import (
	"fmt"
	"math"

	"github.com/congctl/congctl/internal/core/effect"
	"github.com/congctl/congctl/internal/core/record"
)

// Experiment is what an Explanation says of a prefix that is tried, or was.
type Experiment struct {
	Since   int64      `json:"since,omitempty"`         // in its present state, Unix seconds
	From    int64      `json:"evidence_from,omitempty"` // start of the first block that counts
	Role    record.Arm `json:"role,omitempty"`          // hold-out or A/A
	Retired int        `json:"retired_in_a_row,omitempty"`
	Until   int64      `json:"cooling_until,omitempty"` // Unix seconds; 0: not cooling down
	Budget  int64      `json:"trial_until,omitempty"`   // retired then, if nothing shows before

	Pairs []PairLine `json:"pairs,omitempty"` // as weighed at the last end of a block, oldest first

	// Rate under treatment / under control; bounds hold at all times at once with
	// 95 %. 0 below two pairs; a bound that is not known yet is 0 too.
	Rate float64 `json:"rate_ratio,omitempty"`
	Low  float64 `json:"rate_ratio_low,omitempty"`
	High float64 `json:"rate_ratio_high,omitempty"`

	// log10 of the evidence against "no benefit" and against "no harm", and of what
	// one prefix needs by itself. Of many on trial each needs more.
	Benefit float64 `json:"log10_evidence_of_benefit,omitempty"`
	Harm    float64 `json:"log10_evidence_of_harm,omitempty"`
	Needed  float64 `json:"log10_evidence_needed,omitempty"`

	NoiseBlock float64 `json:"noise_block,omitempty"` // standard deviations of ln rate, as estimated over all pairs
	NoiseConn  float64 `json:"noise_connection,omitempty"`
}

// PairLine is one pair of an Experiment.
type PairLine struct {
	Start  int64 `json:"start"` // of the group, Unix seconds
	End    int64 `json:"end"`
	TConns int   `json:"treatment_connections"`
	CConns int   `json:"control_connections"`

	Rate             float64 `json:"rate_ratio"`
	TBytesPerS       float64 `json:"treatment_rate_bytes_per_s"` // geometric means
	CBytesPerS       float64 `json:"control_rate_bytes_per_s"`
	TRetransShare    float64 `json:"treatment_retrans_share"`
	CRetransShare    float64 `json:"control_retrans_share"`
	ShareOfTreatment float64 `json:"share_of_treatment"` // of the blocks
}

// experiment is nil where there is nothing to say.
func (e *Engine) experiment(t *track) *Experiment {
	c, tried := e.cooling[t.prefix]
	round := e.start(e.now) + e.rules.WindowSeconds
	switch {
	case t.trial != nil:
		return e.ofTrial(t)
	case tried && round < c.Until:
		return &Experiment{Retired: c.Row, Until: c.Until}
	case tried:
		return &Experiment{Retired: c.Row}
	}
	return nil
}

func (e *Engine) ofTrial(t *track) *Experiment {
	s := t.chosen
	x := &Experiment{Since: s.Since, Role: s.Role, Retired: s.Retired}
	if s.Role == record.ArmHoldout {
		return x
	}
	x.From, x.Needed = s.From, needed/math.Ln10
	x.NoiseBlock, x.NoiseConn = e.noise.Block, e.noise.Conn
	if s.State == StateTrial {
		x.Budget = e.budgetEnd(t)
	}
	for _, p := range t.trial.pairs {
		x.Pairs = append(x.Pairs, e.pairLine(p))
	}
	if v := t.trial.evidence; v.Pairs >= 2 {
		x.Rate, x.Low, x.High = math.Exp(v.LogRatio), math.Exp(v.Low), finite(math.Exp(v.High))
		x.Benefit, x.Harm = v.LogEBenefit/math.Ln10, v.LogEHarm/math.Ln10
	}
	return x
}

func (e *Engine) pairLine(p effect.Pair) PairLine {
	groups := p.Group + 1
	return PairLine{Start: p.End - p.End/groups, End: p.End, TConns: p.T.N, CConns: p.C.N,
		Rate: math.Exp(p.LogRatio()), TBytesPerS: math.Round(math.Exp(p.T.MeanLog)), CBytesPerS: math.Round(math.Exp(p.C.MeanLog)),
		TRetransShare: p.T.RetransShare(), CRetransShare: p.C.RetransShare(), ShareOfTreatment: p.P}
}

// verdictTried says what follows for one in the plan, by the same tests as the decision.
func (e *Engine) verdictTried(t *track) []string {
	s, r := t.chosen, e.rules.Trial
	switch {
	case s.Role == record.ArmHoldout:
		return []string{fmt.Sprintf("Slow enough to be tried since %s, and in the hold-out: never treated.", timeText(s.Since))}
	case s.Role == record.ArmAA:
		return []string{fmt.Sprintf("A/A since %s: judged as if treated, and never treated. It must show no effect.", timeText(s.Since)), e.prospect(t)}
	case s.State == StatePromoted:
		return []string{fmt.Sprintf("Promoted since %s: %s.", timeText(s.Since), s.Reason),
			fmt.Sprintf("Treated in %d of %d blocks.", r.GroupPromoted-1, r.GroupPromoted), e.prospect(t)}
	}
	return []string{fmt.Sprintf("On trial since %s: %s.", timeText(s.Since), s.Reason),
		fmt.Sprintf("Treated in %d of %d blocks.", r.GroupTrial-1, r.GroupTrial), e.prospect(t)}
}

func (e *Engine) prospect(t *track) string {
	switch v := t.trial.verdict; {
	case v.kind == EventPromoted:
		return "To be promoted: " + v.reason + "."
	case v.kind == EventRetrial:
		return "To go back on trial: " + v.reason + "."
	case v.kind != "":
		return "To leave: " + v.reason + "."
	case t.chosen.State == StatePromoted:
		return "Stays promoted: " + effectText(t.trial.evidence) + "."
	}
	return fmt.Sprintf("Waits for evidence, until %s: %s.", timeText(e.budgetEnd(t)), effectText(t.trial.evidence))
}
