package policy

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/congctl/congctl/internal/loop/effect"
	"github.com/congctl/congctl/internal/tcp/record"
)

// triedOracle is the experiment a second time, on the level's oracle: it keeps the
// state of every prefix in every window and puts all pairs together from the rows
// again each time. It shares names and the statistics of loop/effect with the
// engine, and no code. What is believed it does not know (TestPooling and TestShare do): it takes from the engine which prefixes
// belief selects and moves, and asks whether they might.
type triedOracle struct {
	*oracle
	draws    Draws
	during   map[record.Prefix]map[int64]Selected // by window start: what it was when the window was measured
	due      map[record.Prefix]EventKind
	known    map[record.Prefix][]effect.Pair // as last weighed
	cooling  map[record.Prefix]Cooling
	noise    effect.Noise
	goodput  effect.Noise
	loss     effect.Loss
	weighed  int64
	measured map[int64]bool // windows that were measured
	whole    effect.Harm
}

func newTriedOracle(r Rules) *triedOracle {
	return &triedOracle{oracle: newOracle(r), draws: cityDraws(), during: map[record.Prefix]map[int64]Selected{},
		due: map[record.Prefix]EventKind{}, known: map[record.Prefix][]effect.Pair{}, cooling: map[record.Prefix]Cooling{}, weighed: -1, measured: map[int64]bool{}}
}

// blocks returns the connections of each block by arm and group length; a block with
// two lengths is left out.
func (o *triedOracle) blocks(p record.Prefix) (list []block) {
	t, now := o.rules.Trial, o.plan[p]
	lengths := map[int64]int{}
	sums := map[int64]*block{}
	for _, start := range slices.Sorted(maps.Keys(o.during[p])) {
		s, number := o.during[p][start], start/t.BlockSeconds
		if number*t.BlockSeconds < now.From {
			continue
		}
		length := map[State]int{StateTrial: t.GroupTrial, StatePromoted: t.GroupPromoted, StateAlways: t.GroupPromoted}[s.State]
		if s.Role == record.ArmAA && length != 0 {
			length = t.GroupTrial
		}
		b := block{number: number, groupLen: length, arm: o.draws.Arm(p, length, number)}
		for _, w := range o.rows[p][start] {
			mine := w.Arm == b.arm
			if s.Role == record.ArmAA {
				mine = w.Arm == record.ArmAA || w.Arm == record.ArmNone
			}
			if mine && !w.Carryover && !w.Washout && w.Eligible > 0 {
				b.Block = b.Join(effect.Block{N: int(w.Eligible), MeanLog: w.LogRateMean, VarLog: w.LogRateVar,
					Goodput:   goodputOf(w),
					SentBytes: w.EligibleSentBytes, RetransBytes: w.EligibleRetransBytes, SRTTUs: w.SRTTUs, MinRTTUs: w.MinRTTUs})
			}
		}
		if b.N == 0 {
			continue
		}
		if old := sums[number]; old != nil {
			b.Block = old.Join(b.Block)
			if lengths[number] != length {
				lengths[number] = -1
			}
		} else {
			lengths[number] = length
		}
		sums[number] = &b
	}
	for _, number := range slices.Sorted(maps.Keys(sums)) {
		if lengths[number] > 0 {
			list = append(list, *sums[number])
		}
	}
	return list
}

func (o *triedOracle) pairs(p record.Prefix, round int64) (out []effect.Pair) {
	t := o.rules.Trial
	type key struct{ end, length int64 }
	groups := map[key][]block{}
	for _, b := range o.blocks(p) {
		length := int64(b.groupLen)
		groups[key{(b.number/length + 1) * length * t.BlockSeconds, length}] = append(groups[key{(b.number/length + 1) * length * t.BlockSeconds, length}], b)
	}
	keys := slices.SortedFunc(maps.Keys(groups), func(a, b key) int {
		return cmp.Or(cmp.Compare(groups[a][0].number, groups[b][0].number))
	})
	for _, k := range keys {
		pair := effect.Pair{Prefix: p, Drawn: record.All, Group: k.end/(k.length*t.BlockSeconds) - 1, End: k.end}
		for _, b := range groups[k] {
			if b.arm == record.ArmControl {
				pair.C = b.Block
			} else {
				pair.T = append(pair.T, b.Block)
			}
		}
		if len(pair.T) > 0 && pair.C.N > 0 && k.end <= round && k.end > round-t.EvidenceSeconds {
			out = append(out, pair)
		}
	}
	return out
}

