package simulate

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"sort"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/congctl/congctl/internal/loop/policy"
)

// told is one line of a history as anybody's JSON decoder reads it. Key: window and prefix.
type told struct {
	Start int64    `json:"window_start"`
	PoP   string   `json:"pop"`
	Net   string   `json:"prefix"`
	N     float64  `json:"n"`
	Rate  float64  `json:"delivery_rate_p50_bytes_per_s"`
	RTT   *float64 `json:"min_rtt_us"`
	Lost  *float64 `json:"retrans_ratio"`
}

// slow is the level rules of docs/policy.md over one PoP's lines, with everything kept
// for ever and looked for from the beginning. It shares no code with the engine.
type slow struct {
	r    policy.Rules
	rows map[string]map[int64]told
	in   map[string]map[int64]bool // of known windows
	perf map[string]map[int64]float64
	plan map[string]bool
}

func (s *slow) back(from, seconds int64) (list []int64) {
	for at := from; at > from-seconds; at -= s.r.WindowSeconds {
		list = append(list, at)
	}
	return list
}

func (s *slow) performance(net string, at int64) (v float64, known bool) {
	n, sum := 0.0, 0.0
	for _, w := range s.back(at, s.r.LookbackSeconds) {
		row := s.rows[net][w]
		n, sum = n+row.N, sum+row.N*math.Round(row.Rate)
		if n >= float64(s.r.MinSamples) {
			return sum / n, true
		}
	}
	return 0, false
}

func (s *slow) history(net string, at int64) (list []bool) {
	for _, w := range s.back(at, s.r.MaxAgeSeconds) {
		if in, known := s.in[net][w]; known && len(list) < s.r.HistoryWindows {
			list = append(list, in)
		}
	}
	return list
}

func dutyFlap(h []bool) (duty, flap float64) {
	for i := range h {
		if h[i] {
			duty += 1 / float64(len(h))
		}
		if i > 0 && h[i] != h[i-1] {
			flap += 1 / float64(len(h)-1)
		}
	}
	return duty, flap
}

// guarded: near, and clean or very near; by what is known of the lookback.
func (s *slow) guarded(net string, at int64) (held, anything bool) {
	var n, rtt, m, lost float64
	for _, w := range s.back(at, s.r.LookbackSeconds) {
		row := s.rows[net][w]
		anything = anything || row.N > 0
		if row.RTT != nil && *row.RTT > 0 {
			n, rtt = n+row.N, rtt+row.N**row.RTT
		}
		if row.Lost != nil {
			m, lost = m+row.N, lost+row.N**row.Lost
		}
	}
	g := s.r.Guards
	return n > 0 && (rtt/n < g.TinyRTTUs || m > 0 && rtt/n < g.LowRTTUs && lost/m < g.LowRTTRetransShare), anything
}

// known ranks a window and returns the number of known prefixes.
func (s *slow) known(at int64) int {
	perf, ranked := map[string]float64{}, []float64{}
	for net := range s.rows {
		if v, ok := s.performance(net, at); ok {
			perf[net] = v
			ranked = append(ranked, v)
		} // one that is treated and unknown has no 5 connections in the lookback either
	}
	sort.Float64s(ranked)
	for net, v := range perf {
		s.perf[net][at] = v
		s.in[net][at] = len(ranked) >= s.r.MinRanked && v <= type7(ranked, s.r.GroupShare)
	}
	return len(perf)
}

func type7(x []float64, q float64) float64 {
	h := q * float64(len(x)-1)
	i := int(h)
	if i+1 == len(x) {
		return x[i]
	}
	return x[i]*(1-(h-float64(i))) + x[i+1]*(h-float64(i))
}

func (s *slow) round(at int64) (known int) {
	const eps = 1e-9 // a share of exactly the limit, in floating point
	known = s.known(at)
	for net := range maps.Clone(s.plan) {
		h := s.history(net, at)
		if duty, _ := dutyFlap(h); len(h) >= s.r.MinKnown && duty < s.r.ReleaseDuty-eps || !s.seen(net, at) {
			delete(s.plan, net)
		}
	}
	var free []string
	for net := range s.rows {
		h := s.history(net, at)
		duty, flap := dutyFlap(h)
		held, anything := s.guarded(net, at)
		if !s.plan[net] && len(h) >= s.r.MinKnown && duty >= s.r.SelectDuty-eps && flap <= s.r.SelectFlap+eps && !held && anything {
			free = append(free, net)
		}
	}
	slices.SortFunc(free, func(a, b string) int {
		da, _ := dutyFlap(s.history(a, at))
		db, _ := dutyFlap(s.history(b, at))
		switch pa, pb := s.last(a, at), s.last(b, at); {
		case math.Abs(da-db) > eps:
			return int(math.Copysign(1, db-da))
		case pa != pb:
			return int(math.Copysign(1, pa-pb))
		}
		return strings.Compare(a, b) // all of one length here
	})
	for i, net := range free {
		if i < s.r.MaxNewPerRound && len(s.plan) < s.r.MaxSelected {
			s.plan[net] = true
		}
	}
	return known
}

