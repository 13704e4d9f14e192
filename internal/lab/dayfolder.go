package lab

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/congctl/congctl/internal/lab/report"
)

// DayFolder keeps the runs of a day: each in its own folder, which exists whole or not at
// all, with a manifest of what made it. One run alone is the folder itself.
type DayFolder struct {
	dir      string
	alone    bool
	manifest func(DayRun) report.Manifest
}

// OpenDays finds the folder for some runs, and those of them that are finished. They
// must have been made by what manifest describes; without resume nothing may be there yet.
func OpenDays(dir string, runs []DayRun, manifest func(DayRun) report.Manifest, resume bool) (f *DayFolder, kept []DayRun, err error) {
	f = &DayFolder{filepath.Clean(dir), len(runs) == 1, manifest}
	if err := free(dir); err != nil && !(resume && errors.Is(err, ErrTaken)) {
		return nil, nil, err
	}
	if _, err := report.ReadManifest(dir); err == nil && !f.alone {
		return nil, nil, fmt.Errorf("folder %s: holds a single run: name another --out", dir)
	}
	for _, r := range runs {
		ok, err := f.holds(r)
		if err != nil {
			return nil, nil, err
		}
		if ok {
			kept = append(kept, r)
		}
	}
	return f, kept, nil
}

// Path of a run's folder.
func (f *DayFolder) Path(r DayRun) string {
	if f.alone {
		return f.dir
	}
	return filepath.Join(f.dir, r.String())
}

// holds reports whether a run is finished. A run made by anything else is an error.
func (f *DayFolder) holds(r DayRun) (bool, error) {
	path := f.Path(r)
	if entries, err := os.ReadDir(path); errors.Is(err, fs.ErrNotExist) || (err == nil && len(entries) == 0) {
		return false, nil
	}
	there, err := report.ReadManifest(path)
	if err != nil {
		return false, fmt.Errorf("resume %s: not a finished run: %w", path, err)
	}
	here := f.manifest(r)
	return true, alike(path, there, &here)
}

// Keep makes a run's folder from its manifest and what fill puts into it.
func (f *DayFolder) Keep(r DayRun, fill func(dir string) error) error {
	path := f.Path(r)
	part := filepath.Join(filepath.Dir(path), "."+filepath.Base(path)+".part")
	err := os.RemoveAll(part) // of a run that was interrupted right here
	if err == nil {
		err = report.WriteManifest(part, f.manifest(r))
	}
	if err == nil {
		err = fill(part)
	}
	if err == nil {
		err = os.Rename(part, path)
	}
	if err != nil {
		return errors.Join(err, os.RemoveAll(part))
	}
	return nil
}