func (o *triedOracle) weigh(round int64) {
	if round/o.rules.Trial.BlockSeconds == o.weighed {
		return
	}
	o.weighed = round / o.rules.Trial.BlockSeconds
	clear(o.due)
	clear(o.known)
	var all, treated []effect.Pair
	prefixes := slices.Sorted(maps.Keys(o.plan))
	for _, p := range prefixes {
		if o.plan[p].Role != record.ArmHoldout {
			o.known[p] = o.pairs(p, round)
			all = append(all, o.known[p]...)
			if o.plan[p].Role == record.ArmNone {
				treated = append(treated, o.known[p]...)
			}
		}
	}
	o.whole = o.whole.Next(treated)
	noise := effect.EstimateNoise(all)
	o.noise, o.goodput, o.loss = noise, effect.EstimateNoise(effect.ByGoodput(all)), effect.EstimateLoss(all)
	for _, p := range prefixes {
		if o.plan[p].Role != record.ArmHoldout {
			o.due[p] = o.exit(p, noise, round)
		}
	}
}

func goodputOf(w record.Window) (m effect.Moments) {
	if w.LogGoodputMean != 0 && w.RateMeans > 0 {
		m = effect.Moments{N: int(w.RateMeans), Mean: w.LogGoodputMean, Var: w.LogGoodputVar}
	}
	return m
}

func (o *triedOracle) wait(row int) int64 {
	w := o.rules.Trial.CooldownSeconds
	for range row - 1 {
		w = min(2*w, o.rules.Trial.MaxCooldownSeconds)
	}
	return w
}

func (o *triedOracle) next(unix int64) int64 {
	for b := o.rules.Trial.BlockSeconds; unix%b != 0; {
		unix++
	}
	return unix
}

// out takes a prefix from the plan.
func (o *triedOracle) out(p record.Prefix) {
	delete(o.known, p)
	delete(o.due, p)
	delete(o.plan, p)
	delete(o.during, p)
}

func (o *triedOracle) begin(p record.Prefix, round int64) {
	s := o.plan[p]
	o.out(p)
	if !s.Uncontrolled {
		s.From = o.next(round)
	}
	if s.State != StateAlways {
		s.State, s.Since = StateTrial, round
	}
	o.plan[p] = s
}

func (o *triedOracle) round(in Input, e *Engine, d Decision) (r oracleRound, told []string, brake bool) {
	if in.Unknown == "" {
		o.measured[in.Start] = true
		o.observe(in, &r)
		for p, s := range o.plan {
			if o.during[p] == nil {
				o.during[p] = map[int64]Selected{}
			}
			if !in.Stopped && s.Role != record.ArmHoldout && !s.Uncontrolled {
				o.during[p][in.Start] = s
			}
		}
	}
	o.weigh(in.RoundStart)
	switch {
	case in.Stopped:
		for p := range o.plan {
			o.begin(p, in.RoundStart)
		}
		o.whole = effect.Harm{Until: in.RoundStart}
	case in.Unknown == "":
		if !in.Frozen {
			told = o.leave(in, &r, e, d)
		}
		if brake = o.harms(); brake {
			o.whole = effect.Harm{Until: in.RoundStart}
			r.released += len(o.plan)
			clear(o.plan)
			clear(o.during)
			clear(o.known)
		} else if !in.Frozen && !in.TreatmentIsDefault {
			told = append(told, o.choose(in, &r, d)...)
		}
	}
	for p, c := range o.cooling {
		if in.RoundStart >= c.Until+o.wait(c.Row) {
			delete(o.cooling, p)
		}
	}
	return r, told, brake
}

// harms reports whether the brake is due.
func (o *triedOracle) harms() bool {
	due, _ := o.whole.Brake(o.rules.Trial.groupSeconds(), nil, o.noise)
	return due
}

