package popreport

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/congctl/congctl/internal/lab/report"
	"github.com/congctl/congctl/internal/linux/plainfile"
	"github.com/congctl/congctl/internal/loop/config"
	"github.com/congctl/congctl/internal/popday"
	"github.com/congctl/congctl/internal/popday/pop"
)

// Source is what a folder alone cannot provide.
type Source struct {
	Open    func(ctx context.Context, path string) (LoopStore, error)
	Shipped func(day string) ([]byte, bool) // the text of a day that ships with congctl
	Config  func(d *pop.Day, policy string) (config.Config, error)
}

// Read reads all runs of a folder. A folder that itself is a run counts as that run.
func Read(ctx context.Context, dir string, src Source) (*popday.Input, error) {
	runs, err := runsIn(dir)
	if err != nil {
		return nil, fmt.Errorf("read runs: %w", err)
	}
	in := &popday.Input{}
	var text []byte
	for _, run := range runs {
		r, err := readFacts(run)
		if err == nil && in.Day == nil {
			text, in.Assumed, err = dayText(run, r.Facts.Day, src)
			if err == nil {
				err = describe(in, text, src)
			}
			if err == nil && in.Assumed != "" {
				endWith(in.Day, &r.Facts)
			}
		}
		if err == nil {
			err = sameDay(run, text)
		}
		if err == nil {
			r.Responses, err = readResponses(run, len(r.Facts.Networks))
		}
		if err == nil {
			r.Loop, err = readLoop(ctx, filepath.Join(run, popday.StoreFile), in.Day, r.Facts.Policy, src)
		}
		if err != nil {
			return nil, fmt.Errorf("read run %s: %w", filepath.Base(run), err)
		}
		in.Runs = append(in.Runs, *r)
	}
	return in, nil
}

// runsIn returns the folders with a run, by name.
func runsIn(dir string) (runs []string, err error) {
	if _, err := os.Stat(filepath.Join(dir, popday.FactsFile)); err == nil {
		return []string{dir}, nil
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		run := filepath.Join(dir, e.Name())
		if _, err := os.Stat(filepath.Join(run, popday.FactsFile)); err == nil {
			runs = append(runs, run)
		}
	}
	switch {
	case len(runs) > maxRuns:
		return nil, fmt.Errorf("%s: %d runs; at most %d", dir, len(runs), maxRuns)
	case runs == nil:
		return nil, fmt.Errorf("%s: no folder in it has a %s; congctl lab pop writes them", dir, popday.FactsFile)
	}
	return runs, nil
}

// Bounds of a run's files and of their number.
const (
	maxFacts = 8 << 20 // 300 bytes for each network, and 10,000 of them are a large day
	maxDay   = 1 << 20 // written by hand
	maxRatio = 40      // of responses and their pack: they take 5 to 7, and what is made to be large 1,000
	maxRuns  = 1000    // 12 policies of 80 seeds
)

func readFacts(dir string) (*popday.Run, error) {
	b, err := plainfile.Read(filepath.Join(dir, popday.FactsFile), maxFacts)
	if err == nil {
		err = report.Objects(b)
	}
	if err != nil {
		return nil, err
	}
	r := &popday.Run{}
	r.Facts, err = popday.ReadFacts(b)
	return r, err
}

func readResponses(dir string, networks int) ([]popday.Response, error) {
	f, err := plainfile.Open(filepath.Join(dir, popday.ResponsesFile))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	z, err := report.Unpack(f, maxRatio)
	if err != nil {
		return nil, fmt.Errorf("unpack %s: %w", popday.ResponsesFile, err)
	}
	return popday.ReadResponses(z, networks)
}

// dayText reads the text in the run's folder; for older runs it assumes the shipped day of that name.
func dayText(dir, name string, src Source) (text []byte, assumed string, err error) {
	text, err = plainfile.Read(filepath.Join(dir, popday.DayFile), maxDay)
	if !errors.Is(err, fs.ErrNotExist) {
		return text, "", err
	}
	text, ok := src.Shipped(name)
	if !ok {
		return nil, "", fmt.Errorf("find day %s: no %s in the folder, and none of that name comes with congctl", name, popday.DayFile)
	}
	return text, "the day of that name that comes with congctl: the runs' folders have no " + popday.DayFile, nil
}

// endWith ends an assumed day where the run ended, which may be earlier. A run lasts a little
// longer than its day, and less than a window.
func endWith(d *pop.Day, f *popday.Facts) {
	d.EndUs = max(min(d.EndUs, f.DurationUs/d.WindowUs*d.WindowUs), d.WindowUs)
}

// sameDay refuses a run whose folder has a different day's text from the first.
func sameDay(dir string, text []byte) error {
	own, err := plainfile.Read(filepath.Join(dir, popday.DayFile), maxDay)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil && !bytes.Equal(own, text) {
		err = fmt.Errorf("compare %s: differs from that of the other runs", popday.DayFile)
	}
	return err
}

// describe fills in what the day says about itself.
func describe(in *popday.Input, text []byte, src Source) (err error) {
	if in.Day, err = pop.Parse(popday.DayFile, text); err != nil {
		return err
	}
	cfg, err := src.Config(in.Day, popday.Loops[0])
	if err != nil {
		return err
	}
	rules, err := cfg.Rules()
	if err != nil {
		return err
	}
	in.Experiment = popday.Experiment{WindowS: rules.WindowSeconds, BlockS: rules.Trial.BlockSeconds, WashoutS: rules.Trial.WashoutSeconds,
		MinKnown: rules.MinKnown, LowRTTUs: rules.Guards.LowRTTUs, MinBytes: cfg.Treatment.MinBytes}
	list, err := cfg.Differences()
	for _, d := range list {
		if !ofTheLab[d.Key] {
			in.Settings = append(in.Settings, popday.Setting{Key: d.Key, Value: d.Value, Default: d.Default, Scaled: d.Scaled})
		}
	}
	return err
}

// ofTheLab are the keys for where things are in the lab's machine.
var ofTheLab = map[string]bool{"pop": true, "state_dir": true, "socket": true}
