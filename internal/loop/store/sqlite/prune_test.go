package sqlite

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/congctl/congctl/internal/tcp/record"
)

func TestPrune(t *testing.T) {
	s := newStore(t)
	rng := rand.New(rand.NewPCG(8, 8))
	for i := range 10 {
		if err := s.CommitRound(bg, sampleCommit(rng, i, 30)); err != nil {
			t.Fatal(err)
		}
	}
	cut := first + 4*300
	limits := Before{Windows: cut, Rounds: cut + 300, Events: cut + 301, Plans: first + 100*300}
	for _, b := range []Before{limits, limits, {}} { // a second one and one without limits delete nothing
		if err := s.Prune(bg, b); err != nil {
			t.Fatal(err)
		}
		heads, err := s.Heads(bg, 0, math.MaxInt64)
		if err != nil || len(heads) != 6 || heads[0].Start != cut {
			t.Errorf("%d windows kept: %v", len(heads), err)
		}
		c, err := readAll(s)
		if err != nil || len(c.Windows) != 180 || c.Windows[0].Start != cut || len(c.Rounds) != 6 || len(c.Events) != 11 {
			t.Errorf("kept %d rows from %d, %d rounds, %d events: %v", len(c.Windows), c.Windows[0].Start, len(c.Rounds), len(c.Events), err)
		}
		if len(c.Plans) != 1 || c.Plans[0].Serial != record.PlanID(10) {
			t.Errorf("plans kept: %v", c.Plans)
		}
	}
}

// However late the clock, one pruning deletes only what its span allows of each part.
func TestPruneWithinItsSpan(t *testing.T) {
	s := newStore(t)
	rng := rand.New(rand.NewPCG(8, 10))
	const n = 45
	for i := range n {
		if err := s.CommitRound(bg, sampleCommit(rng, i, 3)); err != nil {
			t.Fatal(err)
		}
	}
	late := first + int64(365*86400)
	for i := range 3 {
		if err := s.Prune(bg, Before{Windows: late, Rounds: late, Events: late, Plans: late, Span: 600}); err != nil {
			t.Fatal(err)
		}
		c, err := readAll(s)
		heads, herr := s.Heads(bg, 0, math.MaxInt64)
		want := n - 2*(i+1)
		if err != nil || herr != nil || len(heads) != want || len(c.Rounds) != want || len(c.Plans) < want || len(c.Events) < want {
			t.Errorf("after %d: %d windows, %d rounds, %d plans, %d events (%v, %v), want %d", i+1, len(heads), len(c.Rounds), len(c.Plans), len(c.Events), err, herr, want)
		}
	}
}

func TestPruneBatchesHoldWholeWindows(t *testing.T) {
	heads := []Head{{Start: 0, Rows: pruneBatch + 5, Note: ""}, {Start: 1, Rows: 10, Note: ""}, {Start: 2, Rows: pruneBatch - 10, Note: ""}, {Start: 3, Rows: 1, Note: ""}}
	var sizes []int
	for len(heads) > 0 {
		n := len(firstWindows(heads))
		sizes = append(sizes, n)
		heads = heads[n:]
	}
	if d := cmp.Diff([]int{1, 2, 1}, sizes); d != "" {
		t.Error(d)
	}
}

func TestPrunedRoomIsUsedAgain(t *testing.T) {
	s := newStore(t)
	rng := rand.New(rand.NewPCG(8, 9))
	pages := func() (n int) {
		if err := s.write.QueryRow("PRAGMA page_count").Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	var settled int
	for i := range 60 {
		if err := s.CommitRound(bg, &Commit{Closed: true, Start: first + int64(i)*300, Rows: someWindows(rng, first+int64(i)*300, 100)}); err != nil {
			t.Fatal(err)
		}
		if err := s.Prune(bg, Before{Windows: first + int64(i-10)*300}); err != nil {
			t.Fatal(err)
		}
		if i == 20 {
			settled = pages()
		}
	}
	if now := pages(); now > settled+settled/10 {
		t.Errorf("a store with retention grew from %d to %d pages", settled, now)
	}
}

// TestThin: a store that is too full loses its oldest windows, two at a time, whatever the clock
// says of them, and never one of the newest that must stay.
func TestThin(t *testing.T) {
	s := newStore(t)
	rng := rand.New(rand.NewPCG(8, 11))
	const n, keep = 12, 5
	for i := range n {
		if err := s.CommitRound(bg, sampleCommit(rng, i, 2000)); err != nil {
			t.Fatal(err)
		}
	}
	was := int64(math.MaxInt64)
	for i, want := range []int{10, 8, 6, 5, 5} {
		used, err := s.Thin(bg, 100_000, keep)
		heads, herr := s.Heads(bg, 0, math.MaxInt64)
		if err != nil || herr != nil || len(heads) != want || heads[want-1].Start != first+(n-1)*300 || used > was {
			t.Errorf("call %d: %d windows left, want %d; %d bytes after %d; %v, %v", i, len(heads), want, used, was, err, herr)
		}
		was = used
	}
	rows := len(allWindows(t, s))
	if used, err := s.Thin(bg, was, 0); err != nil || used != was || len(allWindows(t, s)) != rows {
		t.Errorf("within its budget: %d bytes, %v", used, err)
	}
}
