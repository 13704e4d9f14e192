package sqlite

import (
	"bytes"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/congctl/congctl/internal/loop/journal"
	"github.com/congctl/congctl/internal/loop/policy"
	"github.com/congctl/congctl/internal/tcp/record"
)

// storeV1 makes a store of schema 1 from the fixture and more statements.
func storeV1(t *testing.T, more string) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "congctl.db")
	fixture, err := os.ReadFile("testdata/v1.sql")
	if err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open("sqlite", path+"?_pragma=journal_mode(WAL)")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.Exec(string(fixture) + more); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	return path
}

func mustPrefix(t *testing.T, s string) record.Prefix {
	p, err := record.ParsePrefix(s)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestMigrateV1(t *testing.T) {
	path := storeV1(t, "")
	if _, err := Open(bg, path, Options{ReadOnly: true}); !errors.Is(err, ErrOlder) || !strings.Contains(err.Error(), "schema 1, this congctl reads 5") {
		t.Errorf("read-only open of schema 1: %v", err)
	}
	s := openTest(t, path, opts)
	v4, v6 := mustPrefix(t, "203.0.113.0/24"), mustPrefix(t, "2001:db8:0:ab00::/56")
	want := []record.Window{
		{Start: 1767322800, Prefix: v4, Cong: "cubic", Control: true, Conns: 12, Eligible: 7, RateMeans: 7, Bytes: 9876543,
			RateBytesPerS: [5]float64{1e5, 1.5e5, 2e5, 4e5, 8e5}, MinRTTUs: 41000, SRTTUs: 52000.5, RetransShare: 0.0125, BusyShare: 0.9, AppLimitedShare: 0.25},
		{Start: 1767322800, Prefix: v6, Cong: "cubic", Control: true, Conns: 3, Bytes: 4321, BusyShare: 0.1, AppLimitedShare: 1},
		{Start: 1767323100, Prefix: v4, Arm: record.ArmTreatment, Cong: "bbr", Conns: 9, Eligible: 6, RateMeans: 5, Bytes: 7654321,
			RateBytesPerS: [5]float64{2e5, 2.5e5, 3e5, 5e5, 9e5}, MinRTTUs: 40500, SRTTUs: 47000, RetransShare: 0.03, RwndShare: 0.1, BusyShare: 0.95},
	}
	got, err := readAll(s)
	if d := cmp.Diff(want, got.Windows); err != nil || d != "" {
		t.Errorf("windows: %v\n%s", err, d)
	}
	heads, err := s.Heads(bg, 0, 1<<40)
	if d := cmp.Diff([]Head{{Start: 1767322800, Rows: 2, Note: ""}, {Start: 1767323100, Rows: 1, Note: ""}, {Start: 1767323400, Rows: 0, Note: "wall clock stepped by 612 s"}}, heads); err != nil || d != "" {
		t.Errorf("heads: %v\n%s", err, d)
	}
	wantRest := content{
		Rounds: []Round{{Summary: policy.Summary{RoundStart: 1767323100, Window: 1767322800, Known: 2, Ranked: 1, InGroup: 1, Selected: 1, New: 1}, SelectionJSON: []byte(`["203.0.113.0/24"]`)}},
		Events: []Event{{ID: 2, At: 1767323200, Kind: "stop", Text: "stopped by hand", Evidence: []byte{}},
			{ID: 1, At: 1767323100, Kind: "selected", Prefix: v4, Text: "selected: duty 0.92", Evidence: []byte(`{"duty":0.92}`)}},
		Plans: []Plan{{Serial: 1, Created: 1767323100, Hash: "abc123", Text: []byte("format 1\n203.0.113.0/24 bbr\n")}},
	}
	got.Windows, got.Settings = nil, nil
	if d := cmp.Diff(wantRest, got); d != "" {
		t.Errorf("the other tables:\n%s", d)
	}
	if v, ok, err := s.Setting(bg, journal.SettingKilled); string(v) != "1" || !ok || err != nil {
		t.Errorf("kill switch after migration: %q %v %v", v, ok, err)
	}
	_ = s.Close()
	openTest(t, path, Options{ReadOnly: true})
	checkBackup(t, path+".backup-v1-2026-01-02")
}

// checkBackup: the copy is a store of schema 1 that migrates like its original.
func checkBackup(t *testing.T, backup string) {
	t.Helper()
	fi, err := os.Stat(backup)
	if err != nil || fi.Mode() != 0o600 {
		t.Fatalf("backup: %v %v", fi, err)
	}
	if _, err := Open(bg, backup, Options{ReadOnly: true}); !errors.Is(err, ErrOlder) {
		t.Errorf("backup opens with %v, want schema 1", err)
	}
	if rows := allWindows(t, openTest(t, backup, opts)); len(rows) != 3 {
		t.Errorf("backup has %d windows rows", len(rows))
	}
	left, _ := filepath.Glob(filepath.Join(filepath.Dir(backup), "*partial*"))
	if len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

func TestFailedMigrationLeavesTheOldStore(t *testing.T) {
	path := storeV1(t, "INSERT INTO events VALUES (9, 9, 'selected', '203.0.113.7/24', 'host bits', '');")
	before, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		_, err := Open(bg, path, opts)
		if err == nil || !strings.Contains(err.Error(), "migrate schema 1 to 5") || !strings.Contains(err.Error(), "write 203.0.113.0/24") {
			t.Errorf("migration of a bad prefix: %v", err)
		}
	}
	after, err := os.ReadFile(path)
	if err != nil || !bytes.Equal(before, after) {
		t.Errorf("a failed migration changed the file (%v)", err)
	}
	for _, name := range []string{".backup-v1-2026-01-02", ".backup-v1-2026-01-02-2"} {
		if _, err := os.Stat(path + name); err != nil {
			t.Errorf("no backup of its own for each try: %v", err)
		}
	}
}

func TestMigrateV2(t *testing.T) {
	path := filepath.Join(t.TempDir(), "congctl.db")
	db, err := sql.Open("sqlite", path+"?_pragma=journal_mode(WAL)")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.Exec(schemaV2 + fmt.Sprintf("PRAGMA application_id = %d; PRAGMA user_version = 2;", applicationID)); err != nil {
		t.Fatal(err)
	}
	want := []record.Window{{Start: first, Prefix: mustPrefix(t, "203.0.113.0/24"), Cong: "cubic", Control: true, Conns: 12, Eligible: 7, MinRTTUs: 41000},
		{Start: first, Prefix: mustPrefix(t, "203.0.113.0/24"), Cong: "cubic", Carryover: true, Conns: 2}}
	for i := range want {
		if err := put(bg, db, "INSERT", "windows", appendWindow(nil, &want[i])[:columnsV3-1]...); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(putHead(bg, db, Head{Start: first, Rows: 2}), db.Close()); err != nil {
		t.Fatal(err)
	}
	s := openTest(t, path, opts)
	if d := cmp.Diff(want, allWindows(t, s)); d != "" {
		t.Errorf("windows after the migration:\n%s", d)
	}
	// What schema 2 had no room for: who measures the level beside who does not.
	pair := []record.Window{{Start: first + 300, Prefix: want[0].Prefix, Cong: "cubic", Control: true, Conns: 5},
		{Start: first + 300, Prefix: want[0].Prefix, Cong: "cubic", Conns: 1}}
	if err := s.CommitRound(bg, &Commit{Closed: true, Start: first + 300, Rows: pair}); err != nil {
		t.Fatal(err)
	}
	if got := allWindows(t, s); len(got) != 4 {
		t.Errorf("%d rows, want 4", len(got))
	}
	_ = s.Close()
	openTest(t, path, Options{ReadOnly: true})
	if _, err := os.Stat(path + ".backup-v2-2026-01-02"); err != nil {
		t.Error(err)
	}
}

// TestMigrateV3 keeps good rows and does not make a damaged one pass for good.
func TestMigrateV3(t *testing.T) {
	path := filepath.Join(t.TempDir(), "congctl.db")
	db, err := sql.Open("sqlite", path+"?_pragma=journal_mode(WAL)")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.Exec(schemaV2 + schemaV3 + fmt.Sprintf("PRAGMA application_id = %d; PRAGMA user_version = 3;", applicationID)); err != nil {
		t.Fatal(err)
	}
	rows := []record.Window{{Start: first, Prefix: mustPrefix(t, "203.0.113.0/24"), Arm: record.ArmControl, Cong: "cubic", Control: true, Conns: 12, Eligible: 7, MinRTTUs: 41000},
		{Start: first + 300, Prefix: mustPrefix(t, "203.0.113.0/24"), Arm: record.ArmTreatment, Cong: "bbr", Conns: 2}}
	for i := range rows {
		if err := put(bg, db, "INSERT", "windows", appendWindow(nil, &rows[i])[:columnsV3-1]...); err != nil {
			t.Fatal(err)
		}
		if err := putHead(bg, db, Head{Start: rows[i].Start, Rows: 1}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := db.Exec("UPDATE windows SET conns = 3 WHERE start = ?", first+300); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	s := openTest(t, path, opts)
	var got []record.Window
	keep := func(w *record.Window) error { got = append(got, *w); return nil }
	if err := s.Windows(bg, first, first+300, keep); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(rows[:1], got); d != "" {
		t.Errorf("good row after the migration:\n%s", d)
	}
	if err := s.Windows(bg, first+300, first+600, keep); !errors.Is(err, ErrDamaged) {
		t.Errorf("damaged row after the migration: %v, want damaged", err)
	}
	_ = s.Close()
	openTest(t, path, Options{ReadOnly: true})
	if _, err := os.Stat(path + ".backup-v3-2026-01-02"); err != nil {
		t.Error(err)
	}
}

// TestMigrateV4 reads old rows as not capped, and has room for a capped row beside a scouts' one.
func TestMigrateV4(t *testing.T) {
	path := filepath.Join(t.TempDir(), "congctl.db")
	db, err := sql.Open("sqlite", path+"?_pragma=journal_mode(WAL)")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.Exec(schemaV2 + schemaV3 + schemaV4 + dropV3 + fmt.Sprintf("PRAGMA application_id = %d; PRAGMA user_version = 4;", applicationID)); err != nil {
		t.Fatal(err)
	}
	old := record.Window{Start: first, Prefix: mustPrefix(t, "203.0.113.0/24"), Arm: record.ArmTreatment, Cong: "bbr", Conns: 12, Eligible: 7,
		LogRateMean: 12.5, LogRateVar: 0.4, EligibleSentBytes: 1 << 40, EligibleRetransBytes: 1 << 30}
	err = put(bg, db, "INSERT", "windows", appendWindow(nil, &old)[:columnsV4-1]...)
	if err := errors.Join(err, putHead(bg, db, Head{Start: first, Rows: 1}), db.Close()); err != nil {
		t.Fatal(err)
	}
	s := openTest(t, path, opts)
	scouts, capped := old, old
	scouts.Start, capped.Start = first+300, first+300
	capped.Capped, capped.LogGoodputMean, capped.LogGoodputVar = true, 13.5, 0.25
	capped.Episodes, capped.LateConns, capped.LateBytesPerS = 9, 5, [2]float64{1e6, 1.25e6}
	if err := s.CommitRound(bg, &Commit{Closed: true, Start: first + 300, Rows: []record.Window{scouts, capped}}); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]record.Window{old, scouts, capped}, allWindows(t, s)); d != "" {
		t.Errorf("windows after the migration:\n%s", d)
	}
	_ = s.Close()
	openTest(t, path, Options{ReadOnly: true})
	if _, err := os.Stat(path + ".backup-v4-2026-01-02"); err != nil {
		t.Error(err)
	}
}
