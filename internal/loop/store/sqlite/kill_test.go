package sqlite

import (
	"bufio"
	"math"
	"math/rand/v2"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/congctl/congctl/internal/tcp/record"
)

// killed starts a committing child, kills it some time after it has reported so
// many lines (its store open, then one for each commit), and returns the last
// window whose commit it had reported.
func killed(t *testing.T, path string, lines int, after time.Duration) (acked int64) {
	t.Helper()
	cmd := child(t, "", "commit", path)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	seen := bufio.NewScanner(out)
	for n := 0; ; n++ {
		if n == lines {
			time.AfterFunc(after, func() { _ = cmd.Process.Kill() })
		}
		if !seen.Scan() {
			break
		}
		if n, err := strconv.ParseInt(seen.Text(), 10, 64); err == nil {
			acked = n
		}
	}
	_ = cmd.Wait()
	if code := cmd.ProcessState.ExitCode(); code != -1 {
		t.Fatalf("child ended by itself with code %d", code)
	}
	return acked
}

func TestKillNineLosesAtMostTheOpenWindow(t *testing.T) {
	path := filepath.Join(t.TempDir(), "congctl.db")
	rng := rand.New(rand.NewPCG(4, 4))
	commits, inFlight, acked := 0, 0, int64(0)
	for range 25 {
		if n := killed(t, path, 1+rng.IntN(4), time.Duration(rng.IntN(12_000))*time.Microsecond); n > 0 {
			acked = n
		}
		last := checkWholeWindows(t, path)
		if acked > 0 && (last < acked || last > acked+300) {
			t.Fatalf("the child had reported window %d, the store ends at %d", acked, last)
		}
		if last > acked {
			inFlight++
		}
		acked = max(acked, last)
		commits = int(acked-first)/300 + 1
	}
	if commits < 25 {
		t.Errorf("only %d commits in 25 lives: the kills test nothing", commits)
	}
	t.Logf("%d commits over 25 kills; %d kills fell between commit and report", commits, inFlight)
}

// checkWholeWindows opens the store as the next process would, and compares
// every row of every window with what was committed.
func checkWholeWindows(t *testing.T, path string) (last int64) {
	t.Helper()
	s, err := Open(bg, path, opts)
	if err != nil {
		t.Fatalf("open after kill: %v", err)
	}
	defer s.Close()
	got := map[int64]map[record.Window]bool{}
	err = s.Windows(bg, 0, math.MaxInt64, func(w *record.Window) error {
		if got[w.Start] == nil {
			got[w.Start] = map[record.Window]bool{}
		}
		got[w.Start][*w] = true
		return nil
	})
	if err != nil {
		t.Fatalf("read after kill: %v", err)
	}
	for start, rows := range got {
		want := map[record.Window]bool{}
		for _, w := range windowRows(start) {
			want[w] = true
		}
		if d := cmp.Diff(want, rows); d != "" {
			t.Fatalf("window %d (-committed +found):\n%s", start, d)
		}
		last = max(last, start)
	}
	rounds, err := s.Rounds(bg, 1)
	plan, ok, perr := s.LatestPlan(bg)
	value, _, serr := s.Setting(bg, "last")
	if err != nil || perr != nil || serr != nil {
		t.Fatalf("read after kill: %v %v %v", err, perr, serr)
	}
	if last > 0 && (!ok || rounds[0].Window != last || plan.Created != last || value[0] != byte((last-first)/300)) {
		t.Fatalf("window %d stands beside round %v, plan %v, setting %v of another commit", last, rounds, plan.Created, value)
	}
	return last
}

func TestKillNineWhileCreating(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 5))
	for range 15 {
		path := filepath.Join(t.TempDir(), "congctl.db")
		killed(t, path, 0, time.Duration(rng.IntN(40_000))*time.Microsecond)
		checkWholeWindows(t, path)
	}
}
