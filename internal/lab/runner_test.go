package lab

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/congctl/congctl/internal/lab/outcome"
)

// desk is a runner on a fake world, with what it kept.
type desk struct {
	Runner
	kept []outcome.Run
}

func newDesk(w World, cpus ...int) *desk {
	d := &desk{Runner: Runner{World: w, CPUs: cpus, Limit: time.Minute, Now: time.Now}}
	d.Meter = NewMeter("fake", io.Discard, false, time.Now)
	d.Keep = func(r *outcome.Run, _ Facts) error {
		d.kept = append(d.kept, *r)
		return nil
	}
	return d
}

// sorted are the kept runs in the order of cells and seeds.
func (d *desk) sorted() []outcome.Run {
	return slices.SortedFunc(slices.Values(d.kept), func(a, b outcome.Run) int {
		return cmp.Or(cmp.Compare(a.Cell, b.Cell), cmp.Compare(a.Seed, b.Seed))
	})
}

func TestFirstSeedOfAllCellsComesFirst(t *testing.T) {
	w := &fakeWorld{}
	if err := newDesk(w, 0).Run(t.Context(), fakeScenario(t, "first: 5, count: 2"), nil); err != nil {
		t.Fatal(err)
	}
	var want []string
	for _, seed := range []int{5, 6} {
		for _, cell := range []string{"loss=0%/cubic", "loss=0%/bbr", "loss=0%/reno", "loss=1%/cubic", "loss=1%/bbr", "loss=1%/reno"} {
			want = append(want, fmt.Sprintf("%s/%d", cell, seed))
		}
	}
	if !slices.Equal(w.order, want) {
		t.Errorf("order: %s", strings.Join(w.order, " "))
	}
}

// What runs must not depend on how many run at once.
func TestSideBySideGivesTheSame(t *testing.T) {
	s := fakeScenario(t, "count: 3, max: 12, half_width: 5%")
	var want []outcome.Run
	for _, cpus := range [][]int{{0}, {4, 9}, {0, 1, 2, 3, 4, 5, 6}} {
		w := &fakeWorld{}
		d := newDesk(w, cpus...)
		if err := d.Run(t.Context(), s, nil); err != nil {
			t.Fatal(err)
		}
		if w.shared || w.most > len(cpus) {
			t.Errorf("CPUs %v: %d at once, one CPU shared: %t", cpus, w.most, w.shared)
		}
		if want == nil {
			want = d.sorted()
		}
		if got := d.sorted(); !reflect.DeepEqual(got, want) {
			t.Errorf("CPUs %v: %d runs, with one %d", cpus, len(got), len(want))
		}
	}
	runs := map[string]int{}
	for _, r := range want {
		runs[r.Cell]++
	}
	if runs["loss=0%/cubic"] != 3 || runs["loss=1%/bbr"] != 12 {
		t.Errorf("a steady cell ran %d times, a scattered one %d times", runs["loss=0%/cubic"], runs["loss=1%/bbr"])
	}
}

func TestBrokenRunIsAResultAndTheRestGoesOn(t *testing.T) {
	w := &fakeWorld{broken: map[string]error{"loss=0%/bbr/2": errors.New("guest panicked: Oops")}}
	d := newDesk(w, 0, 1)
	if err := d.Run(t.Context(), fakeScenario(t, "count: 3"), nil); err != nil {
		t.Fatal(err)
	}
	runs := map[string]int{}
	for _, r := range d.kept {
		runs[r.Cell]++
		if broke := r.Error != ""; broke != (r.Cell == "loss=0%/bbr" && r.Seed == 2) {
			t.Errorf("%s seed %d: error %q", r.Cell, r.Seed, r.Error)
		}
	}
	if len(runs) != 6 || runs["loss=0%/cubic"] != 3 || runs["loss=0%/bbr"] != 2 {
		t.Errorf("runs: %v", runs)
	}
}

func TestInterruptedKeepsWhatIsFinished(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	w := &fakeWorld{began: make(chan string), hold: []string{"loss=0%/bbr/1", "loss=1%/cubic/1"}}
	d := newDesk(w, 0, 1)
	stopped := errors.New("interrupted")
	go func() {
		for got := range w.began {
			if got == "loss=1%/cubic/1" {
				cancel(stopped) // loss=0%/bbr is still held
			}
		}
	}()
	if err := d.Run(ctx, fakeScenario(t, "count: 2"), nil); !errors.Is(err, stopped) {
		t.Fatalf("run: %v", err)
	}
	close(w.began)
	if got := d.sorted(); len(got) != 2 || got[0].Cell != "loss=0%/cubic" || got[1].Cell != "loss=0%/reno" || got[0].Error+got[1].Error != "" {
		t.Errorf("kept %+v", got)
	}
}

func TestSpentBudgetLeavesOneRunOfEachCell(t *testing.T) {
	now := time.Unix(0, 0)
	d := newDesk(&fakeWorld{}, 0)
	d.Budget = 2 * time.Minute
	d.Now = func() time.Time { now = now.Add(time.Minute); return now }
	if err := d.Run(t.Context(), fakeScenario(t, "count: 5"), nil); err != nil {
		t.Fatal(err)
	}
	if len(d.kept) != 6 || d.kept[5].Seed != 1 {
		t.Errorf("kept %+v", d.kept)
	}
}

func TestFullDiskEndsTheRun(t *testing.T) {
	full := errors.New("no space left on device")
	d := newDesk(&fakeWorld{}, 0, 1)
	d.Keep = func(*outcome.Run, Facts) error { return full }
	if err := d.Run(t.Context(), fakeScenario(t, "count: 9"), nil); !errors.Is(err, full) {
		t.Errorf("run: %v", err)
	}
}
