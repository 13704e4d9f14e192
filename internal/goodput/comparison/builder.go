package comparison

import (
	"math"

	"github.com/congctl/congctl/internal/goodput"
	"github.com/congctl/congctl/internal/loop/effect"
	"github.com/congctl/congctl/internal/loop/policy"
	"github.com/congctl/congctl/internal/tcp/record"
)

// Config is how the experiment was run.
type Config struct {
	WindowSeconds, BlockSeconds, WashoutSeconds int64

	Treatment string // congestion control

	// Blocks in a group, by state; without an experiment all groups are GroupPromoted long.
	GroupTrial, GroupPromoted int

	From, To int64 // Unix seconds; rows outside do not count, except those before a choice
	// ChangeAt is when something else changed, Unix seconds: then before is compared with
	// after. 0: no change.
	ChangeAt int64
	// Drawn is record.All where one draw decides for all networks; 0: each has its own.
	Drawn record.Prefix
	// ArmOf returns the arm of a network in a block, as the plan does; nil if no salt is known:
	// arms are those of the rows.
	ArmOf func(p record.Prefix, groupLen int, block int64) record.Arm
}

// Builder takes what is stored: first all rounds in order and the windows to skip, then rows
// in any order.
type Builder struct {
	cfg   Config
	spans spans
	cells cells
	pairs map[pairKey]*pairState
	means map[record.Prefix]*course
	skip  map[int64]bool
	caps  caps
	rows  int
}

// pairState is a pair in the making.
type pairState struct {
	end     int64 // of the group, Unix seconds
	control effect.Block
	treated map[int64]effect.Block // by number
}

// New makes a builder.
func New(c Config) *Builder {
	return &Builder{cfg: c, spans: newSpans(), cells: cells{}, pairs: map[pairKey]*pairState{}, means: map[record.Prefix]*course{},
		skip: map[int64]bool{}, caps: newCaps()}
}

// Round takes the networks chosen from start (Unix seconds) on.
func (b *Builder) Round(start int64, chosen []policy.Selected) {
	b.spans.round(start, chosen, b.cfg.groupLen)
	b.caps.round(start, chosen)
}

// Skip takes a window that cannot be trusted.
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
	if w.Arm == record.ArmTreatment && w.Cong == b.cfg.Treatment {
		b.caps.add(w, b.cfg.BlockSeconds)
	}
	p, ok := b.place(w.Start, w.Prefix, w.Arm)
	if !ok {
		return
	}
	values, weight := Rebuilt(w)
	for _, v := range values {
		b.cells.add(cellKey{metricOf{metric: Rate, aa: p.aa}, p.key, p.arm}, p.block, v, weight)
	}
	b.join(w, p)
}

// Goodput takes one row of the responses' store.
func (b *Builder) Goodput(r *goodput.Row) {
	if r.Window < b.cfg.From || r.Window >= b.cfg.To || !r.Counts() || b.skip[r.Window] {
		return
	}
	p, ok := b.place(r.Window, r.Prefix, r.Arm)
	if !ok {
		return
	}
	for _, m := range metricsOf(r.Kind) {
		for _, v := range r.BytesPerS {
			b.cells.add(cellKey{metricOf{m, p.aa, r.Tenant}, p.key, p.arm}, p.block, float64(v), r.Weight())
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
	key   pairKey
	arm   record.Arm
	block int64
	end   int64 // of its group, Unix seconds
	aa    bool
}

// place returns to which pair and arm a window of a network belongs, if to any.
func (b *Builder) place(start int64, p record.Prefix, arm record.Arm) (place, bool) {
	if b.cfg.ChangeAt > 0 {
		arm, ok := b.side(start, arm)
		return place{key: pairKey{prefix: p, drawn: p}, arm: arm}, ok
	}
	block := start / b.cfg.BlockSeconds
	begin := block * b.cfg.BlockSeconds
	s, by, ok := b.spans.whole(p, begin, begin+b.cfg.BlockSeconds)
	if !ok {
		return place{}, false
	}
	n := s.group
	drawn := arm
	if b.cfg.ArmOf != nil {
		drawn = b.cfg.ArmOf(by, n, block)
	}
	switch {
	case s.role == record.ArmAA && (arm == record.ArmAA || arm == record.ArmNone) && b.cfg.ArmOf != nil:
		arm = drawn
	case s.role != record.ArmNone || arm != drawn:
		return place{}, false
	}
	if arm != record.ArmTreatment && arm != record.ArmControl {
		return place{}, false
	}
	length := int64(n)
	first := block / length * length
	// A group of two and one of eight can begin at the same time.
	id := first*b.cfg.BlockSeconds*64 + length
	return place{pairKey{p, by, id}, arm, block, (first + length) * b.cfg.BlockSeconds, s.role == record.ArmAA}, true
}

func (c Config) groupLen(state policy.State, role record.Arm) int {
	if state == policy.StateTrial || role == record.ArmAA {
		return c.GroupTrial
	}
	return c.GroupPromoted
}

// side returns the arm that stands for before or after a change; the window of the change is
// on neither.
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

// join adds a row to its pair's block, in an experiment. Rows of A/A are only in samples, as
// are those from before schema 4, which have no mean.
func (b *Builder) join(w *record.Window, p place) {
	if b.cfg.ChangeAt > 0 || p.aa || w.LogRateMean == 0 || math.IsNaN(w.LogRateMean) {
		return
	}
	k := p.key.ofDraw()
	s := b.pairs[k]
	if s == nil {
		s = &pairState{end: p.end, treated: map[int64]effect.Block{}}
		b.pairs[k] = s
	}
	if p.arm == record.ArmTreatment {
		s.treated[p.block] = s.treated[p.block].Join(effect.BlockOf(w))
	} else {
		s.control = s.control.Join(effect.BlockOf(w))
	}
}
