package comparison

import (
	"math"

	"github.com/congctl/congctl/internal/core/effect"
	"github.com/congctl/congctl/internal/core/goodput"
	"github.com/congctl/congctl/internal/core/policy"
	"github.com/congctl/congctl/internal/core/record"
)

// Draws gives the arm of a network in a block, as the plan does.
type Draws interface {
	Arm(p record.Prefix, groupLen int, block int64) record.Arm
}

// Config says how the experiment was run.
type Config struct {
	WindowSeconds, BlockSeconds, WashoutSeconds int64

	GroupTrial, GroupPromoted int   // blocks; without an experiment all groups are GroupPromoted long
	From, To                  int64 // Unix seconds; rows outside count nowhere, but for what was before a choice
	// ChangeAt is when something else was changed, Unix seconds: then before is compared with after. 0: it is not.
	ChangeAt int64
	Draws    Draws // nil where no salt is known: arms are those of the rows
}

// Builder takes what is stored: first all rounds in order and the windows to skip, then
// rows in any order.
type Builder struct {
	cfg   Config
	spans spans
	cells cells
	pairs map[pairKey]*pairState
	means map[record.Prefix]*course
	skip  map[int64]bool
	rows  int
}

// pairState is a pair in the making.
type pairState struct {
	arm      [2]effect.Block // control, treatment
	groupLen int
	treated  map[int64]bool // blocks with data
	aa       bool
}

// New makes a builder.
func New(c Config) *Builder {
	return &Builder{cfg: c, spans: newSpans(), cells: cells{}, pairs: map[pairKey]*pairState{}, means: map[record.Prefix]*course{},
		skip: map[int64]bool{}}
}

// Round takes who was chosen from start (Unix seconds) on.
func (b *Builder) Round(start int64, chosen []policy.Selected) { b.spans.round(start, chosen) }

// Skip takes a window that is not to be trusted.
func (b *Builder) Skip(start int64) { b.skip[start] = true }

// Window takes one row of the store.
func (b *Builder) Window(w *record.Window) {
	if b.skip[w.Start] {
		return
	}
	b.follow(w)
	if w.Start < b.cfg.From || w.Start >= b.cfg.To || w.Carryover || w.Washout || w.Eligible == 0 {
		return
	}
	b.rows++
	if b.cfg.ChangeAt > 0 {
		if arm, ok := b.side(w.Start, w.Arm); ok {
			b.rates(w, metricOf{metric: Rate}, pairKey{prefix: w.Prefix}, arm)
		}
		return
	}
	p, ok := b.place(w.Start, w.Prefix, w.Arm)
	if !ok {
		return
	}
	b.rates(w, metricOf{metric: Rate, aa: p.aa}, p.key, p.arm)
	b.join(w, p)
}

func (b *Builder) rates(w *record.Window, of metricOf, key pairKey, arm record.Arm) {
	values, weight := rebuilt(w)
	for _, v := range values {
		b.cells.add(cellKey{of, key, arm}, v, weight)
	}
}

// Goodput takes one row of the responses' store.
func (b *Builder) Goodput(r *goodput.Row) {
	if r.Window < b.cfg.From || r.Window >= b.cfg.To || !r.Counts() || b.skip[r.Window] {
		return
	}
	var key pairKey
	var arm record.Arm
	aa, ok := false, false
	if b.cfg.ChangeAt > 0 {
		key = pairKey{prefix: r.Prefix}
		arm, ok = b.side(r.Window, r.Arm)
	} else if p, in := b.place(r.Window, r.Prefix, r.Arm); in {
		key, arm, aa, ok = p.key, p.arm, p.aa, true
	}
	if !ok {
		return
	}
	for _, m := range metricsOf(r.Kind) {
		for _, v := range r.BytesPerS {
			b.cells.add(cellKey{metricOf{m, aa, r.Tenant}, key, arm}, float64(v), r.Weight())
		}
	}
}

func metricsOf(k goodput.Kind) []Metric {
	switch k {
	case goodput.Responses:
		return []Metric{Goodput, GoodputAll}
	case goodput.Small:
		return []Metric{GoodputAll}
	}
	return []Metric{Acked}
}

// place is where a row belongs.
type place struct {
	key      pairKey
	arm      record.Arm
	block    int64
	groupLen int
	aa       bool
}

// place says to which pair and arm a window of a network belongs, and whether to any.
func (b *Builder) place(start int64, p record.Prefix, arm record.Arm) (place, bool) {
	block := start / b.cfg.BlockSeconds
	begin := block * b.cfg.BlockSeconds
	s, ok := b.spans.whole(p, begin, begin+b.cfg.BlockSeconds)
	if !ok || start-begin < b.cfg.WashoutSeconds {
		return place{}, false
	}
	n := b.cfg.GroupPromoted
	if s.state == policy.StateTrial {
		n = b.cfg.GroupTrial
	}
	drawn := arm
	if b.cfg.Draws != nil {
		drawn = b.cfg.Draws.Arm(p, n, block)
	}
	switch {
	case s.role == record.ArmAA && (arm == record.ArmAA || arm == record.ArmNone) && b.cfg.Draws != nil:
		arm = drawn
	case s.role != record.ArmNone || arm != drawn:
		return place{}, false
	}
	if arm != record.ArmTreatment && arm != record.ArmControl {
		return place{}, false
	}
	group := block / int64(n)
	// A group of two and one of eight can begin at the same time.
	id := group*int64(n)*b.cfg.BlockSeconds*64 + int64(n)
	return place{pairKey{p, id}, arm, block, n, s.role == record.ArmAA}, true
}

// side is the arm that stands for before or after a change; the window of the change is on none.
func (b *Builder) side(start int64, arm record.Arm) (record.Arm, bool) {
	switch {
	case arm == record.ArmTreatment || arm == record.ArmUnknown:
		return 0, false
	case start+b.cfg.WindowSeconds <= b.cfg.ChangeAt:
		return record.ArmControl, true
	case start >= b.cfg.ChangeAt:
		return record.ArmTreatment, true
	}
	return 0, false
}

// join adds a row to its pair's block. Rows of before schema 4 have no mean and are in samples alone.
func (b *Builder) join(w *record.Window, p place) {
	if w.LogRateMean == 0 || math.IsNaN(w.LogRateMean) {
		return
	}
	s := b.pairs[p.key]
	if s == nil {
		s = &pairState{groupLen: p.groupLen, treated: map[int64]bool{}, aa: p.aa}
		b.pairs[p.key] = s
	}
	side := 0
	if p.arm == record.ArmTreatment {
		side = 1
		s.treated[p.block] = true
	}
	s.arm[side] = s.arm[side].Join(effect.Block{N: int(w.Eligible), MeanLog: w.LogRateMean, VarLog: w.LogRateVar,
		SentBytes: w.EligibleSentBytes, RetransBytes: w.EligibleRetransBytes, SRTTUs: w.SRTTUs, MinRTTUs: w.MinRTTUs})
}
