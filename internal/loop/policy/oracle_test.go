package policy

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"net/netip"
	"slices"
	"sort"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/congctl/congctl/internal/tcp/ranges"
	"github.com/congctl/congctl/internal/tcp/record"
)

// oracle is the policy a second time: it keeps every row and every outcome for
// ever, in maps, and looks for everything from the beginning. It shares the names
// of the rules with the engine and no code.
type oracle struct {
	rules Rules
	rows  map[record.Prefix]map[int64][]record.Window // by window start
	all   map[int64][]record.Window
	perf  map[record.Prefix]map[int64]float64 // of known windows
	in    map[record.Prefix]map[int64]bool
	plan  map[record.Prefix]Selected

	siteShare float64 // in this round
}

func newOracle(r Rules) *oracle {
	return &oracle{r, map[record.Prefix]map[int64][]record.Window{}, map[int64][]record.Window{},
		map[record.Prefix]map[int64]float64{}, map[record.Prefix]map[int64]bool{}, map[record.Prefix]Selected{}, 0}
}

type oracleRound struct {
	known, ranked, inGroup, fresh, released, refused int
	boundary                                         float64
}

// starts lists the windows of the last so many seconds before a round, newest first.
func (o *oracle) starts(round, seconds int64) (list []int64) {
	for s := round - o.rules.WindowSeconds; s >= round-seconds; s -= o.rules.WindowSeconds {
		list = append(list, s)
	}
	return list
}

// control returns count and median of a prefix's eligible control connections.
func (o *oracle) control(p record.Prefix, start int64) (n, median float64) {
	for _, w := range o.rows[p][start] {
		if w.Control {
			n += float64(w.Eligible)
			median += float64(w.Eligible) * math.Round(w.RateBytesPerS[3])
		}
	}
	if n > 0 {
		median = math.Round(median / n)
	}
	return n, median
}

func (o *oracle) performance(p record.Prefix, round int64) (float64, bool) {
	total, sum := 0.0, 0.0
	for _, s := range o.starts(round, o.rules.LookbackSeconds) {
		n, m := o.control(p, s)
		total, sum = total+n, sum+n*m
		if total >= float64(o.rules.MinSamples) {
			return sum / total, true
		}
	}
	return 0, false
}

func (o *oracle) lastKnown(p record.Prefix, round int64) (float64, bool) {
	for _, s := range o.starts(round, o.rules.MaxAgeSeconds) {
		if v, ok := o.perf[p][s]; ok {
			return v, true
		}
	}
	return 0, false
}

func (o *oracle) eligibleOfAnyArm(p record.Prefix, round int64) (n int) {
	for _, s := range o.starts(round, o.rules.LookbackSeconds) {
		for _, w := range o.rows[p][s] {
			n += int(w.Eligible)
		}
	}
	return n
}

func percentile(values []float64, q float64) float64 {
	sort.Float64s(values)
	h := q * float64(len(values)-1)
	below := math.Floor(h)
	if int(below) == len(values)-1 {
		return values[len(values)-1]
	}
	return values[int(below)] + (h-below)*(values[int(below)+1]-values[int(below)])
}

// history lists the outcomes of the last known windows, newest first.
func (o *oracle) history(p record.Prefix, round int64) (list []bool) {
	for _, s := range o.starts(round, o.rules.MaxAgeSeconds) {
		if in, ok := o.in[p][s]; ok && len(list) < o.rules.HistoryWindows {
			list = append(list, in)
		}
	}
	return list
}

func dutyAndFlap(h []bool) (duty, flap float64) {
	in, changes := 0, 0
	for i := range h {
		if h[i] {
			in++
		}
		if i > 0 && h[i] != h[i-1] {
			changes++
		}
	}
	if len(h) > 0 {
		duty = float64(in) / float64(len(h))
	}
	if len(h) > 1 {
		flap = float64(changes) / float64(len(h)-1)
	}
	return duty, flap
}

