package window

import (
	"cmp"
	"maps"
	"slices"

	"github.com/congctl/congctl/internal/tcp/record"
)

// maxPanes windows are open at once: the one that ends, the next one's first closes, and two
// more for a driver that was stalled over a boundary.
const maxPanes = 4

const (
	// MaxCongs is how many kinds of congestion control a network has rows of in a window. An edge has two or three, and
	// the name is the sender's word: each would be a row.
	MaxCongs = 8
	// maxRowsEach, on average: max_prefixes bounds rows, too. A network has two or three; 200,000 with eight take 400 MB.
	maxRowsEach = 8
)

// Config holds an Aggregator's fixed settings; loop/config has the defaults and their reasons.
type Config struct {
	WindowSeconds  int64
	BlockSeconds   int64
	WashoutSeconds int64  // the start of a block: what crosses in it does not count, while the previous block's queues go
	MinBytes       uint64 // acknowledged in the window to be eligible
	MaxPrefixes    int    // over all open windows

	// ArmAt returns the arm of a prefix at a time in Unix seconds, and whether a plan (or the
	// hold-out, or A/A) has the prefix at all. nil: no plan.
	ArmAt func(p record.Prefix, unix int64) (arm record.Arm, inPlan bool)
}

// Stats count the records since the previous Flush.
type Stats struct {
	LeftOut
	Records         uint64 // all that came
	NotClientFacing uint64 // in no row
	NoPrefix        uint64 // client-facing, but the address has no prefix (::/32): in no row
	Eligible        uint64
	NotSampled      uint64 // eligible, counted, and left out of the quantiles by a row's cap
	Prefixes        uint64 // in the rows of this Flush
	EvictedBytes    uint64
}

// LeftOut counts the clients' records that are in no row.
type LeftOut struct {
	Late            uint64 `json:"late"`             // their window had been flushed
	Unplaced        uint64 `json:"unplaced"`         // too many windows open
	SetBack         uint64 `json:"set_back"`         // their window lay in the future when the clock was set back: removed again
	Unknown         uint64 `json:"unknown_arm"`      // assigned or applied is unknown (treated before a restart, missed by eBPF)
	Crowded         uint64 `json:"crowded"`          // of a ninth congestion control of their network in a window, or beyond eight rows for each of MaxPrefixes
	EvictedPrefixes uint64 `json:"evicted_prefixes"` // to stay within MaxPrefixes
	EvictedConns    uint64 `json:"evicted_connections"`
	// A network outside of the plan without one eligible connection in a window has no row there:
	// a flood of addresses would otherwise fill the store.
	IneligiblePrefixes uint64 `json:"ineligible_prefixes"`
	IneligibleConns    uint64 `json:"ineligible_connections"`
}

// Add counts those of o too.
func (l *LeftOut) Add(o LeftOut) {
	l.Late += o.Late
	l.Unplaced += o.Unplaced
	l.SetBack += o.SetBack
	l.Unknown += o.Unknown
	l.Crowded += o.Crowded
	l.EvictedPrefixes += o.EvictedPrefixes
	l.EvictedConns += o.EvictedConns
	l.IneligiblePrefixes += o.IneligiblePrefixes
	l.IneligibleConns += o.IneligibleConns
}

// Aggregator collects the records of the open windows. Not safe for concurrent use.
type Aggregator struct {
	cfg      Config
	panes    map[int64]*pane
	prefixes int     // over all panes
	rows     int     // the same
	caps     sampler // what each window begins with
	flushed  int64   // the latest window that is out
	st       Stats
}

// pane is one open window.
type pane struct {
	start int64
	rows  map[record.Prefix]*row // the first row of the prefix
	made  int                    // rows
	// samples are capped by this window alone: a storm in one must not thin another, and its
	// figures must not depend on when it is flushed.
	samples sampler
}

// New returns an aggregator.
func New(c Config) *Aggregator {
	return &Aggregator{cfg: c, panes: map[int64]*pane{}, caps: sampler{rowCap: rowCap, totalCap: totalCap, mask: allClients}, flushed: -1 << 62}
}

