package goodput

import (
	"cmp"
	"slices"

	"github.com/congctl/congctl/internal/goodput/accesslog"
	"github.com/congctl/congctl/internal/tcp/record"
	"github.com/congctl/congctl/internal/tcp/stat"
)

const (
	// SampleCap is how many values a row keeps: 64 determine its median to 6 points of rank, and rows
	// of many networks are pooled. Beyond it those with the smallest hash stay, a uniform sample that
	// needs no random numbers (bottom-k, Cohen and Kaplan 2007).
	SampleCap = 64
	// maxRows are open at once: 20 MB with one value each. A new one beyond that is counted.
	maxRows = 200_000
	// resolutionUs of a server's clock: nginx cuts to milliseconds, and a response that takes none
	// would be infinitely fast.
	resolutionUs = 1000
)

// Config holds an Aggregator's fixed settings.
type Config struct {
	BlockSeconds, WashoutSeconds int64
	MinBytes                     uint64
}

// Aggregator collects rows between two Flushes. Not safe for concurrent use.
type Aggregator struct {
	cfg     Config
	rows    map[Key]*open
	dropped uint64
}

type open struct {
	row     Row
	samples []sample
}

type sample struct {
	hash uint32
	rate float32
}

// New returns an empty aggregator.
func New(c Config) *Aggregator { return &Aggregator{cfg: c, rows: map[Key]*open{}} }

// Response adds a matched response.
func (a *Aggregator) Response(m *accesslog.Matched, tenant string) {
	k := Key{Window: m.Window, Prefix: m.Prefix, Arm: m.Assigned, Carryover: m.Carryover, Tenant: tenant,
		Washout: record.InWashout(m.AtUs/1e6, a.cfg.BlockSeconds, a.cfg.WashoutSeconds)}
	if !m.Big {
		k.Kind = Small
	}
	rate := float64(m.BodyBytes) * 1e6 / float64(max(m.TransferUs(), resolutionUs))
	a.add(k, m.BodyBytes, rate, stat.Hash(uint64(m.Netns), uint64(m.Cookie), uint64(m.StartUs)), m.Buffered)
}

// Conn adds a connection's window, if it moved enough for the path to show: what counts of it, or
// the whole window where nothing followed it.
func (a *Aggregator) Conn(c *record.Conn, tenant string) {
	bytes, rate := c.WinCountedBytesAcked, c.Goodput()
	if c.RateSource == record.RateLast && c.WinBusyUs > 0 {
		bytes, rate = c.WinBytesAcked, float64(c.WinBytesAcked)*1e6/float64(c.WinBusyUs)
	}
	if !c.ClientFacing || !c.Passive || !c.Prefix.Valid() || c.WinBytesAcked < a.cfg.MinBytes || rate == 0 ||
		c.Assigned == record.ArmUnknown || c.Applied == record.AppliedUnknown {
		return
	}
	k := Key{Window: c.Window, Prefix: c.Prefix, Kind: Acked, Arm: c.Assigned, Carryover: c.Carryover, Tenant: tenant,
		Washout: (c.RateSource != record.RateLast || c.Assigned.Drawn()) && c.Washed(a.cfg.BlockSeconds, a.cfg.WashoutSeconds)}
	a.add(k, bytes, rate, stat.Hash(uint64(c.Netns), uint64(c.Cookie), uint64(c.Window)), false)
}

func (a *Aggregator) add(k Key, bytes uint64, rate float64, hash uint32, buffered bool) {
	o := a.rows[k]
	if o == nil {
		if len(a.rows) >= maxRows {
			a.dropped++
			return
		}
		o = &open{row: Row{Key: k}}
		a.rows[k] = o
	}
	o.row.N++
	o.row.Bytes += bytes
	o.row.Buffered += uint32(flag(buffered))
	o.samples = append(o.samples, sample{hash, float32(rate)})
	if len(o.samples) >= 2*SampleCap {
		o.thin()
	}
}

func (o *open) thin() {
	if len(o.samples) <= SampleCap {
		return
	}
	slices.SortFunc(o.samples, func(x, y sample) int { return cmp.Or(cmp.Compare(x.hash, y.hash), cmp.Compare(x.rate, y.rate)) })
	o.samples = slices.Clone(o.samples[:SampleCap])
}

// Flush returns all rows, sorted by key, and how many values did not fit since the last.
func (a *Aggregator) Flush() (rows []Row, dropped uint64) {
	for _, o := range a.rows {
		o.thin()
		for _, s := range o.samples {
			o.row.BytesPerS = append(o.row.BytesPerS, s.rate)
		}
		slices.Sort(o.row.BytesPerS)
		rows = append(rows, o.row)
	}
	slices.SortFunc(rows, func(x, y Row) int { return compareKeys(x.Key, y.Key) })
	dropped, a.dropped, a.rows = a.dropped, 0, map[Key]*open{}
	return rows, dropped
}