func (o *oracle) round(in Input) (r oracleRound) {
	if in.Unknown == "" {
		o.observe(in, &r)
	}
	if in.Frozen || in.Unknown != "" {
		return r
	}
	for p := range o.plan {
		h := o.history(p, in.RoundStart)
		duty, _ := dutyAndFlap(h)
		gone := o.stated(p) || !o.seen(p, in.RoundStart) || len(h) >= o.rules.MinKnown && duty < o.rules.ReleaseDuty
		if o.plan[p].State == StateAlways {
			gone = o.stated(p) || !o.listed(p)
		}
		if in.TreatmentIsDefault || gone {
			delete(o.plan, p)
			r.released++
		}
	}
	if in.TreatmentIsDefault {
		return r
	}
	out := func(p record.Prefix) { delete(o.plan, p) }
	_, left := o.include(in, &r, func(s Selected) Selected { return s }, out)
	for _, p := range left {
		out(p)
	}
	var free []Selected
	for p := range o.rows {
		h := o.history(p, in.RoundStart)
		duty, flap := dutyAndFlap(h)
		if _, treated := o.plan[p]; treated || o.listed(p) || len(h) < o.rules.MinKnown || duty < o.rules.SelectDuty || flap > o.rules.SelectFlap {
			continue
		}
		blocked, seen := o.guarded(p, in.RoundStart)
		last, _ := o.lastKnown(p, in.RoundStart)
		switch {
		case blocked || seen && in.Starved != "":
			r.refused++
		case seen:
			free = append(free, Selected{Prefix: p, Since: in.RoundStart, Duty: duty, Flap: flap, PerfBytesPerS: last})
		}
	}
	slices.SortFunc(free, func(a, b Selected) int {
		return cmp.Or(-cmp.Compare(a.Duty, b.Duty), cmp.Compare(a.PerfBytesPerS, b.PerfBytesPerS), cmp.Compare(a.Prefix, b.Prefix))
	})
	for _, s := range free {
		if r.fresh < o.rules.MaxNewPerRound && len(o.plan) < o.rules.MaxSelected {
			o.plan[s.Prefix] = s
			r.fresh++
		}
	}
	return r
}

func (o *oracle) listed(p record.Prefix) bool {
	return slices.ContainsFunc(o.rules.Always, func(l Listed) bool { return l.Net == p.Netip() })
}

// include brings the operator's list into the plan; as says what an entry of it is like,
// and out takes one from the plan. It returns those that came or changed, and those that
// were then too many.
func (o *oracle) include(in Input, r *oracleRound, as func(Selected) Selected, out func(record.Prefix)) (came, left []record.Prefix) {
	list := slices.Clone(o.rules.Always)
	slices.SortFunc(list, func(a, b Listed) int { return cmp.Or(a.Net.Addr().Compare(b.Net.Addr())) })
	for _, l := range list {
		p, _ := record.PrefixOf(l.Net.Addr())
		duty, flap := dutyAndFlap(o.history(p, in.RoundStart))
		last, _ := o.lastKnown(p, in.RoundStart)
		now := as(Selected{Prefix: p, Since: in.RoundStart, Reason: l.Reason, Duty: duty, Flap: flap, PerfBytesPerS: last,
			State: StateAlways, Uncontrolled: o.rules.Uncontrolled})
		was, treated := o.plan[p]
		same := was.State == StateAlways && was.Reason == now.Reason && was.Uncontrolled == now.Uncontrolled && (was.From > 0) == (now.From > 0)
		if in.Starved != "" || treated && same || !treated && r.fresh >= o.rules.MaxNewPerRound {
			continue
		}
		if treated {
			out(p)
		} else {
			r.fresh++
		}
		o.plan[p] = now
		came = append(came, p)
	}
	weakest := slices.SortedFunc(maps.Keys(o.plan), func(a, b record.Prefix) int { return -o.compareStaying(a, b, in.RoundStart) })
	for len(weakest) > o.rules.MaxSelected {
		left, weakest = append(left, weakest[0]), weakest[1:]
		r.released++
	}
	return came, left
}

func (o *oracle) compareStaying(a, b record.Prefix, round int64) int {
	weight := map[State]int{StateAlways: 0, StatePromoted: 1, StateTrial: 2, "": 2}
	dutyA, _ := dutyAndFlap(o.history(a, round))
	dutyB, _ := dutyAndFlap(o.history(b, round))
	lastA, _ := o.lastKnown(a, round)
	lastB, _ := o.lastKnown(b, round)
	return cmp.Or(cmp.Compare(weight[o.plan[a].State], weight[o.plan[b].State]), cmp.Compare(dutyB, dutyA), cmp.Compare(lastA, lastB), cmp.Compare(a, b))
}

// observe files the rows and ranks the window.
func (o *oracle) observe(in Input, r *oracleRound) {
	o.all[in.Start] = in.Rows
	for _, w := range in.Rows {
		if o.rows[w.Prefix] == nil {
			o.rows[w.Prefix] = map[int64][]record.Window{}
			o.perf[w.Prefix], o.in[w.Prefix] = map[int64]float64{}, map[int64]bool{}
		}
		o.rows[w.Prefix][in.Start] = append(o.rows[w.Prefix][in.Start], w)
	}
	ranked := map[record.Prefix]float64{}
	known := map[record.Prefix]float64{}
	for p := range o.rows {
		_, treated := o.plan[p]
		last, remembered := o.lastKnown(p, in.RoundStart)
		if v, ok := o.performance(p, in.RoundStart); ok {
			known[p] = v
			ranked[p] = v
		} else if treated && remembered && o.eligibleOfAnyArm(p, in.RoundStart) >= o.rules.MinSamples {
			ranked[p] = last
		}
	}
	r.known, r.ranked = len(known), len(ranked)
	o.siteShare = o.mostShare(len(o.sizes(ranked)))
	if len(ranked) >= o.rules.MinRanked {
		r.boundary = o.boundary(ranked)
	}
	for p, v := range known {
		o.perf[p][in.Start] = v
		o.in[p][in.Start] = len(ranked) >= o.rules.MinRanked && v <= r.boundary*(1+1e-9)
		if o.in[p][in.Start] {
			r.inGroup++
		}
	}
}

