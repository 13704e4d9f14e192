package popreport

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/congctl/congctl/internal/loop/config"
	"github.com/congctl/congctl/internal/loop/journal"
	"github.com/congctl/congctl/internal/popday"
	"github.com/congctl/congctl/internal/popday/pop"
	"github.com/congctl/congctl/internal/popday/popdaytest"
	"github.com/congctl/congctl/internal/tcp/record"
)

// memory is the store of a simulated run.
type memory struct{ *popdaytest.Run }

func (m memory) Heads(_ context.Context, from, to int64) (list []journal.Head, err error) {
	for _, h := range m.Run.Heads {
		if h.Start >= from && h.Start < to {
			list = append(list, h)
		}
	}
	return list, nil
}

func (m memory) Windows(_ context.Context, from, to int64, row func(*record.Window) error) error {
	for _, w := range m.Run.Windows {
		if w.Start >= from && w.Start < to {
			if err := row(&w); err != nil {
				return err
			}
		}
	}
	return nil
}

func (m memory) Rounds(context.Context, int) ([]journal.Round, error) {
	list := slices.Clone(m.Run.Rounds)
	slices.Reverse(list)
	return list, nil
}

func (m memory) Events(context.Context, record.Prefix, int, ...string) ([]journal.Event, error) {
	list := slices.Clone(m.Run.Events)
	slices.Reverse(list)
	return list, nil
}

func (m memory) Setting(context.Context, string) ([]byte, bool, error) {
	return popdaytest.Salt, true, nil
}
func (m memory) Close() error { return nil }

// folder writes imagined runs and returns what reads them.
func folder(t testing.TB, seeds []uint64, policies ...string) (dir string, src Source) {
	t.Helper()
	dir = t.TempDir()
	d, err := pop.Parse("imagined.yml", []byte(popdaytest.Day))
	if err != nil {
		t.Fatal(err)
	}
	stores := map[string]*popdaytest.Run{}
	for _, seed := range seeds {
		for i, name := range policies {
			made := popdaytest.Imagine(d, seed, 10*seed+uint64(i), name, popdaytest.Truth{"lossy": 2.5, "fibre": 0.75})
			run := filepath.Join(dir, fmt.Sprintf("%s-%d", name, seed))
			writeRun(t, run, made)
			stores[filepath.Join(run, popday.StoreFile)] = made
		}
	}
	return dir, Source{
		Open:    func(_ context.Context, path string) (LoopStore, error) { return memory{stores[path]}, nil },
		Shipped: func(name string) ([]byte, bool) { return []byte(popdaytest.Day), name == "imagined" },
		Config: func(*pop.Day, string) (config.Config, error) {
			return config.Parse([]byte("window: 2m\npoll: 12s\nexperiment: {block: 12m}\npolicy: {select: slowest-fifth}\n"))
		},
	}
}

func writeRun(t testing.TB, dir string, made *popdaytest.Run) {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	for _, r := range made.Responses {
		if err := json.NewEncoder(z).Encode(r); err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	files := map[string][]byte{popday.FactsFile: made.Facts, popday.ResponsesFile: b.Bytes(), popday.DayFile: []byte(popdaytest.Day)}
	if made.Loop {
		files[popday.StoreFile] = []byte("in memory")
	}
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, body := range files {
		if err := os.WriteFile(filepath.Join(dir, name), body, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// reported reads, compares and writes, and returns the files.
func reported(t testing.TB, dir string, src Source) (files map[string]string, r *popday.Report) {
	t.Helper()
	in, err := Read(t.Context(), dir, src)
	if err != nil {
		t.Fatal(err)
	}
	if r, err = popday.Build(in); err != nil {
		t.Fatal(err)
	}
	return written(t, dir, r), r
}

// written writes the report and returns its files, and the screen's text.
func written(t testing.TB, dir string, r *popday.Report) (files map[string]string) {
	t.Helper()
	if err := Write(dir, r); err != nil {
		t.Fatal(err)
	}
	files = map[string]string{}
	for _, name := range []string{JSONFile, MarkdownFile, PageFile} {
		b, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		files[name] = string(b)
	}
	var text bytes.Buffer
	if err := Text(&text, r, PageFile); err != nil {
		t.Fatal(err)
	}
	files["summary.txt"] = text.String()
	return files
}

func finite(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }
