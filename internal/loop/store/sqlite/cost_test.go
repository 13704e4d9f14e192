package sqlite

import (
	"database/sql"
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/congctl/congctl/internal/costtest"
	"github.com/congctl/congctl/internal/tcp/record"
)

// A value that congctl never wrote is refused by its length, unread; measured: 12 ms, 0.2 MB. But a key is read to be compared, up to
// heapBytes: 0.1 s.
func TestCostOfAStore(t *testing.T) {
	const cpu, keyCPU, most = costtest.MaxCPU, time.Second, 4 << 20
	for name, c := range map[string]struct {
		change string
		cpu    time.Duration
	}{
		"a setting": {"INSERT INTO settings VALUES ('x', zeroblob(?), 0)", cpu},
		"a plan":    {"INSERT INTO plans VALUES (1000, 0, '', zeroblob(?), 0)", cpu},
		"a round":   {"UPDATE rounds SET note = CAST(zeroblob(?) AS TEXT) WHERE round_start = (SELECT max(round_start) FROM rounds)", cpu},
		"an event":  {"UPDATE events SET text = CAST(zeroblob(?) AS TEXT) WHERE id = (SELECT max(id) FROM events)", cpu},
		"a head":    {"UPDATE window_heads SET note = CAST(zeroblob(?) AS TEXT) WHERE start = (SELECT min(start) FROM window_heads)", cpu},
		"a key":     {"UPDATE windows SET cong = CAST(zeroblob(?) AS TEXT) WHERE start = (SELECT min(start) FROM windows) AND prefix = (SELECT min(prefix) FROM windows)", keyCPU},
	} {
		path, _, _ := filled(t)
		db, err := sql.Open("sqlite", path+"?_pragma=journal_mode(OFF)&_pragma=synchronous(OFF)")
		if err == nil {
			_, err = db.Exec(c.change, maxValue+1)
		}
		if err := errors.Join(err, db.Close()); err != nil {
			t.Fatal(name, err)
		}
		cost, err := costtest.Of(func() error { return readStranger(path) })
		if !errors.Is(err, ErrDamaged) || cost.CPU > c.cpu || cost.Bytes > most || cost.Text > costtest.MaxText {
			t.Errorf("%s: %+v: %v", name, cost, err)
		}
		t.Logf("%s: %+v", name, cost)
	}
}

// readStranger reads what simulate and pop-report read, up to the first error.
func readStranger(path string) error {
	s, err := Open(bg, path, Options{ReadOnly: true, Still: true, SkipCheck: true})
	if err != nil {
		return err
	}
	defer s.Close()
	if _, _, err = s.Setting(bg, "salt"); err == nil {
		_, err = s.Rounds(bg, 0)
	}
	if err == nil {
		_, err = s.Heads(bg, 0, math.MaxInt64)
	}
	if err == nil {
		err = s.Windows(bg, 0, math.MaxInt64, func(*record.Window) error { return nil })
	}
	if err == nil {
		_, err = s.Events(bg, 0, 0)
	}
	if err == nil {
		_, _, err = s.LatestPlan(bg)
	}
	return err
}

// TestRowsOfSharedPages: rows of a stranger's store may all have the pages of one value. Here a join reads it more often than
// the file has it.
func TestRowsOfSharedPages(t *testing.T) {
	path, _, _ := filled(t)
	s := openTest(t, path, opts)
	if err := s.CommitRound(bg, &Commit{Events: []Event{{At: 1, Kind: "k", Text: strings.Repeat("x", 1<<20)}}}); err != nil {
		t.Fatal(err)
	}
	if list, err := s.Events(bg, 0, 0); err != nil || len(list[0].Text) != 1<<20 {
		t.Errorf("%d events, %v", len(list), err)
	}
	twice := "(SELECT events.* FROM events JOIN (SELECT 1 UNION ALL SELECT 2 UNION ALL SELECT 3))"
	if err := each(bg, s.read, twice, "", nil, func([]any) error { return nil }); !errors.Is(err, ErrDamaged) {
		t.Error(err)
	}
	shared := 0
	err := scan(bg, s.read, "SELECT * FROM "+twice, nil, func([]any) error { shared++; return nil })
	if err != nil || shared < 3 {
		t.Errorf("%d rows, %v", shared, err)
	}
}
