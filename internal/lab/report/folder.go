package report

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/congctl/congctl/internal/lab/outcome"
	"github.com/congctl/congctl/internal/linux/plainfile"
)

// Folder is the content of a results folder.
type Folder struct {
	Manifest Manifest
	Summary  outcome.Summary
	Results  []outcome.Result // in the order of the scenario's cells, then by seed
	// Load returns a run's raw facts, for its time series and samples.
	Load func(cell string, seed uint64) (*outcome.Run, error)
}

// of are the results of one cell.
func (f *Folder) of(cell string) (out []*outcome.Result) {
	for i := range f.Results {
		if f.Results[i].Cell == cell {
			out = append(out, &f.Results[i])
		}
	}
	return out
}

// Write writes everything that is made from finished runs; the runs themselves are
// written one by one with WriteRun, the manifest before the first of them.
func Write(dir string, m Manifest, s outcome.Summary, results []outcome.Result,
	load func(cell string, seed uint64) (*outcome.Run, error)) error {
	f := &Folder{Manifest: m, Summary: s, Results: sorted(&s, results), Load: load}
	if err := WriteManifest(dir, m); err != nil {
		return err
	}
	if err := writeJSON(filepath.Join(dir, "summary.json"), s); err != nil {
		return err
	}
	if b := besidePublished(&s); b != nil {
		if err := writeJSON(filepath.Join(dir, "published.json"), b); err != nil {
			return err
		}
	}
	for _, part := range []struct {
		name  string
		write func(*Folder) ([]byte, error)
	}{
		{"results.jsonl", resultLines},
		{"summary.csv", summaryCSV},
		{"samples.jsonl.gz", sampleLines},
		{"report.md", markdown},
		{"report.html", htmlPage},
	} {
		b, err := part.write(f)
		if err != nil {
			return fmt.Errorf("write %s: %w", part.name, err)
		}
		if err := Replace(filepath.Join(dir, part.name), b); err != nil {
			return err
		}
	}
	return nil
}

// Open reads a folder again, to report or compare it.
func Open(dir string) (*Folder, error) {
	m, err := ReadManifest(dir)
	if err != nil {
		return nil, err
	}
	f := &Folder{Manifest: *m, Load: func(cell string, seed uint64) (*outcome.Run, error) { return ReadRun(dir, cell, seed) }}
	if err := readJSON(filepath.Join(dir, "summary.json"), &f.Summary); err != nil {
		return nil, fmt.Errorf("open results: %w: was the run finished?", err)
	}
	f.Results, err = readResults(filepath.Join(dir, "results.jsonl"))
	return f, err
}

// WriteManifest makes the folder and keeps what will be run, before it is run.
func WriteManifest(dir string, m Manifest) error {
	if err := m.Check(); err != nil {
		return fmt.Errorf("manifest: %w", err)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	if err := writeJSON(filepath.Join(dir, "manifest.json"), m); err != nil {
		return err
	}
	return Replace(filepath.Join(dir, "scenario.yml"), []byte(m.Scenario.Text))
}

// ReadManifest returns the manifest of a folder, finished or not; fs.ErrNotExist if it
// holds nothing.
func ReadManifest(dir string) (*Manifest, error) {
	m := new(Manifest)
	path := filepath.Join(dir, "manifest.json")
	if err := readJSON(path, m); err != nil {
		return nil, fmt.Errorf("open results: %w", err)
	}
	if err := m.Check(); err != nil {
		return nil, fmt.Errorf("open %s: %w", path, err)
	}
	return m, nil
}

// sorted puts results in the order of the scenario's cells, then by seed; cells that
// the scenario does not have come last.
func sorted(s *outcome.Summary, results []outcome.Result) []outcome.Result {
	at := map[string]int{}
	for i := range s.Scenario.Cells {
		at[s.Scenario.Cells[i].ID] = i - len(s.Scenario.Cells)
	}
	out := slices.Clone(results)
	slices.SortStableFunc(out, func(a, b outcome.Result) int {
		return cmp.Or(cmp.Compare(at[a.Cell], at[b.Cell]), cmp.Compare(a.Cell, b.Cell), cmp.Compare(a.Seed, b.Seed))
	})
	return out
}

func resultLines(f *Folder) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	for i := range f.Results {
		if err := e.Encode(&f.Results[i]); err != nil {
			return nil, err
		}
	}
	return b.Bytes(), nil
}

func readResults(path string) ([]outcome.Result, error) {
	b, err := plainfile.Read(path, maxFile)
	if err == nil {
		err = Objects(b)
	}
	if err != nil {
		return nil, fmt.Errorf("open results: %w", err)
	}
	var out []outcome.Result
	for d := json.NewDecoder(bytes.NewReader(b)); d.More(); {
		var r outcome.Result
		if err := d.Decode(&r); err != nil {
			return nil, fmt.Errorf("decode %s, line %d: %w", path, len(out)+1, err)
		}
		out = append(out, r)
	}
	return out, nil
}
