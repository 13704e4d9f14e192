package popday

// Comparison is every policy beside the one with everything on the edge's default.
type Comparison struct {
	Default   string      `json:"default"`   // the policy with everything on it
	Treatment string      `json:"treatment"` // the same
	Reference string      `json:"reference"` // "" where it was not run, or not validly
	Method    string      `json:"interval"`  // what was drawn again
	Second    string      `json:"interval_over_networks"`
	Matched   int         `json:"matched_responses"`
	LeftOut   int         `json:"left_out"` // did not come whole under every policy of their seed
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

	// Of the gain of everything treated at the 10th percentile of large responses.
	GainShare     *Interval `json:"share_of_bbr_gain,omitempty"`
	GainShareLate *Interval `json:"share_of_bbr_gain_late,omitempty"`

	Cost  Cost  `json:"cost"`
	Small Small `json:"fresh_small"`

	Helped   int `json:"networks_helped"` // with a median goodput more than 5 % above the default's, and its interval above 1
	Harmed   int `json:"networks_harmed"`
	Networks int `json:"networks"` // of all seeds
}

// Goodput of a set of responses.
type Goodput struct {
	Responses int   `json:"responses"`
	P5        Level `json:"p5"`
	P10       Level `json:"p10"`
	P50       Level `json:"p50"`
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

// Small are fresh responses of less than 100,000 bytes: nothing may happen to them.
type Small struct {
	Responses    int       `json:"responses"`
	P50Us        float64   `json:"p50_us"`                  // from the wish, before the handshake, to the last byte
	DifferenceUs *Interval `json:"difference_us,omitempty"` // of the medians, to the default's
	Ratio        *Interval `json:"ratio,omitempty"`
	Other        int       `json:"on_another_cong"` // that ended on another congestion control than the default
}

// Cost is what a policy takes.
type Cost struct {
	SentBytes    uint64  `json:"sent_bytes"`
	RetransBytes uint64  `json:"retrans_bytes"`
	RetransShare float64 `json:"retrans_share"`
	// Ratio of retransmitted bytes to CUBIC's over the same responses.
	RetransRatio float64 `json:"retrans_ratio,omitempty"`
	// QueueUs is srtt less min_rtt over eligible connections, where congctl measured.
	QueueUs *float64 `json:"queue_us,omitempty"`
	// Later small responses wait behind what else goes to their network: from the wish to
	// the first byte, less the network's least round trip.
	FirstByteP50Us float64 `json:"later_small_first_byte_p50_us"`
	FirstByteP95Us float64 `json:"later_small_first_byte_p95_us"`
}

// comparer makes a Comparison.
type comparer struct {
	*table
	late       uint64 // us
	main       []int32
	networks   []int32
	boot, wide *resampling
	least      map[[2]int]float64 // round trip of a network of a seed, us
	cells      map[cell]*series
}

// cell names a series: a set of responses of one policy in some seeds.
type cell struct {
	set    string
	policy int
	seeds  string
	wide   bool
}

// set of responses, and what is measured of them.
type set struct {
	name  string
	keep  func(*comparer, *unit) bool
	value func(*comparer, *unit, *Response) float64
	at    []float64
}

var sets = []set{
	{"large", func(_ *comparer, u *unit) bool { return u.large() }, rate, percentiles},
	{"all", func(*comparer, *unit) bool { return true }, rate, percentiles},
	{"late", func(c *comparer, u *unit) bool { return u.large() && u.startUs >= c.late }, rate, percentiles},
	{"small", func(_ *comparer, u *unit) bool { return u.fresh && !u.large() }, duration, []float64{0.5}},
	{"first", func(_ *comparer, u *unit) bool { return !u.fresh && !u.large() }, firstByte, []float64{0.5, 0.95}},
}

func rate(_ *comparer, _ *unit, r *Response) float64     { return r.goodput() }
func duration(_ *comparer, _ *unit, r *Response) float64 { return float64(r.EndUs - r.StartUs) }

func firstByte(c *comparer, u *unit, r *Response) float64 {
	return max(float64(r.FirstUs)-float64(r.StartUs)-c.least[[2]int{u.seed, u.network}], 0)
}

// lateFrom is where the last two hours of a day begin, us; of a shorter one its second half.
func lateFrom(in *Input) uint64 {
	const twoHours = 2 * 3600 * 1e6
	if end := in.Day.EndUs; end > twoHours {
		return end - twoHours
	}
	return in.Day.EndUs / 2
}

func compare(in *Input, t *table) (c *comparer, out Comparison) {
	c = &comparer{table: t, late: lateFrom(in), least: leastRTT(t), cells: map[cell]*series{}}
	out = Comparison{Default: t.base, Treatment: t.full, Matched: len(t.units), LeftOut: t.left, LateFromS: float64(c.late) / 1e6, Second: byNetworks}
	c.main, c.boot, out.Method = t.blockClusters(in.Experiment.BlockS)
	c.networks, c.wide = t.networkClusters()
	if t.hasReference() {
		out.Reference = t.base
	}
	for p := range t.policies {
		for _, s := range sets {
			c.prepare(s, p)
		}
	}
	c.boot.run(1)
	c.wide.run(2)
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

// seedsOf a policy that are valid.
func (t *table) seedsOf(p int) (out []uint64) {
	for i, row := range t.runs {
		if row[p] != nil {
			out = append(out, t.seeds[i])
		}
	}
	return out
}

// both: whether a seed has two policies.
func (t *table) both(seed, a, b int) bool { return t.runs[seed][a] != nil && t.runs[seed][b] != nil }

// leastRTT of each network of a seed under any policy.
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

// prepare makes the series of a policy, of the reference over the same responses, and
// of all-BBR, whose gain they share.
func (c *comparer) prepare(s set, p int) {
	c.fill(s, p, p, false)
	for _, other := range []string{c.base, c.full} {
		if o := c.place(other); o >= 0 {
			c.fill(s, o, p, false)
		}
	}
	if o := c.place(c.base); o >= 0 && s.name == "large" {
		c.fill(s, p, o, true)
		c.fill(s, o, p, true)
	}
}

// fill makes the series of policy p over the responses that q has as well.
func (c *comparer) fill(s set, p, q int, wide bool) {
	key := cell{s.name, p, c.shared(p, q), wide}
	if c.cells[key] != nil {
		return
	}
	of, boot := c.main, c.boot
	if wide {
		of, boot = c.networks, c.wide
	}
	var values []float64
	var clusters []int32
	for i := range c.units {
		if u := &c.units[i]; c.both(u.seed, p, q) && s.keep(c, u) {
			values, clusters = append(values, s.value(c, u, u.at[p])), append(clusters, of[i])
		}
	}
	c.cells[key] = boot.add(newSeries(values, clusters, s.at...))
}

// shared names the seeds that two policies have.
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

// get the series of p over the seeds that q has as well.
func (c *comparer) get(name string, p, q int, wide bool) *series {
	return c.cells[cell{name, p, c.shared(p, q), wide}]
}
