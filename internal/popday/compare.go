package popday

// Comparison sets every policy beside the one with everything on the edge's default.
type Comparison struct {
	Default   string      `json:"default"`   // the policy with everything on it
	Treatment string      `json:"treatment"` // the same
	Reference string      `json:"reference"` // "" if it was not run, or has no valid run
	Method    string      `json:"interval"`  // what the bootstrap draws
	Second    string      `json:"interval_over_networks"`
	Matched   int         `json:"matched_responses"`
	LeftOut   int         `json:"left_out"` // not complete under every policy of their seed
	LateFromS float64     `json:"late_from_s"`
	Policies  []PolicyRow `json:"policies"`
}

// PolicyRow is one policy over its valid seeds.
type PolicyRow struct {
	Policy string   `json:"policy"`
	Seeds  []uint64 `json:"seeds"`

	Large Goodput `json:"large"` // responses of 100,000 bytes and more
	All   Goodput `json:"all"`
	Late  Goodput `json:"late"` // large ones from late_from_s on

	// Share of the gain at the 10th percentile of large responses with everything on Treatment,
	// whatever that is: the names are from days whose treatment was BBR.
	GainShare     *Interval `json:"share_of_bbr_gain,omitempty"`
	GainShareLate *Interval `json:"share_of_bbr_gain_late,omitempty"`
	// The same of the gain with every large response switched at LargeBytes: all that a selection can reach.
	SwitchShare     *Interval `json:"share_of_switch_gain,omitempty"`
	SwitchShareLate *Interval `json:"share_of_switch_gain_late,omitempty"`
	GainAfterS      *int64    `json:"gain_after_s,omitempty"` // when it had 80 % of its late gain, seconds of the day

	Cost  Cost  `json:"cost"`
	Small Small `json:"fresh_small"`

	Helped   int `json:"networks_helped"` // with a median goodput more than 5 % above the default's, and its interval above 1
	Harmed   int `json:"networks_harmed"`
	Networks int `json:"networks"` // of all seeds

	// Goodput of large responses of another server's clients on shared lines, relative to the default;
	// and the share of what they lose beside everything treated.
	Neighbours    *Interval `json:"neighbours_ratio,omitempty"`
	NeighbourLoss *float64  `json:"neighbours_loss_of_all_treated,omitempty"`
	// Of a loop: the share of large responses' bytes on trials that ended without benefit.
	Vain *float64 `json:"trials_without_benefit,omitempty"`
}

// Goodput of a set of responses.
type Goodput struct {
	Responses int   `json:"responses"`
	P5        Level `json:"p5"`
	P10       Level `json:"p10"`
	P50       Level `json:"p50"`
	// MeanLn is the mean of ln(goodput / that of the same response under the default): all responses count, where a
	// percentile is a cliff.
	MeanLn *Interval `json:"mean_ln_gain,omitempty"`
}

// Level is one quantile, and its ratio to CUBIC's over the same responses.
type Level struct {
	BytesPerS float64   `json:"bytes_per_s"`
	Ratio     *Interval `json:"ratio,omitempty"`
	// Over whole networks: what another PoP might have seen.
	Other *Interval `json:"ratio_over_networks,omitempty"`
}

var percentiles = []float64{0.05, 0.10, 0.50}

const p10 = 1 // in percentiles

// Small are fresh responses of less than 100,000 bytes, which nothing should affect.
type Small struct {
	Responses    int       `json:"responses"`
	P50Us        float64   `json:"p50_us"`                  // from the request, before the handshake, to the last byte
	DifferenceUs *Interval `json:"difference_us,omitempty"` // of the medians, to the default's
	Ratio        *Interval `json:"ratio,omitempty"`
	Other        int       `json:"on_another_cong"` // that ended on a congestion control other than the default
}

// Cost is what a policy costs.
type Cost struct {
	SentBytes    uint64  `json:"sent_bytes"`
	RetransBytes uint64  `json:"retrans_bytes"`
	RetransShare float64 `json:"retrans_share"`
	// Ratio of retransmitted bytes to CUBIC's over the same responses.
	RetransRatio float64 `json:"retrans_ratio,omitempty"`
	// Extra is what is retransmitted beyond the default, of what everything treated retransmits beyond it.
	Extra *float64 `json:"extra_of_all_treated,omitempty"`
	// QueueUs is srtt less min_rtt over eligible connections, where congctl measured.
	QueueUs *float64 `json:"queue_us,omitempty"`
	// Later small responses wait behind other traffic to their network: from the request to the
	// first byte, less the network's smallest round trip.
	FirstByteP50Us float64 `json:"later_small_first_byte_p50_us"`
	FirstByteP95Us float64 `json:"later_small_first_byte_p95_us"`
}