// believed returns what belief did with a prefix in a round: promoted, retired, or put back on trial with its evidence; and whether it
// would retire it, but waits for others that leave.
func (o *triedOracle) believed(p record.Prefix, e *Engine, d Decision) (kind EventKind, waits bool) {
	if t, _ := e.find(p); t != nil && t.trial != nil {
		waits = t.trial.verdict.kind == EventRetired
	}
	for _, ev := range d.Events {
		if ev.Prefix != p {
			continue
		}
		after := slices.IndexFunc(d.Selection, func(s Selected) bool { return s.Prefix == p })
		if ev.Kind == EventPromoted || ev.Kind == EventRetired || ev.Kind == EventRetrial && d.Selection[after].From == o.plan[p].From {
			kind = ev.Kind
		}
	}
	return kind, waits
}

// leave lets those go that leave one by one.
func (o *triedOracle) leave(in Input, r *oracleRound, e *Engine, d Decision) (told []string) {
	say := func(kind EventKind, p record.Prefix) { told = append(told, fmt.Sprint(kind, " ", p)) }
	for _, p := range slices.Sorted(maps.Keys(o.plan)) {
		s, due := o.plan[p], o.due[p]
		belief, waits := o.believed(p, e, d)
		if s.Role != record.ArmNone || len(o.known[p]) == 0 {
			belief = ""
		}
		switch {
		case s.State == StateAlways && !in.TreatmentIsDefault && !o.stated(p) && o.listed(p):
		case in.TreatmentIsDefault, o.stated(p), s.State == StateAlways, !o.seen(p, in.RoundStart):
			if o.out(p); s.Retired > 0 {
				o.cooling[p] = Cooling{Prefix: p, Until: in.RoundStart, Row: s.Retired}
			}
			r.released++
			say(EventReleased, p)
		case s.Role == record.ArmHoldout:
		case due == EventDemoted, belief == EventRetired && r.released < o.rules.MaxNewPerRound:
			if due == "" || due == EventRetrial {
				due = belief
			}
			o.out(p)
			o.cooling[p] = Cooling{Prefix: p, Until: in.RoundStart + o.wait(s.Retired+1), Row: s.Retired + 1}
			r.released++
			say(due, p)
		case belief == EventPromoted && s.State == StateTrial:
			s.State, s.Since, s.Retired = StatePromoted, in.RoundStart, 0
			o.plan[p] = s
			delete(o.due, p)
			say(belief, p)
		case belief == EventRetrial && s.State == StatePromoted:
			s.State, s.Since = StateTrial, in.RoundStart
			o.plan[p] = s
			delete(o.due, p)
			say(belief, p)
		case due == EventRetrial && !waits:
			o.begin(p, in.RoundStart)
			say(due, p)
		}
	}
	return told
}

func (o *triedOracle) choose(in Input, r *oracleRound, d Decision) (told []string) {
	came, left := o.include(in, r, func(s Selected) Selected {
		if !s.Uncontrolled {
			s.From = o.next(in.RoundStart)
		}
		return s
	}, o.out)
	for _, p := range came {
		delete(o.cooling, p)
		told = append(told, fmt.Sprint(EventSelected, " ", p))
	}
	for _, p := range left {
		s := o.plan[p]
		if o.out(p); s.Retired > 0 {
			o.cooling[p] = Cooling{Prefix: p, Until: in.RoundStart, Row: s.Retired}
		}
		told = append(told, fmt.Sprint(EventReleased, " ", p))
	}
	r.refused = d.Refused
	for _, ev := range d.Events {
		if ev.Kind == EventSelected && !slices.Contains(came, ev.Prefix) && o.mayTry(ev.Prefix, in) && r.fresh < o.rules.MaxNewPerRound && len(o.plan) < o.rules.MaxSelected {
			o.try(ev.Prefix, in)
			r.fresh++
			told = append(told, fmt.Sprint(EventSelected, " ", ev.Prefix))
		}
	}
	return told
}

