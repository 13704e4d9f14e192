package lab

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/congctl/congctl/internal/lab/outcome"
	"github.com/congctl/congctl/internal/lab/report"
	"github.com/congctl/congctl/internal/lab/scenario"
	"github.com/congctl/congctl/internal/lab/theory"
)

// Folder is where a scenario's runs are kept, one file each, and then its reports.
type Folder struct {
	Scenario *scenario.Scenario // with what the command line changed
	dir      string
	manifest report.Manifest
	wall     report.Wall
	before   float64 // seconds that earlier calls took
	opened   time.Time
	now      func() time.Time
}

// ErrTaken means that the folder holds something, and that resuming was not requested.
var ErrTaken = errors.New("is not empty")

// Create makes a folder for what m describes. An empty one may be there already.
func Create(dir string, m report.Manifest, now func() time.Time) (*Folder, error) {
	if err := free(dir); err != nil {
		return nil, err
	}
	s, err := Scenario(&m)
	if err != nil {
		return nil, err
	}
	if err := report.WriteManifest(dir, m); err != nil {
		return nil, fmt.Errorf("make folder %s: %w", dir, err)
	}
	return &Folder{Scenario: s, dir: dir, manifest: m, now: now, opened: now()}, nil
}

// Resume opens a folder to continue it, if what m describes would give the same bytes.
func Resume(dir string, m report.Manifest, now func() time.Time) (*Folder, error) {
	f, err := Open(dir, now)
	if err != nil {
		return nil, err
	}
	m.HZ = f.manifest.HZ // known only once something ran
	return f, alike(dir, &f.manifest, &m)
}

// free returns an error if a folder holds anything.
func free(dir string) error {
	entries, err := os.ReadDir(dir)
	switch {
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("folder %s: %w", dir, err)
	case len(entries) > 0:
		return fmt.Errorf("folder %s: %w: go on with --resume, or name another --out", dir, ErrTaken)
	}
	return nil
}

// alike returns an error if runs of a folder's manifest are not as those made here.
func alike(dir string, there, here *report.Manifest) error {
	if diff := there.Differences(here); len(diff) > 0 {
		return fmt.Errorf("resume %s: its runs and new ones would not be comparable (there, here):\n  %s\nname another --out",
			dir, strings.Join(diff, "\n  "))
	}
	return nil
}

// Open opens a folder to report from it.
func Open(dir string, now func() time.Time) (*Folder, error) {
	m, err := report.ReadManifest(dir)
	if err != nil {
		return nil, err
	}
	f := &Folder{dir: dir, manifest: *m, now: now, opened: now()}
	if f.Scenario, err = Scenario(m); err != nil {
		return nil, err
	}
	wall, err := report.ReadWall(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	f.wall, f.before = *wall, wall.TotalS
	return f, nil
}

// Keep writes a finished run and its cost.
func (f *Folder) Keep(run *outcome.Run, facts Facts) error {
	if err := report.WriteRun(f.dir, run); err != nil {
		return err
	}
	f.wall.Runs = slices.DeleteFunc(f.wall.Runs, func(w report.WallRun) bool { return w.Cell == run.Cell && w.Seed == run.Seed })
	f.wall.Runs = append(f.wall.Runs, report.WallRun{
		Cell: run.Cell, Seed: run.Seed, WallS: facts.Wall.Seconds(), VirtualS: facts.Virtual.Seconds(), Packets: sent(run),
	})
	f.wall.TotalS = f.before + f.now().Sub(f.opened).Seconds()
	return report.WriteWall(f.dir, f.wall)
}

// Cost returns what all runs of the folder took so far, "" without any.
func (f *Folder) Cost() string { return f.wall.Words() }

// sent counts the packets that left the sender's own queue.
func sent(run *outcome.Run) uint64 {
	for _, h := range run.Hops {
		if slices.Contains(h.Roles, outcome.RoleSender) {
			return h.Packets
		}
	}
	return 0
}

// Kept judges the runs that need not be run again. A broken one is: what broke it
// may have been mended.
func (f *Folder) Kept() (kept []outcome.Result, err error) {
	err = f.each(func(_ *scenario.Cell, run *outcome.Run, r outcome.Result) {
		if run.Error == "" {
			kept = append(kept, r)
		}
	})
	return kept, err
}

// each reads the finished runs in the order of cells and seeds.
func (f *Folder) each(fn func(*scenario.Cell, *outcome.Run, outcome.Result)) error {
	for i := range f.Scenario.Cells {
		c := &f.Scenario.Cells[i]
		var results []outcome.Result
		for more := true; more; more, _ = outcome.NeedsMore(f.Scenario, c, results) {
			run, err := report.ReadRun(f.dir, c.ID, c.Seeds.First+uint64(len(results)))
			if errors.Is(err, fs.ErrNotExist) {
				break
			} else if err != nil {
				return err
			}
			results = append(results, outcome.Judge(f.Scenario, c, run))
			fn(c, run, results[len(results)-1])
		}
	}
	return nil
}

// Write judges what the folder holds and writes all its reports.
func (f *Folder) Write() (*outcome.Summary, error) {
	var results []outcome.Result
	paired := true
	err := f.each(func(_ *scenario.Cell, run *outcome.Run, r outcome.Result) {
		results = append(results, r)
		if run.Error == "" {
			paired = paired && run.Host.PairedLosses
			f.manifest.HZ = run.HZ
		}
	})
	if err != nil {
		return nil, err
	}
	sum := outcome.Summarise(f.Scenario, results, paired && len(results) > 0)
	predict(&sum)
	err = report.Write(f.dir, f.manifest, sum, results, func(cell string, seed uint64) (*outcome.Run, error) {
		return report.ReadRun(f.dir, cell, seed)
	})
	if err != nil {
		return nil, fmt.Errorf("write reports: %w", err)
	}
	return &sum, nil
}

// predict sets the theory of each row beside what was measured.
func predict(sum *outcome.Summary) {
	for i := range sum.Rows {
		row, c := &sum.Rows[i], &sum.Scenario.Cells[i]
		t := theory.Predict(c)
		if row.Goodput != nil {
			t.Verdict = theory.Verdict(t, row.Goodput.Median, c.Flows[0].Cong, c.Path.Loss.MeanPPM()/1e6)
		}
		row.Theory = &t
	}
}
