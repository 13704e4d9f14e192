package sqlite

import (
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// copyOf copies an open store as a crash would leave it, its log changed by damage.
func copyOf(t *testing.T, path string, damage func(log []byte) []byte) (copied string) {
	t.Helper()
	copied = filepath.Join(t.TempDir(), "congctl.db")
	for _, suffix := range []string{"", "-wal", "-head"} {
		b, err := os.ReadFile(path + suffix)
		if err != nil {
			t.Fatal(err)
		}
		if suffix == "-wal" {
			b = damage(b)
		}
		if err := os.WriteFile(copied+suffix, b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return copied
}

// spoilt leaves a log as it is, takes it away, cuts it or flips a bit.
func spoilt(rng *rand.Rand, i int, log []byte) []byte {
	switch at := rng.IntN(len(log)); {
	case i == 0:
		return log
	case i == 1:
		return nil
	case i%2 == 0:
		return log[:at]
	default:
		log[at] ^= 1 << rng.IntN(8)
		return log
	}
}

// TestLostCommitsAreTold damages the log of 190 rounds: SQLite reads on without a word, and each
// loss is told with its number and since when; without a loss nothing is.
func TestLostCommitsAreTold(t *testing.T) {
	const n = 190
	s := newStore(t)
	rng := rand.New(rand.NewPCG(9, 9))
	for i := range n {
		if err := s.CommitRound(bg, sampleCommit(rng, i, 20)); err != nil {
			t.Fatal(err)
		}
	}
	told := 0
	for i := range 40 {
		path := copyOf(t, s.Path(), func(log []byte) []byte { return spoilt(rng, i, log) })
		c, err := Open(bg, path, opts)
		if err != nil {
			t.Fatal(err)
		}
		rounds, err := c.Rounds(bg, 0)
		if err != nil {
			t.Fatal(err)
		}
		want := Missing{}
		if lost := int64(n - len(rounds)); lost > 0 {
			told++
			last := int64(first + 300*n)
			want = Missing{Commits: lost, Since: last - 300*lost, Until: last}
		}
		if got := c.Missing(); got != want || (got.String() != "") != (want.Commits > 0) {
			t.Errorf("damage %d: %+v told, want %+v", i, got, want)
		}
		events, err := c.Events(bg, 0, 1)
		if err != nil || (events[0].Kind == "missing" && events[0].Text == want.String()) != (want.Commits > 0) {
			t.Errorf("damage %d: last event %+v, %v", i, events[0], err)
		}
		// Told once: what follows is a chain of its own.
		if err := c.CommitRound(bg, &Commit{Events: []Event{{At: day.Unix(), Kind: "stop", Text: "x"}}}); err != nil {
			t.Fatal(err)
		}
		if err := c.Close(); err != nil {
			t.Fatal(err)
		}
		again := openTest(t, path, opts)
		if got := again.Missing().String(); got != "" {
			t.Errorf("damage %d, opened again: %s", i, got)
		}
		_ = again.Close()
	}
	if told < 10 {
		t.Errorf("only %d of 40 damages cost a round: nothing was tested", told)
	}
	text := Missing{Commits: 3, Since: first, Until: first + 900}.String()
	if !strings.HasPrefix(text, "3 commits (rounds and events) after 2026-01-0") || !strings.Contains(text, "missing") {
		t.Error(text)
	}
}

// An older copy with as many commits, and others, is not the store that was there.
func TestAnotherHistoryIsTold(t *testing.T) {
	a, b := newStore(t), newStore(t)
	for i, s := range []*Store{a, b} {
		if err := s.CommitRound(bg, &Commit{Events: []Event{{At: first + int64(i), Kind: "stop", Text: "x"}}}); err != nil {
			t.Fatal(err)
		}
	}
	path := copyOf(t, a.Path(), func(log []byte) []byte { return log })
	head, err := os.ReadFile(b.Path() + "-head")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path+"-head", head, 0o600); err != nil {
		t.Fatal(err)
	}
	if got := openTest(t, path, opts).Missing(); got.Until != first+1 || got.String() == "" {
		t.Errorf("%+v", got)
	}
}

// TestLostHeadIsTold: without the file that proves the end of the chain nothing is proven.
func TestLostHeadIsTold(t *testing.T) {
	s := newStore(t)
	if err := s.CommitRound(bg, &Commit{Events: []Event{{At: first, Kind: "stop", Text: "x"}}}); err != nil {
		t.Fatal(err)
	}
	path := s.Path()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	for _, spoil := range []func() error{
		func() error { return os.Remove(path + "-head") },
		func() error { return os.WriteFile(path+"-head", []byte("nonsense"), 0o600) },
	} {
		if err := spoil(); err != nil {
			t.Fatal(err)
		}
		again := openTest(t, path, opts)
		if text := again.Missing().String(); !strings.HasPrefix(text, "commits after 2026-01-0") || !strings.Contains(text, "may be missing") {
			t.Errorf("told %q", text)
		}
		if err := errors.Join(again.CommitRound(bg, &Commit{Events: []Event{{At: first + 1, Kind: "stop", Text: "x"}}}), again.Close()); err != nil {
			t.Fatal(err)
		}
		if text := openTest(t, path, opts).Missing().String(); text != "" {
			t.Errorf("after a commit still told %q", text)
		}
	}
}

// TestLostRoundsAreTold: a round that is gone from the middle leaves its window behind.
func TestLostRoundsAreTold(t *testing.T) {
	s := newStore(t)
	rng := rand.New(rand.NewPCG(3, 4))
	for i := range 9 {
		if err := s.CommitRound(bg, sampleCommit(rng, i, 3)); err != nil {
			t.Fatal(err)
		}
	}
	lost, err := s.lostRounds(bg)
	if err != nil || lost != (Missing{}) {
		t.Fatalf("whole: %+v, %v", lost, err)
	}
	if _, err := s.write.Exec("DELETE FROM rounds WHERE window IN (?, ?)", first+2*300, first+4*300); err != nil {
		t.Fatal(err)
	}
	path := s.Path()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	again := openTest(t, path, opts)
	if want := (Missing{Rounds: 2, Since: first + 600, Until: first + 1200}); again.Missing() != want || !strings.HasPrefix(want.String(), "2 rounds of windows from 2026-") {
		t.Errorf("told %+v", again.Missing())
	}
	events, err := again.Events(bg, 0, 1)
	if err != nil || len(events) != 1 || events[0].Kind != "missing" {
		t.Errorf("%+v, %v", events, err)
	}
}