// Add counts one record in its own window; it does not keep c.
//
// Eligible is one that this host accepted, with enough bytes in this window for the path to show, and a rate set by the
// path, not the application. Where eBPF follows connections only a response that crossed the
// threshold in this block, past its wash-out, has one.
func (a *Aggregator) Add(c *record.Conn) {
	a.st.Records++
	if !a.counts(c) {
		return
	}
	p := a.paneOf(c.Window)
	if p == nil {
		return
	}
	r := a.rowOf(p, c)
	if r == nil {
		a.st.Crowded++
		return
	}
	isBig := c.WinBytesAcked >= a.cfg.MinBytes && !a.washed(c)
	p.samples.count(p, r.add(c, isBig, p.samples.mask))
	if isEligible := isBig && c.Passive && c.RateSource != record.RateNone; isEligible {
		a.st.Eligible++
		r.addEligible(c)
		p.samples.add(p, r, c)
	}
}

// counts reports whether the record belongs in a row.
func (a *Aggregator) counts(c *record.Conn) bool {
	switch {
	case !c.ClientFacing:
		a.st.NotClientFacing++
	case !c.Prefix.Valid():
		a.st.NoPrefix++
	case c.Assigned == record.ArmUnknown || c.Applied == record.AppliedUnknown:
		a.st.Unknown++
	default:
		return true
	}
	return false
}

func (a *Aggregator) paneOf(start int64) *pane {
	if p := a.panes[start]; p != nil {
		return p
	}
	if start <= a.flushed {
		a.st.Late++
		return nil
	}
	if len(a.panes) == maxPanes {
		a.st.Unplaced++
		return nil
	}
	p := &pane{start: start, rows: map[record.Prefix]*row{}, samples: a.caps}
	a.panes[start] = p
	return p
}

// rowOf finds the record's row or makes it, after making room for a new prefix. It returns nil for a row too many of a
// prefix. The list is short: MaxCongs, in five arms, each with three marks.
func (a *Aggregator) rowOf(p *pane, c *record.Conn) *row {
	first, kinds := p.rows[c.Prefix], uint8(1)
	for r := first; r != nil; r = r.next {
		if r.cong != c.Cong {
			continue
		}
		if r.arm == c.Assigned && r.carryover == c.Carryover && r.plain == c.DefaultCong && r.capped == c.Capped {
			return r
		}
		kinds = 0
	}
	switch {
	case first == nil:
		if a.prefixes >= a.cfg.MaxPrefixes {
			a.evict()
		}
		a.prefixes++
	case kinds+first.kinds > MaxCongs || a.rows-a.prefixes >= (maxRowsEach-1)*a.cfg.MaxPrefixes:
		return nil
	default:
		kinds += first.kinds
	}
	r := &row{arm: c.Assigned, carryover: c.Carryover, cong: c.Cong, kinds: kinds, plain: c.DefaultCong, capped: c.Capped, next: first}
	p.rows[c.Prefix] = r
	p.made++
	a.rows++
	return r
}

// evictShare: a sixteenth of the places is cleared at once, so that the sort of 200,000
// prefixes (some 30 ms) is paid once for 12,500 newcomers.
const evictShare = 16

type weight struct {
	bytes  uint64
	prefix record.Prefix
}

// evict removes the prefixes with the fewest bytes so far (the lower number first on a tie)
// from the fullest window: a flood of addresses that send one small response each pushes out
// only its own kind. It is the fullest window because in one that has just begun all prefixes
// have few bytes.
func (a *Aggregator) evict() {
	p := a.fullest()
	ws := make([]weight, 0, len(p.rows))
	for prefix, r := range p.rows {
		w := weight{prefix: prefix}
		for ; r != nil; r = r.next {
			w.bytes += r.bytes
		}
		ws = append(ws, w)
	}
	slices.SortFunc(ws, func(a, b weight) int {
		return cmp.Or(cmp.Compare(a.bytes, b.bytes), cmp.Compare(a.prefix, b.prefix))
	})
	for _, w := range ws[:min(len(ws), max(1, a.cfg.MaxPrefixes/evictShare))] {
		a.st.EvictedPrefixes++
		a.st.EvictedBytes += w.bytes
		for r := p.rows[w.prefix]; r != nil; r = r.next {
			a.st.EvictedConns += r.conns
			p.samples.total -= len(r.samples)
			p.samples.clients -= len(r.clients)
			p.made--
			a.rows--
		}
		delete(p.rows, w.prefix)
		a.prefixes--
	}
}

