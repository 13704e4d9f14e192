package sqlite

import (
	"errors"
	"math/rand/v2"
	"os"
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
