package popreport

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/congctl/congctl/internal/app/config"
	"github.com/congctl/congctl/internal/core/pop"
	"github.com/congctl/congctl/internal/core/popday"
)

// Files of a run's folder.
const (
	FactsFile     = "facts.json"
	ResponsesFile = "responses.jsonl.gz"
	StoreFile     = "store.sqlite"
	DayFile       = "scenario.yml" // the day's text
)

// Source is what a folder alone cannot tell.
type Source struct {
	Open    func(ctx context.Context, path string) (Store, error)
	Shipped func(day string) ([]byte, bool) // the text of a day that comes with congctl
	Config  func(*pop.Day) (config.Config, error)
}

// Read reads all runs of a folder. One that holds a run itself is that run.
func Read(ctx context.Context, dir string, src Source) (*popday.Input, error) {
	runs, err := runsIn(dir)
	if err != nil {
		return nil, fmt.Errorf("read runs: %w", err)
	}
	in := &popday.Input{}
	var cfg config.Config
	var text []byte
	for _, run := range runs {
		r, err := readRun(run)
		if err == nil && in.Day == nil {
			text, in.Assumed, err = dayText(run, r.Facts.Day, src)
			if err == nil {
				cfg, err = describe(in, text, src)
			}
			if err == nil && in.Assumed != "" {
				endWith(in.Day, &r.Facts)
			}
		}
		if err == nil {
			err = sameDay(run, text)
		}
		if err == nil {
			r.Loop, err = readLoop(ctx, filepath.Join(run, StoreFile), cfg, r.Facts.Policy, src)
		}
		if err != nil {
			return nil, fmt.Errorf("read run %s: %w", filepath.Base(run), err)
		}
		in.Runs = append(in.Runs, *r)
	}
	return in, nil
}

// runsIn are the folders with a run, by name.
func runsIn(dir string) (runs []string, err error) {
	if _, err := os.Stat(filepath.Join(dir, FactsFile)); err == nil {
		return []string{dir}, nil
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		run := filepath.Join(dir, e.Name())
		if _, err := os.Stat(filepath.Join(run, FactsFile)); err == nil {
			runs = append(runs, run)
		}
	}
	if runs == nil {
		return nil, fmt.Errorf("%s: no folder in it has a %s; congctl lab pop writes them", dir, FactsFile)
	}
	return runs, nil
}

func readRun(dir string) (*popday.Run, error) {
	b, err := os.ReadFile(filepath.Join(dir, FactsFile))
	if err != nil {
		return nil, err
	}
	r := &popday.Run{}
	if r.Facts, err = popday.ReadFacts(b); err != nil {
		return nil, err
	}
	f, err := os.Open(filepath.Join(dir, ResponsesFile))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		return nil, fmt.Errorf("unpack %s: %w", ResponsesFile, err)
	}
	r.Responses, err = popday.ReadResponses(z, len(r.Facts.Networks))
	return r, err
}

// dayText is in the run's folder; of older ones the shipped day of that name is assumed.
func dayText(dir, name string, src Source) (text []byte, assumed string, err error) {
	text, err = os.ReadFile(filepath.Join(dir, DayFile))
	if !errors.Is(err, fs.ErrNotExist) {
		return text, "", err
	}
	text, ok := src.Shipped(name)
	if !ok {
		return nil, "", fmt.Errorf("find day %s: no %s in the folder, and none of that name comes with congctl", name, DayFile)
	}
	return text, "the day of that name that comes with congctl: the runs' folders have no " + DayFile, nil
}

// endWith ends an assumed day where the run did: it may have been ended earlier. A run
// lasts a little longer than its day, and less than a window.
func endWith(d *pop.Day, f *popday.Facts) {
	d.EndUs = max(min(d.EndUs, f.DurationUs/d.WindowUs*d.WindowUs), d.WindowUs)
}

// sameDay refuses a run whose folder has another day's text than the first.
func sameDay(dir string, text []byte) error {
	own, err := os.ReadFile(filepath.Join(dir, DayFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil && !bytes.Equal(own, text) {
		err = fmt.Errorf("compare %s: not the one of the other runs", DayFile)
	}
	return err
}

// describe fills what the day says of itself.
func describe(in *popday.Input, text []byte, src Source) (cfg config.Config, err error) {
	if in.Day, err = pop.Parse(DayFile, text); err != nil {
		return cfg, err
	}
	if cfg, err = src.Config(in.Day); err != nil {
		return cfg, err
	}
	rules, err := cfg.Rules()
	if err != nil {
		return cfg, err
	}
	in.Experiment = popday.Experiment{WindowS: rules.WindowSeconds, BlockS: rules.Trial.BlockSeconds, WashoutS: rules.Trial.WashoutSeconds,
		MinKnown: rules.MinKnown, LowRTTUs: rules.Guards.LowRTTUs, MinBytes: cfg.Treatment.MinBytes}
	list, err := cfg.Differences()
	for _, d := range list {
		if !ofTheLab[d.Key] {
			in.Settings = append(in.Settings, popday.Setting{Key: d.Key, Value: d.Value, Default: d.Default, Scaled: d.Scaled})
		}
	}
	return cfg, err
}

// ofTheLab are the keys that say where things are in its machine.
var ofTheLab = map[string]bool{"pop": true, "state_dir": true, "socket": true}