func (o *oracle) seen(p record.Prefix, round int64) bool {
	for _, s := range o.starts(round, o.rules.MaxAgeSeconds) {
		if len(o.rows[p][s]) > 0 {
			return true
		}
	}
	return false
}

func inside(list []netip.Prefix, n netip.Prefix) bool {
	return slices.ContainsFunc(list, func(r netip.Prefix) bool { return r.Bits() <= n.Bits() && r.Contains(n.Addr()) })
}

// stated: deny list and special ranges.
func (o *oracle) stated(p record.Prefix) bool {
	n := p.Netip()
	_, special := ranges.Special(n)
	denied := slices.ContainsFunc(o.rules.Guards.Never, func(l Listed) bool { return l.Net.Overlaps(n) })
	return (denied || special && !inside(o.rules.Guards.Allow, n)) && !o.listed(p)
}

// guarded reports whether a guard holds, now or in one of the last known windows, and
// whether there is anything to judge by.
func (o *oracle) guarded(p record.Prefix, round int64) (blocked, seen bool) {
	blocked, _, seen = o.guardedAt(p, round)
	known := 0
	for _, s := range o.starts(round, o.rules.MaxAgeSeconds) {
		if _, ok := o.perf[p][s]; ok && known < o.rules.MinKnown {
			known++
			_, then, _ := o.guardedAt(p, s+o.rules.WindowSeconds)
			blocked = blocked || then
		}
	}
	return blocked, seen
}

// guardedAt judges by the rows before one round alone; lasting is what is remembered.
func (o *oracle) guardedAt(p record.Prefix, round int64) (blocked, lasting, seen bool) {
	g := o.rules.Guards
	var n, bytes, rtt, srtt, rate, retrans, rwnd, busy float64
	low, high, share := math.Inf(1), 0.0, 0.0
	for _, s := range o.starts(round, o.rules.LookbackSeconds) {
		share = max(share, o.share(p, s))
		for _, w := range o.rows[p][s] {
			if !w.Control || w.Eligible == 0 {
				continue
			}
			e := float64(w.Eligible)
			n, bytes = n+e, bytes+float64(w.Bytes)
			rtt, srtt, rate = rtt+e*w.MinRTTUs, srtt+e*w.SRTTUs, rate+e*w.RateBytesPerS[3]
			rwnd, busy = rwnd+e*w.RwndShare, busy+e*w.BusyShare
			retrans += float64(w.Bytes) * w.RetransShare
			low, high = min(low, w.RateBytesPerS[2]), max(high, w.RateBytesPerS[4])
		}
	}
	blocked = o.stated(p) || share > g.MaxConnShare && !inside(g.Allow, p.Netip()) && !o.listed(p)
	if n == 0 {
		return blocked, false, false
	}
	lost := retrans / bytes
	flight := rate / n * (srtt / n / 1e6) / 1448
	lasting = rwnd/n > g.MaxRwndShare || busy/n < g.MinBusyShare ||
		o.rules.Select == SelectSlowest && n >= float64(o.rules.MinSamples) && high/low <= g.PolicerSpread && lost >= g.PolicerRetransShare &&
			min(flight*math.Sqrt(lost)/math.Sqrt(1.5), flight/1.0538*math.Pow(lost/(srtt/n/1e6), 0.75)) >= g.PolicerBurst
	blocked = blocked || lasting || rtt/n < g.TinyRTTUs || rtt/n < g.LowRTTUs && lost < g.LowRTTRetransShare
	return blocked, lasting, true
}

func (o *oracle) share(p record.Prefix, start int64) float64 {
	mine, all, prefixes := 0.0, 0.0, map[record.Prefix]bool{}
	for _, w := range o.all[start] {
		prefixes[w.Prefix] = true
		all += float64(w.Conns)
		if w.Prefix == p {
			mine += float64(w.Conns)
		}
	}
	if len(prefixes) < o.rules.Guards.MinSharePrefixes || all == 0 {
		return 0
	}
	return mine / all
}

