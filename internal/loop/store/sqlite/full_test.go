package sqlite

import (
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestFullStoreKeepsNothingHalf(t *testing.T) {
	s := newStore(t)
	rng := rand.New(rand.NewPCG(10, 10))
	if err := s.CommitRound(bg, sampleCommit(rng, 0, 50)); err != nil {
		t.Fatal(err)
	}
	before, err := readAll(s)
	if err != nil {
		t.Fatal(err)
	}
	limit := func(pages string) {
		if _, err := s.write.Exec("PRAGMA max_page_count = " + pages); err != nil {
			t.Fatal(err)
		}
	}
	limit("30")
	big := sampleCommit(rng, 1, 5000)
	err = s.CommitRound(bg, big)
	if !errors.Is(err, ErrFull) || !strings.Contains(err.Error(), s.Path()) || !strings.Contains(err.Error(), "nothing of this commit was kept") {
		t.Errorf("commit to a full store: %v", err)
	}
	after, err := readAll(s)
	if d := cmp.Diff(before, after); err != nil || d != "" {
		t.Errorf("after a full store: %v\n%s", err, d)
	}
	limit("100000")
	if err := s.CommitRound(bg, big); err != nil {
		t.Errorf("with room again: %v", err)
	}
}

// The kernel, not SQLite, refuses the write here.
func TestFileSizeLimit(t *testing.T) {
	path := filepath.Join(t.TempDir(), "congctl.db")
	out, err := child(t, "", "full", path).Output()
	if err != nil || !strings.Contains(string(out), "full: commit round in store "+path) {
		t.Fatalf("child under a file-size limit: %v\n%s", err, out)
	}
	if fi, err := os.Stat(path); err != nil || fi.Size() > 300_000 {
		t.Fatalf("%v %v", fi, err)
	}
	if last := checkWholeWindows(t, path); last < first {
		t.Error("no window was kept: the limit came too early to test anything")
	}
}