// mayTry reports whether nothing but belief keeps a prefix from a trial.
func (o *triedOracle) mayTry(p record.Prefix, in Input) bool {
	trying := 0.0 // of the same site
	for q, t := range o.plan {
		if t.State == StateTrial && site(q) == site(p) {
			trying++
		}
	}
	_, chosen := o.plan[p]
	blocked, seen := o.guarded(p, in.RoundStart)
	return !chosen && !o.listed(p) && len(o.history(p, in.RoundStart)) >= min(3, o.rules.MinKnown) && in.RoundStart >= o.cooling[p].Until &&
		!blocked && seen && in.Starved == "" && trying < o.siteShare*float64(o.rules.MaxSelected)
}

func (o *triedOracle) try(p record.Prefix, in Input) {
	duty, flap := dutyAndFlap(o.history(p, in.RoundStart))
	last, _ := o.lastKnown(p, in.RoundStart)
	o.plan[p] = Selected{Prefix: p, Since: in.RoundStart, Duty: duty, Flap: flap, PerfBytesPerS: last,
		State: StateTrial, Role: o.draws.Role(p), From: o.next(in.RoundStart), Retired: o.cooling[p].Row}
	delete(o.cooling, p)
}

// TestTriedOracle runs engine and oracle side by side in random cities.
func TestTriedOracle(t *testing.T) {
	kinds := map[string]int{}
	rapid.Check(t, func(rt *rapid.T) {
		c := triedCity{city: city{seed: rapid.Uint64Range(0, 1<<40).Draw(rt, "seed"), prefixes: rapid.IntRange(6, 40).Draw(rt, "prefixes")}}
		rules, windows := triedRules(), rapid.IntRange(40, 160).Draw(rt, "windows")
		lists := drawReloading(rt, c.city, rules)
		o := newTriedOracle(lists.first)
		c.runWith(lists.first, func(w int, e *Engine) *Engine { return lists.turn(rt, w, e, o.oracle) }, windows, func(w int, e *Engine, in Input, d Decision) {
			lists.keep(in, d)
			want, told, brake := o.round(in, e, d)
			got := oracleRound{d.Known, d.Ranked, d.InGroup, d.New, d.Released, d.Refused, want.boundary}
			if got != want || brake != (d.Brake != "") {
				rt.Fatalf("window %d: got %+v brake %q, want %+v brake %t", w, got, d.Brake, want, brake)
			}
			if got, want := toldText(d.Events), sortedText(told); got != want {
				rt.Fatalf("window %d: told\n%s\nwant\n%s", w, got, want)
			}
			if got, want := memoryText(d.Memory()), memoryText(Memory{slices.Collect(maps.Values(o.plan)), slices.Collect(maps.Values(o.cooling)), d.Turns, o.whole, in.Stopped}); got != want {
				rt.Fatalf("window %d:\n%s\nwant\n%s", w, got, want)
			}
			for _, line := range told {
				kind, _, _ := strings.Cut(line, " ")
				kinds[kind]++
			}
		})
	})
	missing := []EventKind{}
	for _, kind := range []EventKind{EventSelected, EventPromoted, EventRetrial, EventDemoted, EventRetired, EventReleased} {
		if kinds[string(kind)] == 0 {
			missing = append(missing, kind)
		}
	}
	t.Logf("%v", kinds)
	if len(missing) > 0 {
		t.Errorf("too quiet a city: no event %q", missing)
	}
}

func toldText(events []Event) string {
	var lines []string
	for _, ev := range events {
		switch ev.Kind {
		case EventSelected, EventPromoted, EventRetrial, EventDemoted, EventRetired, EventReleased:
			lines = append(lines, fmt.Sprint(ev.Kind, " ", ev.Prefix))
		}
	}
	return sortedText(lines)
}

func sortedText(lines []string) string {
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

func memoryText(m Memory) string {
	var lines []string
	for _, s := range m.Selected {
		lines = append(lines, fmt.Sprint(s.Prefix, " ", s.State, " ", s.Role, " since ", s.Since, " from ", s.From, " retired ", s.Retired, " perf ", s.PerfBytesPerS))
	}
	for _, c := range m.Cooling {
		lines = append(lines, fmt.Sprint(c.Prefix, " cooling until ", c.Until, " row ", c.Row))
	}
	return sortedText(lines)
}