func (a *Aggregator) fullest() *pane {
	var best *pane
	for _, p := range a.panes {
		if best == nil || len(p.rows) > len(best.rows) || len(p.rows) == len(best.rows) && p.start < best.start {
			best = p
		}
	}
	return best
}

// Flush returns the rows of window start (Unix seconds) and of any earlier one still open,
// sorted by start, prefix, arm, congestion control, carry-over, control and cap, with the counts
// since the previous Flush. Later records of these windows count as late and are not used.
// After Rewind a window can be flushed twice.
func (a *Aggregator) Flush(start int64) ([]record.Window, Stats) {
	var out []record.Window
	for _, s := range slices.Sorted(maps.Keys(a.panes)) {
		if s > start {
			break
		}
		p := a.panes[s]
		a.joinRows(p)
		p.samples.settle(p)
		out = a.rowsOf(out, p)
		a.st.Prefixes += uint64(len(p.rows))
		a.drop(p)
	}
	a.flushed = max(a.flushed, start)
	st := a.st
	a.st = Stats{}
	return out, st
}

// Rewind follows a wall clock that was set back into window start (Unix seconds): it drops
// windows that now lie in the future, counts their records as SetBack, and lets start and
// later ones be filled again. Without it all records would be late until the wrong time comes
// again. First flush the window that the wrong time left open.
func (a *Aggregator) Rewind(start int64) {
	for s, p := range a.panes {
		if s > start {
			for _, r := range p.rows {
				for ; r != nil; r = r.next {
					a.st.SetBack += r.conns
				}
			}
			a.drop(p)
		}
	}
	a.flushed = min(a.flushed, start-a.cfg.WindowSeconds)
}

func (a *Aggregator) drop(p *pane) {
	a.prefixes -= len(p.rows)
	a.rows -= p.made
	delete(a.panes, p.start)
}

// rowsOf takes prefixes in order: a row is 300 bytes, too many to sort by moving them.
func (a *Aggregator) rowsOf(out []record.Window, p *pane) []record.Window {
	out = slices.Grow(out, len(p.rows))
	var x scratch
	for _, prefix := range slices.Sorted(maps.Keys(p.rows)) {
		r := p.rows[prefix]
		if a.rowless(p.start, prefix, r) {
			continue
		}
		from := len(out)
		for ; r != nil; r = r.next {
			a.st.NotSampled += uint64(r.eligible) - uint64(len(r.samples))
			out = append(out, x.finish(p, prefix, r))
		}
		slices.SortFunc(out[from:], compareRows)
	}
	return out
}

// rowless reports whether a network gets no row, and counts it then.
func (a *Aggregator) rowless(start int64, prefix record.Prefix, r *row) bool {
	conns := uint64(0)
	for ; r != nil; r = r.next {
		if r.eligible > 0 {
			return false
		}
		conns += r.conns
	}
	if planned(a.armNow(start, prefix)) {
		return false
	}
	a.st.IneligiblePrefixes++
	a.st.IneligibleConns += conns
	return true
}

// compareRows orders those of one prefix.
func compareRows(a, b record.Window) int {
	return cmp.Or(cmp.Compare(a.Arm, b.Arm), cmp.Compare(a.Cong, b.Cong),
		record.CompareBool(a.Carryover, b.Carryover), record.CompareBool(a.Control, b.Control), record.CompareBool(a.Capped, b.Capped))
}