// comparer makes a Comparison.
type comparer struct {
	*table
	late          uint64 // us
	blockS        int64
	blocks, whole *resampling
	least         map[[2]int]float64 // round trip of a network of a seed, us
	cells         map[cell]*series
}

// cell names a series: a set of responses of one policy in some seeds.
type cell struct {
	set    string
	policy int
	seeds  string
	wide   bool
}

// set is a set of responses, and what is measured of them.
type set struct {
	keep  func(*comparer, *unit) bool
	value func(*comparer, *unit, *Response) float64
	at    []float64
}

var sets = map[string]set{
	"large": {func(_ *comparer, u *unit) bool { return u.large() }, rate, percentiles},
	"all":   {func(*comparer, *unit) bool { return true }, rate, percentiles},
	"late":  {func(c *comparer, u *unit) bool { return u.large() && u.startUs >= c.late }, rate, percentiles},
	"small": {func(_ *comparer, u *unit) bool { return u.fresh && !u.large() }, duration, []float64{0.5}},
	"first": {func(_ *comparer, u *unit) bool { return !u.fresh && !u.large() }, firstByte, []float64{0.5, 0.95}},
}

func rate(_ *comparer, _ *unit, r *Response) float64     { return r.goodput() }
func duration(_ *comparer, _ *unit, r *Response) float64 { return float64(r.EndUs - r.StartUs) }

func firstByte(c *comparer, u *unit, r *Response) float64 {
	return max(float64(r.FirstUs)-float64(r.StartUs)-c.least[[2]int{u.seed, u.network}], 0)
}

// lateFrom returns where the last two hours of a day begin, us; of a day of less than four
// hours its second half.
func lateFrom(in *Input) uint64 {
	const twoHours = 2 * 3600 * 1e6
	if end := in.Day.EndUs; end > 2*twoHours {
		return end - twoHours
	}
	return in.Day.EndUs / 2
}

func compare(in *Input, t *table) (c *comparer, out Comparison) {
	c = &comparer{table: t, late: lateFrom(in), blockS: in.Experiment.BlockS, least: leastRTT(t), cells: map[cell]*series{}}
	out = Comparison{Default: t.base, Treatment: t.full, Matched: len(t.units), LeftOut: t.left, LateFromS: float64(c.late) / 1e6, Second: byNetworks}
	c.blocks, out.Method = t.blockClusters(in.Experiment.BlockS)
	c.whole = t.networkClusters()
	if t.hasReference() {
		out.Reference = t.base
	}
	for p, name := range t.policies {
		row := c.row(p)
		row.Policy, row.Seeds = name, t.seedsOf(p)
		out.Policies = append(out.Policies, row)
	}
	return c, out
}

func (t *table) hasReference() bool {
	p := t.place(t.base)
	return p >= 0 && len(t.seedsOf(p)) > 0
}

// seedsOf returns a policy's valid seeds.
func (t *table) seedsOf(p int) (out []uint64) {
	for i, row := range t.runs {
		if row[p] != nil {
			out = append(out, t.seeds[i])
		}
	}
	return out
}

// both reports whether a seed has two policies.
func (t *table) both(seed, a, b int) bool { return t.runs[seed][a] != nil && t.runs[seed][b] != nil }

// leastRTT returns the smallest of each network of a seed under any policy.
func leastRTT(t *table) map[[2]int]float64 {
	least := map[[2]int]float64{}
	for i := range t.units {
		u := &t.units[i]
		k := [2]int{u.seed, u.network}
		for _, r := range u.at {
			if r == nil || r.MinRTTUs == 0 {
				continue
			}
			if v, ok := least[k]; !ok || float64(r.MinRTTUs) < v {
				least[k] = float64(r.MinRTTUs)
			}
		}
	}
	return least
}

// shared names the seeds that two policies have in common.
func (c *comparer) shared(p, q int) string {
	name := make([]byte, len(c.seeds))
	for seed := range c.seeds {
		name[seed] = '-'
		if c.both(seed, p, q) {
			name[seed] = '+'
		}
	}
	return string(name)
}

// get returns the series of p over the seeds that q has as well. wide draws whole networks.
func (c *comparer) get(name string, p, q int, wide bool) *series {
	key := cell{name, p, c.shared(p, q), wide}
	if c.cells[key] != nil {
		return c.cells[key]
	}
	s, boot := sets[name], c.blocks
	if wide {
		boot = c.whole
	}
	var values []float64
	var clusters []int32
	for i := range c.units {
		if u := &c.units[i]; c.both(u.seed, p, q) && s.keep(c, u) {
			values, clusters = append(values, s.value(c, u, u.at[p])), append(clusters, boot.of[i])
		}
	}
	c.cells[key] = boot.series(values, clusters, s.at...)
	return c.cells[key]
}
