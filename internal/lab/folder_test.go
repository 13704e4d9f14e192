package lab

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/congctl/congctl/internal/lab/outcome"
	"github.com/congctl/congctl/internal/lab/report"
)

// runInto runs a folder's scenario and writes its reports, if it comes to that.
func runInto(t *testing.T, ctx context.Context, f *Folder, w World, cpus ...int) error {
	t.Helper()
	kept, err := f.Kept()
	if err != nil {
		t.Fatal(err)
	}
	r := Runner{World: w, CPUs: cpus, Keep: f.Keep, Now: time.Now, Meter: NewMeter("fake", io.Discard, false, time.Now)}
	if err := r.Run(ctx, f.Scenario, kept); err != nil {
		return err
	}
	_, err = f.Write()
	return err
}

func create(t *testing.T, dir string, m report.Manifest) *Folder {
	t.Helper()
	f, err := Create(dir, m, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// files returns what a folder holds by name, but for what it cost.
func files(t *testing.T, dir string) map[string][]byte {
	t.Helper()
	held := map[string][]byte{}
	err := fs.WalkDir(os.DirFS(dir), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || name == "wall.json" {
			return err
		}
		held[name], err = os.ReadFile(filepath.Join(dir, name))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return held
}

func sameFiles(t *testing.T, a, b string) {
	t.Helper()
	x, y := files(t, a), files(t, b)
	for name := range x {
		if !bytes.Equal(x[name], y[name]) {
			t.Errorf("%s differs (%d and %d bytes)", name, len(x[name]), len(y[name]))
		}
	}
	if len(x) != len(y) || len(x) < 10 {
		t.Errorf("%d and %d files", len(x), len(y))
	}
}

func TestResumedFolderIsThatOfAWholeRun(t *testing.T) {
	m := fakeManifest(t, "count: 2", Choice{})
	whole, halves := t.TempDir(), t.TempDir()
	if err := runInto(t, t.Context(), create(t, whole, m), &fakeWorld{}, 0); err != nil {
		t.Fatal(err)
	}

	ctx, cancel := context.WithCancel(t.Context())
	w := &fakeWorld{began: make(chan string), hold: []string{"loss=1%/bbr/1"}, broken: map[string]error{"loss=0%/bbr/1": errors.New("guest hung")}}
	go func() {
		for got := range w.began {
			if got == "loss=1%/bbr/1" {
				cancel()
			}
		}
	}()
	if err := runInto(t, ctx, create(t, halves, m), w, 0); !errors.Is(err, context.Canceled) {
		t.Fatalf("interrupted run: %v", err)
	}
	close(w.began)

	f, err := Resume(halves, m, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	w = &fakeWorld{}
	if err := runInto(t, t.Context(), f, w, 0, 1); err != nil {
		t.Fatal(err)
	}
	if !slices.Contains(w.order, "loss=0%/bbr/1") || slices.Contains(w.order, "loss=0%/cubic/1") || len(w.order) != 9 {
		t.Errorf("run after the interruption: %v", w.order)
	}
	sameFiles(t, whole, halves)
}

func TestFoldersThatAreRefused(t *testing.T) {
	m := fakeManifest(t, "count: 1", Choice{Cells: "1%/(cubic|bbr)"})
	dir := t.TempDir()
	if err := runInto(t, t.Context(), create(t, dir, m), &fakeWorld{}, 0); err != nil {
		t.Fatal(err)
	}
	if _, err := Create(dir, m, time.Now); !errors.Is(err, ErrTaken) || !strings.Contains(err.Error(), "--resume") {
		t.Errorf("folder taken: %v", err)
	}
	if _, err := Resume(filepath.Join(dir, "nosuch"), m, time.Now); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("nothing to resume: %v", err)
	}
	if _, err := Resume(dir, m, time.Now); err != nil {
		t.Errorf("the same again: %v", err)
	}
	for what, change := range map[string]func(*report.Manifest){
		"scenario": func(m *report.Manifest) {
			m.Scenario = report.NewText("fake.yml", []byte(m.Scenario.Text+"# edited\n"))
		},
		"kernel":  func(m *report.Manifest) { m.Kernel.Release = "6.12.0-fake" },
		"congctl": func(m *report.Manifest) { m.Congctl.SHA256 = "01" },
		"QEMU":    func(m *report.Manifest) { m.QEMU = &report.QEMU{Version: "8.0.0"} },
		"seeds":   func(m *report.Manifest) { m.Seeds.First = 7 },
		"cells":   func(m *report.Manifest) { m.Cells = m.Cells[:1] },
		"world":   func(m *report.Manifest) { m.World = "netns" },
	} {
		other := m
		change(&other)
		if _, err := Resume(dir, other, time.Now); err == nil || !strings.Contains(err.Error(), "\n  "+what+": ") {
			t.Errorf("another %s: %v", what, err)
		}
	}
}

func TestChoice(t *testing.T) {
	const seeds = "first: 2, count: 2, max: 9, half_width: 5%"
	for _, c := range []struct {
		choice Choice
		cells  int
		first  uint64
		count  int
		more   bool
	}{
		{Choice{}, 6, 2, 2, true},
		{Choice{First: 40}, 6, 40, 2, true},
		{Choice{Count: 3}, 6, 2, 3, false},
		{Choice{Cells: "bbr"}, 2, 2, 2, true},
		{Choice{Cells: "1%/.*b", First: 3, Count: 2}, 2, 3, 2, false},
	} {
		m := fakeManifest(t, seeds, c.choice)
		s, err := Scenario(&m)
		if err != nil {
			t.Fatal(err)
		}
		own := s.Cells[len(s.Cells)-1].Seeds
		if len(s.Cells) != c.cells || own.First != c.first || own.Count != c.count || own.HalfWidth > 0 != c.more {
			t.Errorf("%+v: %d cells, seeds %+v", c.choice, len(s.Cells), own)
		}
	}
	m := fakeManifest(t, seeds, Choice{})
	for _, pattern := range []string{"vegas", "("} {
		if err := (Choice{Cells: pattern}).Choose(&m); err == nil || !strings.Contains(err.Error(), pattern) {
			t.Errorf("cells %q: %v", pattern, err)
		}
	}
}

// A report is made again from the runs, and gives the same bytes.
func TestWrittenAgain(t *testing.T) {
	dir := t.TempDir()
	if err := runInto(t, t.Context(), create(t, dir, fakeManifest(t, "count: 2", Choice{Cells: "cubic"})), &fakeWorld{}, 0, 1); err != nil {
		t.Fatal(err)
	}
	before := files(t, dir)
	f, err := Open(dir, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	sum, err := f.Write()
	if err != nil || len(sum.Rows) != 2 || sum.Rows[0].Runs != 2 || sum.Rows[0].Theory.Verdict == "" {
		t.Fatalf("%+v, %v", sum, err)
	}
	for name, b := range files(t, dir) {
		if !bytes.Equal(b, before[name]) {
			t.Errorf("%s differs", name)
		}
	}
	wall, err := report.ReadWall(dir)
	if err != nil || len(wall.Runs) != 4 || wall.Runs[0].VirtualS != 10 || wall.Runs[0].Packets != 700 {
		t.Errorf("wall %+v, %v", wall, err)
	}
	if got := f.Cost(); !strings.HasPrefix(got, "4 runs: ") || !strings.Contains(got, " 40.0 s virtual, ") {
		t.Errorf("cost %q", got)
	}
}

func TestBrokenCellIsReportedInvalid(t *testing.T) {
	dir := t.TempDir()
	f := create(t, dir, fakeManifest(t, "count: 2", Choice{}))
	w := &fakeWorld{broken: map[string]error{"loss=0%/reno/1": errors.New("guest hung: no report after 15m0s")}}
	if err := runInto(t, t.Context(), f, w, 0, 1); err != nil {
		t.Fatal(err)
	}
	sum, err := f.Write()
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range sum.Rows {
		broken := row.Cell == "loss=0%/reno"
		if (row.Invalid > 0) != broken || (row.Goodput == nil) != broken || broken && !strings.Contains(strings.Join(row.Reasons, " "), "guest hung") {
			t.Errorf("row %+v", row)
		}
	}
	if i := slices.IndexFunc(sum.Winners, func(w outcome.Winner) bool { return w.Group == "loss=0%" }); i < 0 || sum.Winners[i].Arm != "" {
		t.Errorf("winners %+v: a group with a broken cell has none", sum.Winners)
	}
}
