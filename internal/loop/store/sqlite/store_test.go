package sqlite

import (
	"context"
	"errors"
	"io/fs"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/congctl/congctl/internal/loop/journal"
	"github.com/congctl/congctl/internal/loop/policy"
	"github.com/congctl/congctl/internal/tcp/record"
)

var (
	day   = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	bg    = context.Background()
	opts  = Options{CreatedBy: "congctl test", At: day}
	first = int64(1_767_322_800)
)

func openTest(t testing.TB, path string, o Options) *Store {
	t.Helper()
	o.CreatedBy, o.At = opts.CreatedBy, opts.At
	s, err := Open(bg, path, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func newStore(t testing.TB) *Store {
	return openTest(t, filepath.Join(t.TempDir(), "state", "congctl.db"), opts)
}

// someWindows makes n distinct rows of window start, IPv4 and IPv6, with every field set by chance.
func someWindows(rng *rand.Rand, start int64, n int) []record.Window {
	rows := make([]record.Window, n)
	for i := range rows {
		p := record.Prefix(uint64(0x0b000000+i<<8) | 24)
		if i%3 == 2 {
			p = record.Prefix(0x20010db8_00000000 | uint64(i)<<8 | 56)
		}
		w := &rows[i]
		*w = record.Window{
			Start: start, Prefix: p, Arm: record.Arm(rng.IntN(6)), Cong: []string{"cubic", "bbr"}[rng.IntN(2)],
			Control: rng.IntN(2) == 0, Carryover: rng.IntN(2) == 0, Washout: rng.IntN(2) == 0,
			Conns: rng.Uint32(), Eligible: rng.Uint32N(99), RateMeans: rng.Uint32N(99), Bytes: rng.Uint64(),
			MinRTTUs: math.Floor(rng.Float64() * 1e5), SRTTUs: rng.Float64() * 1e5,
			RetransShare: rng.Float64(), RwndShare: rng.Float64(), BusyShare: 1, AppLimitedShare: math.Copysign(0, -1),
			LogRateMean: rng.NormFloat64(), LogRateVar: rng.Float64(), EligibleSentBytes: rng.Uint64(), EligibleRetransBytes: rng.Uint64(),
			Capped: rng.IntN(2) == 1, LogGoodputMean: rng.NormFloat64(), LogGoodputVar: rng.Float64(), Episodes: rng.Uint64(), LateConns: rng.Uint32(),
			LateBytesPerS: [2]float64{rng.Float64() * 1e7, rng.Float64() * 1e7},
		}
		for q := range w.RateBytesPerS {
			w.RateBytesPerS[q] = rng.ExpFloat64() * 1e6
		}
	}
	return rows
}

func allWindows(t testing.TB, s *Store) (rows []record.Window) {
	t.Helper()
	if err := s.Windows(bg, 0, math.MaxInt64, func(w *record.Window) error { rows = append(rows, *w); return nil }); err != nil {
		t.Fatal(err)
	}
	return rows
}

func sampleCommit(rng *rand.Rand, i int, rows int) *Commit {
	start := first + 300*int64(i)
	p := record.Prefix(0x0b000000 | 24)
	return &Commit{
		Closed: true, Start: start, Rows: someWindows(rng, start, rows),
		Round: &Round{Summary: policy.Summary{RoundStart: start + 300, Window: start, Known: 9, Ranked: 8, InGroup: 7, Selected: 6, New: 5, Released: 4,
			Refused: 3, BoundaryBytesPerS: 1234.5, Note: "n"}, SelectionJSON: []byte(`["11.0.0.0/24"]`)},
		Events: []Event{{At: start + 300, Kind: "selected", Prefix: p, Text: "duty 0.9", Evidence: []byte(`{"duty":0.9}`)},
			{At: start + 301, Kind: "start", Text: "no prefix"}},
		Plan:     &Plan{Serial: record.PlanID(i + 1), Created: start, Hash: "h", Text: []byte("plan\x00text")},
		Settings: map[string][]byte{"last": []byte{byte(i)}},
	}
}

func TestRoundTripSurvivesReopen(t *testing.T) {
	s := newStore(t)
	rng := rand.New(rand.NewPCG(1, 1))
	var want []record.Window
	for i := range 3 {
		c := sampleCommit(rng, i, 101)
		if err := s.CommitRound(bg, c); err != nil {
			t.Fatal(err)
		}
		v4 := []record.Window{}
		for _, is4 := range []bool{true, false} {
			for _, w := range c.Rows {
				if w.Prefix.Is4() == is4 {
					v4 = append(v4, w)
				}
			}
		}
		want = append(want, v4...)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	for _, o := range []Options{{ReadOnly: true}, {}} {
		s := openTest(t, s.Path(), o)
		if d := cmp.Diff(want, allWindows(t, s)); d != "" {
			t.Fatalf("windows (-written +read):\n%s", d)
		}
		checkSmallTables(t, s)
		_ = s.Close()
	}
}

func checkSmallTables(t *testing.T, s *Store) {
	t.Helper()
	c := sampleCommit(rand.New(rand.NewPCG(9, 9)), 2, 1)
	rounds, err := s.Rounds(bg, 1)
	if d := cmp.Diff([]Round{*c.Round}, rounds); err != nil || d != "" {
		t.Errorf("rounds: %v\n%s", err, d)
	}
	c.Events[0].ID, c.Events[0].Evidence = 5, []byte(`{"duty":0.9}`)
	events, err := s.Events(bg, c.Events[0].Prefix, 1)
	if d := cmp.Diff(c.Events[:1], events); err != nil || d != "" {
		t.Errorf("events: %v\n%s", err, d)
	}
	if all, err := s.Events(bg, 0, 100); err != nil || len(all) != 6 || all[0].ID != 6 {
		t.Errorf("all events: %v %v", all, err)
	}
	plan, ok, err := s.LatestPlan(bg)
	if d := cmp.Diff(*c.Plan, plan); err != nil || !ok || d != "" {
		t.Errorf("latest plan: %v %v\n%s", ok, err, d)
	}
	if _, ok, err := s.Plan(bg, 99); ok || err != nil {
		t.Errorf("plan 99: %v %v", ok, err)
	}
	if plans, err := plansOf(s); err != nil || len(plans) != 3 || plans[0].Serial != 3 {
		t.Errorf("plans: %v %v", plans, err)
	}
	if v, ok, err := s.Setting(bg, "last"); err != nil || !ok || v[0] != 2 {
		t.Errorf("setting: %v %v %v", v, ok, err)
	}
	if start, ok, err := s.LastWindow(bg); start != c.Start || !ok || err != nil {
		t.Errorf("last window: %d %v %v", start, ok, err)
	}
}

func TestCommitIsAllOrNothing(t *testing.T) {
	s := newStore(t)
	rng := rand.New(rand.NewPCG(3, 3))
	if err := s.CommitRound(bg, sampleCommit(rng, 0, 20)); err != nil {
		t.Fatal(err)
	}
	before := allWindows(t, s)
	nan := sampleCommit(rng, 1, 20)
	nan.Rows[7].SRTTUs = math.NaN()
	twice := sampleCommit(rng, 1, 20)
	twice.Rows[19] = twice.Rows[0]
	other := sampleCommit(rng, 1, 20)
	other.Plan.Serial, other.Plan.Text = 1, []byte("another text")
	again := sampleCommit(rng, 1, 20)
	again.Start = first
	for i := range again.Rows {
		again.Rows[i].Start = first
	}
	round := sampleCommit(rng, 1, 20)
	round.Round.RoundStart = first + 300
	stray := sampleCommit(rng, 1, 20)
	stray.Closed = false
	invalid := sampleCommit(rng, 1, 20)
	invalid.Rows[3].Prefix = 7
	cases := map[string]struct {
		c    *Commit
		is   error
		text string
	}{
		"NaN":            {nan, nil, "field SRTTUs: NaN"},
		"same row twice": {twice, ErrExists, "UNIQUE"},
		"plan serial":    {other, ErrExists, "raise the serial"},
		"closed window":  {again, ErrExists, "closes once"},
		"round":          {round, ErrExists, "rounds.round_start"},
		"stray rows":     {stray, nil, "field Closed"},
		"no prefix":      {invalid, nil, "field Prefix"},
	}
	for name, c := range cases {
		err := s.CommitRound(bg, c.c)
		if err == nil || !strings.Contains(err.Error(), c.text) || c.is != nil && !errors.Is(err, c.is) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if d := cmp.Diff(before, allWindows(t, s)); d != "" {
		t.Errorf("refused commits left rows:\n%s", d)
	}
	if ev, _ := s.Events(bg, 0, 100); len(ev) != 2 {
		t.Errorf("refused commits left events: %v", ev)
	}
	if err := s.CommitRound(bg, sampleCommit(rng, 1, 20)); err != nil {
		t.Errorf("the store does not go on after refusals: %v", err)
	}
}

func TestCancelledCommitLeavesNothing(t *testing.T) {
	s := newStore(t)
	ctx, cancel := context.WithCancel(bg)
	cancel()
	if err := s.CommitRound(ctx, sampleCommit(rand.New(rand.NewPCG(1, 2)), 0, 10)); !errors.Is(err, context.Canceled) {
		t.Errorf("commit with a cancelled context: %v", err)
	}
	if rows := allWindows(t, s); len(rows) != 0 {
		t.Errorf("%d rows", len(rows))
	}
}

func TestNotes(t *testing.T) {
	s := newStore(t)
	note := func(start int64, why string) record.WindowNote { return record.WindowNote{Start: start, Reason: why} }
	commits := []*Commit{
		{Closed: true, Start: 300},
		{Notes: []record.WindowNote{note(300, "clock stepped"), note(600, "clock stepped"), note(600, "clock stepped")}},
		{Closed: true, Start: 600, Rows: someWindows(rand.New(rand.NewPCG(1, 1)), 600, 2), Notes: []record.WindowNote{note(600, "no eBPF")}},
	}
	for _, c := range commits {
		if err := s.CommitRound(bg, c); err != nil {
			t.Fatal(err)
		}
	}
	heads, err := s.Heads(bg, 0, 1000)
	want := []Head{{Start: 300, Rows: 0, Note: "clock stepped"}, {Start: 600, Rows: 2, Note: "clock stepped; no eBPF"}}
	if d := cmp.Diff(want, heads); err != nil || d != "" {
		t.Errorf("heads: %v\n%s", err, d)
	}
}

func TestSettings(t *testing.T) {
	s := newStore(t)
	for _, v := range [][]byte{[]byte("1"), {}, []byte("\x00\xff"), nil} {
		if err := s.SetSetting(bg, journal.SettingKilled, v); err != nil {
			t.Fatal(err)
		}
		got, ok, err := s.Setting(bg, journal.SettingKilled)
		if err != nil || ok != (v != nil) || string(got) != string(v) {
			t.Errorf("set %q, got %q %v %v", v, got, ok, err)
		}
	}
}

func TestPlanTwiceIsOnePlan(t *testing.T) {
	s := newStore(t)
	p := Plan{Serial: 4, Created: 1, Hash: "h", Text: nil}
	for range 2 {
		if err := s.CommitRound(bg, &Commit{Plan: &p}); err != nil {
			t.Fatal(err)
		}
	}
	if plans, err := plansOf(s); len(plans) != 1 || err != nil {
		t.Errorf("%v %v", plans, err)
	}
}

func TestReadOnlyRefusesWrites(t *testing.T) {
	s := newStore(t)
	r := openTest(t, s.Path(), Options{ReadOnly: true})
	prune := r.Prune(bg, Before{Windows: 1})
	for what, err := range map[string]error{"set": r.SetSetting(bg, "k", []byte("v")), "prune": prune} {
		if !errors.Is(err, ErrReadOnly) || !strings.Contains(err.Error(), r.Path()) {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// TestStill: a copy is read without a file beside it.
func TestStill(t *testing.T) {
	s := newStore(t)
	want := len(allWindows(t, s))
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	copied := openTest(t, s.Path(), Options{ReadOnly: true, Still: true})
	if got := len(allWindows(t, copied)); got != want {
		t.Errorf("%d rows, want %d", got, want)
	}
	if beside, _ := filepath.Glob(s.Path() + "?*"); len(beside) != 1 || beside[0] != s.Path()+"-head" { // the writer's
		t.Errorf("made %v", beside)
	}
}

func TestCreate(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "new", "a?b%20c#d.db")
	if _, err := Open(bg, path, Options{ReadOnly: true}); !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), "congctl up") {
		t.Errorf("read-only open of no file: %v", err)
	}
	if _, err := os.Stat(filepath.Dir(path)); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("read-only open made something: %v", err)
	}
	s := openTest(t, path, opts)
	for name, want := range map[string]fs.FileMode{path: 0o600, filepath.Dir(path): 0o700 | fs.ModeDir} {
		if fi, err := os.Stat(name); err != nil || fi.Mode() != want {
			t.Errorf("%s: %v %v, want %v", name, fi, err, want)
		}
	}
	var by string
	if err := s.read.QueryRow("SELECT value FROM meta WHERE key = 'created_by'").Scan(&by); err != nil || by != opts.CreatedBy {
		t.Errorf("created by %q, %v", by, err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	left, _ := os.ReadDir(filepath.Dir(path))
	if len(left) != 2 || left[1].Name() != filepath.Base(path)+"-head" {
		t.Errorf("a closed new store leaves %v", left)
	}
	empty := filepath.Join(dir, "empty.db")
	if err := os.WriteFile(empty, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := openTest(t, empty, opts).SetSetting(bg, "k", []byte("v")); err != nil {
		t.Error(err)
	}
}

func TestReadableView(t *testing.T) {
	s := newStore(t)
	rows := someWindows(rand.New(rand.NewPCG(1, 1)), first, 3)
	if err := s.CommitRound(bg, &Commit{Closed: true, Start: first, Rows: rows}); err != nil {
		t.Fatal(err)
	}
	r, err := s.read.Query("SELECT client_prefix, prefix, arm_name, arm, start_utc FROM windows_readable")
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	n := 0
	for ; r.Next(); n++ {
		var text, arm, at string
		var p, a int64
		if err := r.Scan(&text, &p, &arm, &a, &at); err != nil {
			t.Fatal(err)
		}
		q, err := record.ParsePrefix(text)
		if text == "" || err == nil && q != record.Prefix(p) || arm != record.Arm(a).String() || at != "2026-01-02 03:00:00" {
			t.Errorf("row reads %s (%s), %s (%s), %s: %v", text, record.Prefix(p), arm, record.Arm(a), at, err)
		}
		if err != nil {
			t.Errorf("view prints %q for %s: %v", text, record.Prefix(p), err)
		}
	}
	if n != 3 {
		t.Errorf("%d rows", n)
	}
}
