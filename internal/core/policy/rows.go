package policy

import "github.com/congctl/congctl/internal/core/record"

// Row is one prefix in a table.
type Row struct {
	Prefix record.Prefix `json:"prefix"`
	State  State         `json:"state"`
	Guard  string        `json:"guard,omitempty"` // names of the guards that would keep it out
	Since  int64         `json:"since,omitempty"` // selected since, Unix seconds

	PerfBytesPerS float64 `json:"performance_bytes_per_s"` // last known control performance; 0: none
	PerfStart     int64   `json:"performance_window_start,omitempty"`
	Conns         int     `json:"performance_connections"` // eligible control connections behind it, own and borrowed

	KnownNow bool    `json:"known"`    // in the last window
	InGroup  bool    `json:"in_group"` // in the last window
	Known    int     `json:"known_windows"`
	Duty     float64 `json:"duty"`
	Flap     float64 `json:"flap"`

	// Control connections of the lookback; 0 without any.
	MinRTTUs     float64 `json:"min_rtt_us"`
	RetransShare float64 `json:"retrans_share"`
}

// Rows lists every tracked prefix, sorted by prefix, as of the last round.
func (e *Engine) Rows() []Row {
	rows := make([]Row, len(e.tracks))
	for i, t := range e.tracks {
		s, p := t.standing(), t.pool(e.now, e.rules)
		guard := hits(e.guards(t, p))
		rows[i] = Row{Prefix: t.prefix, State: e.state(t, guard), Guard: guard,
			PerfBytesPerS: t.last, Conns: int(t.lastN),
			Known: s.known, Duty: s.duty(), Flap: s.flap(), MinRTTUs: p.MinRTTUs, RetransShare: p.RetransShare}
		if t.chosen != nil {
			rows[i].Since = t.chosen.Since
		}
		if t.lastN > 0 {
			rows[i].PerfStart = e.start(t.lastAt)
			rows[i].KnownNow = t.lastAt == e.now
		}
		if n := len(t.history); rows[i].KnownNow && n > 0 {
			rows[i].InGroup = t.history[n-1].in()
		}
	}
	return rows
}