// reloading is rules that change once: up to a window the first, then the second.
type reloading struct {
	first, second Rules
	at            int
	past          []Input
	memories      []Memory
}

// drawReloading lists two times a few of the city's prefixes.
func drawReloading(rt *rapid.T, c city, r Rules) *reloading {
	numbers := rapid.SliceOfN(rapid.IntRange(0, c.prefixes), 0, 4)
	l := &reloading{first: r, second: r, at: rapid.IntRange(0, 150).Draw(rt, "reload")}
	l.first.Always, l.second.Always = c.always(numbers.Draw(rt, "always")...), c.always(numbers.Draw(rt, "always then")...)
	l.second.Always = l.second.Always[:len(l.second.Always)-1] // what was never seen is off the list
	for i := range l.second.Always {
		if i%3 == 2 {
			l.second.Always[i].Reason = "radio"
		}
	}
	l.first.Uncontrolled, l.second.Uncontrolled = rapid.Bool().Draw(rt, "uncontrolled"), rapid.Bool().Draw(rt, "uncontrolled then")
	return l
}

// turn changes the rules of both at the window of the change: the engine's by a new one
// that replays the past, as a reload does.
func (l *reloading) turn(rt *rapid.T, w int, e *Engine, o *oracle) *Engine {
	if w < l.at {
		return e
	}
	l.at, o.rules = math.MaxInt, l.second
	e = New(l.second, cityDraws())
	for i, in := range l.past {
		e.Replay(in, stored(rt, l.memories[i]))
	}
	return e
}

func (l *reloading) keep(in Input, d Decision) {
	in.Stopped = false // the memory tells
	l.past, l.memories = append(l.past, in), append(l.memories, d.Memory())
}

// TestOracle runs engine and oracle side by side in random cities.
func TestOracle(t *testing.T) {
	var selected, released, refused, borrowedOnly int
	rapid.Check(t, func(rt *rapid.T) {
		c := city{seed: rapid.Uint64Range(0, 1<<40).Draw(rt, "seed"), prefixes: rapid.IntRange(6, 40).Draw(rt, "prefixes")}
		r := cityRules()
		r.Trial = Trial{}
		rules := drawReloading(rt, c, r)
		e, o := byLevel(rules.first), newOracle(rules.first)
		var plan []Selected
		for w := range rapid.IntRange(20, 150).Draw(rt, "windows") {
			if c.skips(w) {
				continue
			}
			in := c.input(w, true, plan)
			e = rules.turn(rt, w, e, o)
			d, want := e.Round(in), o.round(in)
			got := oracleRound{d.Known, d.Ranked, d.InGroup, d.New, d.Released, d.Refused, d.BoundaryBytesPerS}
			if math.Abs(got.boundary-want.boundary) > 1e-9*want.boundary {
				rt.Fatalf("window %d: boundary %v, want %v", w, got.boundary, want.boundary)
			}
			got.boundary = want.boundary
			if got != want {
				rt.Fatalf("window %d: got %+v, want %+v", w, got, want)
			}
			if got, want := planText(d.Selection), planText(slices.Collect(maps.Values(o.plan))); got != want {
				rt.Fatalf("window %d: selected\n%s\nwant\n%s", w, got, want)
			}
			o.compareRows(rt, w, in, e.Rows())
			plan = d.Selection
			rules.keep(in, d)
			selected, released, refused, borrowedOnly = selected+d.New, released+d.Released, refused+d.Refused, borrowedOnly+d.Ranked-d.Known
		}
	})
	t.Logf("%d selected, %d released, %d refused, %d ranked by their last performance", selected, released, refused, borrowedOnly)
	if selected == 0 || released == 0 || refused == 0 || borrowedOnly == 0 {
		t.Errorf("too quiet a city: %d selected, %d released, %d refused, %d ranked by their last performance", selected, released, refused, borrowedOnly)
	}
}

func planText(plan []Selected) string {
	var lines []string
	for _, s := range plan {
		lines = append(lines, fmt.Sprint(s.Prefix, s.Since, s.Duty, s.Flap, s.PerfBytesPerS))
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

func (o *oracle) compareRows(rt *rapid.T, w int, in Input, rows []Row) {
	for _, r := range rows {
		h := o.history(r.Prefix, in.RoundStart)
		duty, flap := dutyAndFlap(h)
		last, _ := o.lastKnown(r.Prefix, in.RoundStart)
		_, knownNow := o.perf[r.Prefix][in.Start]
		want := r
		want.Known, want.Duty, want.Flap, want.PerfBytesPerS = len(h), duty, flap, last
		want.KnownNow, want.InGroup = knownNow, o.in[r.Prefix][in.Start]
		if r != want {
			rt.Fatalf("window %d: row\n%+v, want\n%+v", w, r, want)
		}
	}
}
