package sqlite

import (
	"bytes"
	"database/sql"
	"errors"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/congctl/congctl/internal/tcp/record"
)

type content struct {
	Windows  []record.Window
	Rounds   []Round
	Events   []Event
	Plans    []Plan
	Settings [][]byte
}

func plansOf(s *Store) ([]Plan, error) {
	plans, err := list(bg, s.read, "plans", "ORDER BY serial DESC", nil, planOf)
	return plans, explain(s.path, "read plans", err)
}

func readAll(s *Store) (c content, err error) {
	err = s.Windows(bg, 0, math.MaxInt64, func(w *record.Window) error { c.Windows = append(c.Windows, *w); return nil })
	if err == nil {
		c.Rounds, err = s.Rounds(bg, 1000)
	}
	if err == nil {
		c.Events, err = s.Events(bg, 0, 1000)
	}
	if err == nil {
		c.Plans, err = plansOf(s)
	}
	if err == nil {
		var v []byte
		v, _, err = s.Setting(bg, "last")
		c.Settings = append(c.Settings, v)
	}
	return c, err
}

// filled makes a closed store with some windows and returns its bytes and content.
func filled(t *testing.T) (path string, file []byte, c content) {
	t.Helper()
	s := newStore(t)
	rng := rand.New(rand.NewPCG(6, 6))
	for i := range 4 {
		if err := s.CommitRound(bg, sampleCommit(rng, i, 60)); err != nil {
			t.Fatal(err)
		}
	}
	c, err := readAll(s)
	if err := errors.Join(err, s.Close()); err != nil {
		t.Fatal(err)
	}
	file, err = os.ReadFile(s.Path())
	if err != nil {
		t.Fatal(err)
	}
	return s.Path(), file, c
}

// openAndRead returns what a process learns from these bytes, after checking that
// none of them changed.
func openAndRead(t *testing.T, file []byte, o Options) (content, error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "x.db")
	if err := os.WriteFile(path, file, 0o600); err != nil {
		t.Fatal(err)
	}
	o.At = day
	var c content
	s, err := Open(bg, path, o)
	if err == nil {
		c, err = readAll(s)
		_ = s.Close()
	}
	after, rerr := os.ReadFile(path)
	if rerr != nil || !bytes.Equal(file, after) {
		t.Fatalf("the file was changed (%v); the error was %v", rerr, err)
	}
	if err != nil && isOurs(err) && !strings.Contains(err.Error(), path) {
		t.Errorf("error does not name the file: %v", err)
	}
	return c, err
}

// Whatever happens to the bytes, the store says so or reads the very same rows.
func TestDamageIsNeverReadAsData(t *testing.T) {
	_, file, want := filled(t)
	rng := rand.New(rand.NewPCG(7, 7))
	const page = 4096
	spoil := []func([]byte) []byte{
		func(b []byte) []byte { b[rng.IntN(len(b))] ^= 1 << rng.IntN(8); return b },
		func(b []byte) []byte { b[rng.IntN(len(b))] = byte(rng.Uint32()); return b },
		func(b []byte) []byte { clear(b[rng.IntN(len(b)/page)*page:][:page]); return b },
		func(b []byte) []byte { return b[:rng.IntN(len(b)-1)+1] },
		func(b []byte) []byte { // one page in the place of another
			i, j := rng.IntN(len(b)/page)*page, rng.IntN(len(b)/page)*page
			copy(b[i:i+page], b[j:j+page])
			return b
		},
	}
	found := 0
	for i := range 250 {
		b := spoil[i%len(spoil)](bytes.Clone(file))
		got, err := openAndRead(t, b, Options{ReadOnly: i%2 == 0, SkipCheck: i%3 == 0})
		switch {
		case errors.Is(err, ErrDamaged), errors.Is(err, ErrForeign), errors.Is(err, ErrNewer):
			found++
		case err != nil:
			t.Errorf("damage %d: error without a sentinel: %v", i, err)
		default:
			if d := cmp.Diff(want, got); d != "" {
				t.Fatalf("damage %d was read as data:\n%s", i, d)
			}
		}
	}
	if found < 100 {
		t.Errorf("only %d of 250 damages were noticed", found)
	}
	t.Logf("%d of 250 damages noticed, the others hit nothing that is read", found)
}

func TestForeignFiles(t *testing.T) {
	_, file, _ := filled(t)
	patched := func(at int, b ...byte) []byte { c := bytes.Clone(file); copy(c[at:], b); return c }
	cases := map[string]struct {
		file []byte
		is   error
		text string
	}{
		"text":        {[]byte("listen 443\n"), ErrForeign, `starts with "listen 443\n"`},
		"one byte":    {[]byte{7}, ErrForeign, "starts with"},
		"elf":         {append([]byte("\x7fELF"), make([]byte, 9000)...), ErrForeign, "ELF"},
		"zeros":       {make([]byte, 8192), ErrDamaged, "all zeros"},
		"cut header":  {file[:50], ErrDamaged, "truncated after 50 bytes"},
		"cut page":    {file[:3000], ErrDamaged, ""},
		"cut file":    {file[:len(file)/4096/2*4096], ErrDamaged, ""},
		"other app":   {patched(68, 0, 0, 0, 9), ErrForeign, "application_id 0x9"},
		"newer":       {patched(60, 0, 0, 0, 99), ErrNewer, "schema 99, this congctl reads up to 5"},
		"version 0":   {patched(60, 0, 0, 0, 0), ErrDamaged, "schema version 0"},
		"sqlite file": {otherApp(t), ErrForeign, "another application"},
	}
	for name, c := range cases {
		for _, ro := range []bool{true, false} {
			_, err := openAndRead(t, c.file, Options{ReadOnly: ro})
			if !errors.Is(err, c.is) || !strings.Contains(err.Error(), c.text) {
				t.Errorf("%s (read-only %v): %v", name, ro, err)
			}
		}
	}
	if _, err := Open(bg, t.TempDir(), opts); !errors.Is(err, ErrForeign) || !strings.Contains(err.Error(), "a directory") {
		t.Errorf("directory: %v", err)
	}
}

func otherApp(t *testing.T) []byte {
	path := filepath.Join(t.TempDir(), "cookies.sqlite")
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.Exec("CREATE TABLE windows (start, prefix); INSERT INTO windows VALUES (1, 2)"); err != nil {
		t.Fatal(err)
	}
	_ = db.Close()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestMissingRowsAreNoticed(t *testing.T) {
	path, _, _ := filled(t)
	for _, q := range []string{
		"DELETE FROM windows WHERE start = (SELECT max(start) FROM windows) AND prefix = (SELECT min(prefix) FROM windows)",
		"DELETE FROM window_heads WHERE start = (SELECT min(start) FROM window_heads)",
		"UPDATE plans SET text = x'00' WHERE serial = 1",
	} {
		s := openTest(t, path, opts)
		if _, err := s.write.Exec(q); err != nil {
			t.Fatal(err)
		}
		if _, err := readAll(s); !errors.Is(err, ErrDamaged) {
			t.Errorf("after %s: %v", q, err)
		}
		_ = s.Close()
	}
}
