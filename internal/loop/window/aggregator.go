package window

import (
	"cmp"
	"maps"
	"slices"

	"github.com/congctl/congctl/internal/core/record"
)

// Defaults of Config for fields that are zero.
const (
	defaultWindowSeconds = 300
	defaultBlockSeconds  = 1800
	defaultMinBytes      = 100000 // below it slow start, and not the path, sets the rate
	defaultMaxPrefixes   = 200000 // 34 MB of rows; a large PoP has some 100,000 active /24 and /56 in a window
)

// maxPanes windows are open at once: the one that ends, the next one's first
// closes, and two more for a driver that was stalled over a boundary.
const maxPanes = 4

// Config is what an Aggregator is told once.
type Config struct {
	WindowSeconds  int64  // 0 is 300
	BlockSeconds   int64  // 0 is 1800
	WashoutSeconds int64  // 0 is one window, enough for queues and rates of the block before to go; negative: none
	MinBytes       uint64 // acknowledged in the window to be eligible; 0 is 100,000
	MaxPrefixes    int    // over all open windows; 0 is 200,000

	// ArmAt is the arm of a prefix at a time in Unix seconds, and whether a plan
	// (or the hold-out, or A/A) has the prefix at all. nil: no plan.
	ArmAt func(p record.Prefix, unix int64) (arm record.Arm, inPlan bool)
}

// Stats are counts of the records since the Flush before.
type Stats struct {
	Records         uint64 // all that came
	NotClientFacing uint64 // in no row
	NoPrefix        uint64 // client-facing, but the address has no prefix (::/32): in no row
	Unknown         uint64 // assigned or applied cannot be told (treated before a restart, missed by eBPF): in no row
	Late            uint64 // their window had been flushed: in no row
	Unplaced        uint64 // too many windows open: in no row
	SetBack         uint64 // their window lay in the future when the clock was set back: taken out again
	Eligible        uint64
	NotSampled      uint64 // eligible, counted, and left out of the quantiles by a row's cap
	Prefixes        uint64 // in the rows of this Flush
	EvictedPrefixes uint64 // to stay within MaxPrefixes
	EvictedConns    uint64
	EvictedBytes    uint64

	// Totals over all records, client-facing or not, this Flush's or a later window's.
	BytesAcked, BytesSent, BytesRetrans, BytesReceived uint64
}

// Aggregator collects the records of the open windows. Not safe for concurrent use.
type Aggregator struct {
	cfg      Config
	panes    map[int64]*pane
	prefixes int     // over all panes
	caps     sampler // what each window begins with
	flushed  int64   // the latest window that is out
	st       Stats
}

// pane is one open window.
type pane struct {
	start int64
	rows  map[record.Prefix]*row // the first row of the prefix
	// samples are capped by this window alone: a storm in one must not thin
	// another, and its figures must not depend on when it is flushed.
	samples sampler
}

// New makes an aggregator. Zero fields of c get their defaults.
func New(c Config) *Aggregator {
	c.WindowSeconds = cmp.Or(max(c.WindowSeconds, 0), defaultWindowSeconds)
	c.BlockSeconds = cmp.Or(max(c.BlockSeconds, 0), defaultBlockSeconds)
	c.WashoutSeconds = cmp.Or(c.WashoutSeconds, c.WindowSeconds)
	c.MinBytes = cmp.Or(c.MinBytes, defaultMinBytes)
	c.MaxPrefixes = cmp.Or(max(c.MaxPrefixes, 0), defaultMaxPrefixes)
	return &Aggregator{cfg: c, panes: map[int64]*pane{}, caps: sampler{rowCap: rowCap, totalCap: totalCap}, flushed: -1 << 62}
}

// Add counts one record in its own window. c is not kept.
func (a *Aggregator) Add(c *record.Conn) {
	a.st.Records++
	a.st.BytesAcked += c.WinBytesAcked
	a.st.BytesSent += c.WinBytesSent
	a.st.BytesRetrans += c.WinBytesRetrans
	a.st.BytesReceived += c.WinBytesReceived
	if !a.counts(c) {
		return
	}
	p := a.paneOf(c.Window)
	if p == nil {
		return
	}
	r := a.rowOf(p, c)
	r.add(c, a.cfg.MinBytes)
	if eligible(c, a.cfg.MinBytes) {
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

// eligible: accepted, enough bytes in this window for the path to show, and a rate
// that the path and not the application set.
func eligible(c *record.Conn, minBytes uint64) bool {
	return c.Passive && c.WinBytesAcked >= minBytes && c.RateSource != record.RateNone
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

// rowOf finds the record's row or makes it, making room first for a new prefix.
func (a *Aggregator) rowOf(p *pane, c *record.Conn) *row {
	first := p.rows[c.Prefix]
	for r := first; r != nil; r = r.next {
		if r.arm == c.Assigned && r.carryover == c.Carryover && r.cong == c.Cong && r.plain == plain(c) {
			return r
		}
	}
	if first == nil {
		if a.prefixes >= a.cfg.MaxPrefixes {
			a.evict()
		}
		a.prefixes++
	}
	r := &row{arm: c.Assigned, carryover: c.Carryover, cong: c.Cong, plain: plain(c), next: first}
	p.rows[c.Prefix] = r
	return r
}

// Flush gives the rows of window start (Unix seconds) and of any earlier one still
// open, sorted by start, prefix, arm, congestion control, carry-over and control, with
// the counts since the Flush before. Records of these windows that come later are
// counted as late and not used. After Rewind a window can be flushed twice.
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

// Rewind follows a wall clock that was set back into window start (Unix seconds):
// windows that now lie in the future are dropped, their records counted as SetBack,
// and start and later ones can be filled again. Without it all records until the
// wrong time comes again would be late. Flush before it the window that the wrong
// time left open.
func (a *Aggregator) Rewind(start int64) {
	for s, p := range a.panes {
		if s > start {
			for _, r := range p.rows {
				for ; r != nil; r = r.next {
					a.st.SetBack += uint64(r.conns)
				}
			}
			a.drop(p)
		}
	}
	a.flushed = min(a.flushed, start-a.cfg.WindowSeconds)
}

func (a *Aggregator) drop(p *pane) {
	a.prefixes -= len(p.rows)
	delete(a.panes, p.start)
}

func (a *Aggregator) rowsOf(out []record.Window, p *pane) []record.Window {
	from := len(out)
	for prefix, r := range p.rows {
		for ; r != nil; r = r.next {
			a.st.NotSampled += uint64(r.eligible) - uint64(len(r.samples))
			out = append(out, a.finish(p, prefix, r))
		}
	}
	slices.SortFunc(out[from:], compareRows)
	return out
}

func compareRows(a, b record.Window) int {
	return cmp.Or(cmp.Compare(a.Prefix, b.Prefix), cmp.Compare(a.Arm, b.Arm), cmp.Compare(a.Cong, b.Cong),
		compareBool(a.Carryover, b.Carryover), compareBool(a.Control, b.Control))
}

func compareBool(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	}
	return 1
}
