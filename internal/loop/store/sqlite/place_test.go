package sqlite

import (
	"errors"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
)

// TestDeletedStoreTakesNothing: no commit goes into a file that has lost its name, and one that is
// put back takes them again.
func TestDeletedStoreTakesNothing(t *testing.T) {
	for _, suffix := range []string{"", "-wal"} {
		s := newStore(t)
		rng := rand.New(rand.NewPCG(3, 3))
		n := 0
		commit := func() error { n++; return s.CommitRound(bg, sampleCommit(rng, n, 3)) }
		if err := commit(); err != nil {
			t.Fatal(err)
		}
		path := s.Path() + suffix
		if err := os.Rename(path, path+".away"); err != nil {
			t.Fatal(err)
		}
		if err := commit(); !errors.Is(err, ErrGone) {
			t.Errorf("%s deleted: %v", path, err)
		}
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := commit(); !errors.Is(err, ErrGone) {
			t.Errorf("%s replaced: %v", path, err)
		}
		if err := os.Rename(path+".away", path); err != nil {
			t.Fatal(err)
		}
		if err := commit(); err != nil {
			t.Errorf("%s put back: %v", path, err)
		}
	}
}

// TestLogWithoutItsStore: what is left of a deleted store does not get into the next one.
func TestLogWithoutItsStore(t *testing.T) {
	s := newStore(t)
	if err := s.CommitRound(bg, sampleCommit(rand.New(rand.NewPCG(3, 3)), 1, 3)); err != nil {
		t.Fatal(err)
	}
	for _, left := range []func(string) error{os.Remove, func(p string) error { return os.Truncate(p, 0) }} {
		if err := left(s.Path()); err != nil {
			t.Fatal(err)
		}
		if next, err := Open(bg, s.Path(), Options{}); err == nil || !strings.Contains(err.Error(), "start afresh: rm "+s.Path()+"-wal") {
			t.Errorf("opened, %v: %v", next, err)
		}
		if err := os.WriteFile(s.Path(), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}