func (s *slow) last(net string, at int64) float64 {
	for _, w := range s.back(at, s.r.MaxAgeSeconds) {
		if v, ok := s.perf[net][w]; ok {
			return v
		}
	}
	return 0
}

func (s *slow) seen(net string, at int64) bool {
	return slices.ContainsFunc(s.back(at, s.r.MaxAgeSeconds), func(w int64) bool { _, ok := s.rows[net][w]; return ok })
}

// slowly replays a history the slow way; a line for each round.
func slowly(t *rapid.T, r policy.Rules, text string) (out []string) {
	pops := map[string]*slow{}
	windows := map[int64]map[string][]told{}
	for l := range strings.Lines(text) {
		var v told
		if err := json.Unmarshal([]byte(l), &v); err != nil {
			t.Fatal(err)
		}
		if windows[v.Start] == nil {
			windows[v.Start] = map[string][]told{}
		}
		windows[v.Start][v.PoP] = append(windows[v.Start][v.PoP], v)
	}
	for _, at := range slices.Sorted(maps.Keys(windows)) {
		for _, pop := range slices.Sorted(maps.Keys(windows[at])) {
			s := pops[pop]
			if s == nil {
				s = &slow{r, map[string]map[int64]told{}, map[string]map[int64]bool{}, map[string]map[int64]float64{}, map[string]bool{}}
				pops[pop] = s
			}
			for _, v := range windows[at][pop] {
				if s.rows[v.Net] == nil {
					s.rows[v.Net], s.in[v.Net], s.perf[v.Net] = map[int64]told{}, map[int64]bool{}, map[int64]float64{}
				}
				s.rows[v.Net][at] = v
			}
			known := s.round(at)
			out = append(out, fmt.Sprint(at+r.WindowSeconds, pop, known, slices.Sorted(maps.Keys(s.plan))))
		}
	}
	return out
}

// TestReplayOracle: random histories of two PoPs, with gaps and without guard fields
// here and there, decided twice.
func TestReplayOracle(t *testing.T) {
	r := rulesOf(t, "policy: {min_samples: 4, min_ranked: 5, min_known: 3, history_windows: 7, lookback: 15m, max_age: 60m, select_duty: 0.6, select_flap: 0.5}\nplan: {new_per_round: 2, max: 4}")
	var added, released, held int
	rapid.Check(t, func(t *rapid.T) {
		text := drawHistory(t)
		want := slowly(t, r, text)
		var got []string
		for _, round := range roundsOf(t, r, text) {
			names := []string{}
			for _, p := range round.Selected {
				names = append(names, p.String())
			}
			got = append(got, fmt.Sprint(round.RoundStart, round.PoP, round.Known, names))
			added, released = added+len(round.Added), released+len(round.Released)
		}
		if !slices.Equal(got, want) {
			t.Fatalf("history\n%s\ngot\n%s\nwant\n%s", text, strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
		held += strings.Count(text, `"min_rtt_us":500,`)
	})
	if added == 0 || released == 0 || held == 0 {
		t.Errorf("too quiet: %d added, %d released, %d lines with a guard", added, released, held)
	}
}

// drawHistory: prefixes that keep a level for some windows; two-digit third bytes, so that
// the order of texts is that of prefixes.
func drawHistory(t *rapid.T) string {
	var lines []string
	windows := rapid.IntRange(3, 40).Draw(t, "windows")
	gap := rapid.IntRange(0, windows).Draw(t, "gap")
	for i := range rapid.IntRange(5, 16).Draw(t, "prefixes") {
		rate, length := 0, 0
		rtt := rapid.SampledFrom([]float64{-1, 0, 500, 2000, 30000}).Draw(t, "rtt")
		for w := range windows {
			if length--; length < 0 {
				rate, length = rapid.IntRange(1, 9).Draw(t, "rate"), rapid.IntRange(1, 20).Draw(t, "length")
			}
			n := rapid.SampledFrom([]int{-1, 0, 1, 3, 6}).Draw(t, "n")
			lost := rapid.SampledFrom([]float64{-1, 0, 0.0078125, 0.5}).Draw(t, "lost")
			at := noon + 300*int64(w)
			if w > gap {
				at += 300 * int64(gap%16) // up to more than max_age
			}
			if n >= 0 {
				pop := []string{"ams", "lon"}[i%2*(windows%2)]
				lines = append(lines, line(at, pop, fmt.Sprintf("198.18.%d.0/24", 10+i), n, float64(rate)*1000.4, rtt, lost))
			}
		}
	}
	return strings.Join(rapid.Permutation(lines).Draw(t, "order"), "")
}
