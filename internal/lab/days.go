package lab

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
)

// DayRun is a day of a point of presence under a policy, with a seed.
type DayRun struct {
	Policy string
	Seed   uint64
}

// String names the run and its folder.
func (r DayRun) String() string { return fmt.Sprintf("%s-%d", r.Policy, r.Seed) }

// DayRuns returns the runs of all policies with all seeds: the first seed of every policy
// comes first, so that an interrupted set can be compared.
func DayRuns(policies []string, first uint64, seeds int) (runs []DayRun) {
	for i := range seeds {
		for _, p := range policies {
			runs = append(runs, DayRun{p, first + uint64(i)})
		}
	}
	return runs
}

// Progress is how far a day is.
type Progress struct {
	At, End  time.Duration // of the day
	Selected int           // client networks that congctl has selected now, or NoSelection
}

// NoSelection means that nothing selects: there is no congctl, or it has not had a round yet.
const NoSelection = -1

// DayJob is a run with its place.
type DayJob struct {
	DayRun
	CPU   int           // of the host, this run's alone
	Limit time.Duration // wall time after which the world ends the run as hung
	// Progress gets how far the day is, Note what else happens. Both may be called from
	// any goroutine.
	Progress func(Progress)
	Note     func(string)
}

// DayWorld lets a day pass. It ends soon after ctx does.
type DayWorld interface {
	RunDay(ctx context.Context, job DayJob) (archive []byte, facts Facts, err error)
}

// Days runs a day under several policies and seeds.
type Days struct {
	World DayWorld
	CPUs  []int // of the host; one run at a time on each
	Limit time.Duration
	// Keep writes a finished run where an interruption leaves it. One at a time.
	Keep  func(r DayRun, archive []byte) error
	Meter *DayMeter
	Now   func() time.Time
}

// passed is a day that has passed, or not.
type passed struct {
	DayRun
	archive []byte
	facts   Facts
	err     error
}

// Run runs what was not kept from before. It reports a failed run and continues with the
// others; the error has all failures. When ctx ends, it drops the runs in progress and
// returns the cause.
func (d *Days) Run(ctx context.Context, runs, kept []DayRun) error {
	for _, r := range kept {
		d.Meter.end(passed{DayRun: r})
	}
	due := slices.DeleteFunc(slices.Clone(runs), func(r DayRun) bool { return slices.Contains(kept, r) })
	var broken []error
	next := func() (func(context.Context, int) passed, bool) {
		if len(due) == 0 {
			return nil, false
		}
		job := DayJob{DayRun: due[0], Limit: d.Limit}
		due = due[1:]
		job.Progress, job.Note = d.Meter.begin(job.DayRun)
		return func(ctx context.Context, cpu int) passed {
			job.CPU = cpu
			return d.pass(ctx, job)
		}, true
	}
	take := func(p passed) error {
		if p.err == nil {
			if err := d.Keep(p.DayRun, p.archive); err != nil {
				return fmt.Errorf("keep day %s: %w", p.DayRun, err)
			}
		} else {
			broken = append(broken, fmt.Errorf("%s: %w", p.DayRun, p.err))
		}
		d.Meter.end(p)
		return nil
	}
	if err := sideBySide(ctx, d.CPUs, next, take); err != nil {
		return err
	}
	return errors.Join(broken...)
}

func (d *Days) pass(ctx context.Context, job DayJob) passed {
	began := d.Now()
	archive, facts, err := d.World.RunDay(ctx, job)
	facts.Wall = d.Now().Sub(began)
	return passed{job.DayRun, archive, facts, err}
}
