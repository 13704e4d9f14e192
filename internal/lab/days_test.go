package lab

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/congctl/congctl/internal/lab/report"
)

// fakeDays lets days pass at once, but for those that it holds or breaks.
type fakeDays struct {
	mu     sync.Mutex
	onCPU  map[int]string
	shared bool
	hold   string
	broken map[string]error
	began  chan string // if not nil
}

func (w *fakeDays) RunDay(ctx context.Context, job DayJob) ([]byte, Facts, error) {
	w.mu.Lock()
	if w.onCPU == nil {
		w.onCPU = map[int]string{}
	}
	_, taken := w.onCPU[job.CPU]
	w.shared = w.shared || taken
	w.onCPU[job.CPU] = job.DayRun.String()
	w.mu.Unlock()
	defer func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		delete(w.onCPU, job.CPU)
	}()
	if w.began != nil {
		w.began <- job.DayRun.String()
	}
	if w.hold == job.DayRun.String() {
		<-ctx.Done()
		return nil, Facts{}, errors.New("guest ended")
	}
	job.Progress(Progress{At: time.Hour, End: 4 * time.Hour, Selected: NoSelection})
	return []byte(job.DayRun.String()), Facts{Virtual: 4 * time.Hour}, w.broken[job.DayRun.String()]
}

func daysOn(w DayWorld, runs int, cpus ...int) (d *Days, kept *[]string) {
	kept = new([]string)
	return &Days{World: w, CPUs: cpus, Limit: time.Minute, Now: time.Now, Meter: NewDayMeter(runs, io.Discard, false, 0, time.Now),
		Keep: func(r DayRun, archive []byte) error {
			if string(archive) != r.String() {
				return fmt.Errorf("archive of %s is %s", r, archive)
			}
			*kept = append(*kept, r.String())
			return nil
		}}, kept
}

var four = DayRuns([]string{"cubic", "loop"}, 5, 2)

func TestFirstSeedOfEveryPolicyComesFirst(t *testing.T) {
	if got := fmt.Sprint(four); got != "[cubic-5 loop-5 cubic-6 loop-6]" {
		t.Error(got)
	}
	w := &fakeDays{}
	d, kept := daysOn(w, 4, 0)
	if err := d.Run(t.Context(), four, nil); err != nil || fmt.Sprint(*kept) != fmt.Sprint(four) {
		t.Errorf("kept %v: %v", *kept, err)
	}
	d, kept = daysOn(w, 4, 0, 1, 2)
	if err := d.Run(t.Context(), four, four[1:3]); err != nil || w.shared {
		t.Errorf("a CPU shared: %t: %v", w.shared, err)
	}
	if slices.Sort(*kept); fmt.Sprint(*kept) != "[cubic-5 loop-6]" {
		t.Errorf("kept %v", *kept)
	}
}

// TestBrokenDayIsTold: the others pass, and what is told begins with the run's name.
func TestBrokenDayIsTold(t *testing.T) {
	d, kept := daysOn(&fakeDays{broken: map[string]error{"cubic-5": errors.New("guest panicked")}}, 4, 0, 1)
	err := d.Run(t.Context(), four, nil)
	if err == nil || err.Error() != "cubic-5: guest panicked" || len(*kept) != 3 {
		t.Errorf("kept %v: %v", *kept, err)
	}
}

func TestInterruptedKeepsFinishedDays(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	w := &fakeDays{began: make(chan string), hold: "cubic-6"}
	d, kept := daysOn(w, 4, 0)
	stopped := errors.New("interrupted")
	go func() {
		for r := range w.began {
			if r == w.hold {
				cancel(stopped)
			}
		}
	}()
	if err := d.Run(ctx, four, nil); !errors.Is(err, stopped) || fmt.Sprint(*kept) != "[cubic-5 loop-5]" {
		t.Errorf("kept %v: %v", *kept, err)
	}
	close(w.began)
}

func TestFullDiskEndsTheDays(t *testing.T) {
	full := errors.New("no space left on device")
	d, _ := daysOn(&fakeDays{}, 4, 0)
	d.Keep = func(DayRun, []byte) error { return full }
	if err := d.Run(t.Context(), four, nil); !errors.Is(err, full) {
		t.Error(err)
	}
}

// dayManifest is of a day that another program or text makes another one.
func dayManifest(program, text string) func(DayRun) report.Manifest {
	return func(r DayRun) report.Manifest {
		m := report.Manifest{Format: report.Format, World: "pop", Cells: []string{r.Policy}, Scenario: report.NewText("x.yml", []byte(text)),
			Congctl: report.Binary{Version: "devel", SHA256: program}}
		m.Seeds.First, m.Seeds.Count = r.Seed, 1
		return m
	}
}

func keepDay(t *testing.T, f *DayFolder, r DayRun) {
	t.Helper()
	err := f.Keep(r, func(dir string) error { return os.WriteFile(filepath.Join(dir, "facts.json"), []byte("{}"), 0o600) })
	if err != nil {
		t.Fatal(err)
	}
}

func TestDayFolder(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "out") + "/"
	open := func(runs []DayRun, program, text string, resume bool) (*DayFolder, string) {
		f, kept, err := OpenDays(dir, runs, dayManifest(program, text), resume)
		if err != nil {
			return nil, err.Error()
		}
		return f, fmt.Sprint(kept)
	}
	f, kept := open(four, "00", "a", false)
	if kept != "[]" {
		t.Fatal(kept)
	}
	full := errors.New("full")
	if err := f.Keep(four[3], func(string) error { return full }); !errors.Is(err, full) {
		t.Errorf("keep: %v", err)
	}
	keepDay(t, f, four[0])
	keepDay(t, f, four[3])
	if entries, _ := os.ReadDir(dir); len(entries) != 2 {
		t.Errorf("in the folder: %v", entries)
	}
	for _, c := range []struct {
		runs          []DayRun
		program, text string
		resume        bool
		want          string
	}{
		{four, "00", "a", true, "[cubic-5 loop-6]"},
		{DayRuns([]string{"bbr", "loop"}, 6, 1), "00", "a", true, "[loop-6]"}, // more policies, fewer seeds
		{four, "00", "a", false, "is not empty"},
		{four, "11", "a", true, "congctl: devel 00, devel 11"},
		{four, "00", "b", true, "scenario: x.yml"},
		{four[:1], "00", "a", true, "not a finished run"},
	} {
		if _, got := open(c.runs, c.program, c.text, c.resume); !strings.Contains(got, c.want) {
			t.Errorf("%+v: %s", c, got)
		}
	}
}

// TestSingleDayIsTheFolder: a run alone has no folder of its own in it.
func TestSingleDayIsTheFolder(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "out")
	f, _, err := OpenDays(dir, four[:1], dayManifest("00", "a"), false)
	if err != nil {
		t.Fatal(err)
	}
	keepDay(t, f, four[0])
	if _, err := os.Stat(filepath.Join(dir, "facts.json")); err != nil {
		t.Error(err)
	}
	if _, kept, err := OpenDays(dir, four[:1], dayManifest("00", "a"), true); err != nil || len(kept) != 1 {
		t.Errorf("kept %v: %v", kept, err)
	}
	for want, runs := range map[string][]DayRun{"cells: [cubic], [loop]": four[1:2], "holds a single run": four} {
		if _, _, err := OpenDays(dir, runs, dayManifest("00", "a"), true); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v", runs, err)
		}
	}
}
