package lab

import (
	"context"
	"fmt"
	"time"

	"github.com/congctl/congctl/internal/core/outcome"
	"github.com/congctl/congctl/internal/core/scenario"
)

// Runner runs a scenario.
type Runner struct {
	World World
	CPUs  []int         // of the host; one run at a time on each
	Limit time.Duration // wall time of a run, see [Job.Limit]
	// Budget is the wall time after which only the first run of each cell is still
	// begun; 0: no end.
	Budget time.Duration
	// Keep writes a finished run where an interruption leaves it. One at a time.
	Keep  func(*outcome.Run, Facts) error
	Meter *Meter
	Now   func() time.Time
}

// finished is a run on its way from its goroutine to the runner's.
type finished struct {
	turn  turn
	run   *outcome.Run
	facts Facts
}

// shift is one call of [Runner.Run]. One goroutine owns it; those of the runs only
// send what they finish.
type shift struct {
	*Runner
	scenario *scenario.Scenario
	kept     map[turn]outcome.Result
	queue    *queue
	running  int
	end      time.Time // of the budget
}

// Run runs what the scenario asks for, but for what was kept from before. A run
// that its world failed to make is kept like any other, with its error, and the
// rest goes on. When ctx ends, the runs in progress are dropped and its cause returned.
func (r *Runner) Run(ctx context.Context, s *scenario.Scenario, kept []outcome.Result) error {
	sh := &shift{Runner: r, scenario: s, kept: turns(s, kept), queue: newQueue(s), end: r.Now().Add(r.Budget)}
	return sideBySide(ctx, r.CPUs, sh.next, sh.keep)
}

func turns(s *scenario.Scenario, kept []outcome.Result) map[turn]outcome.Result {
	byID := map[string]int{}
	for i := range s.Cells {
		byID[s.Cells[i].ID] = i
	}
	at := map[turn]outcome.Result{}
	for _, r := range kept {
		if cell, ok := byID[r.Cell]; ok {
			at[turn{cell, int(r.Seed - s.Cells[cell].Seeds.First)}] = r
		}
	}
	return at
}

// next begins the run that is due.
func (sh *shift) next() (func(context.Context, int) finished, bool) {
	if sh.Budget > 0 && !sh.Now().Before(sh.end) {
		sh.queue.onlyFirst()
	}
	for {
		t, ok := sh.queue.next()
		if !ok {
			return nil, false
		}
		if r, ok := sh.kept[t]; ok {
			sh.take(t, r, Facts{})
			continue
		}
		sh.running++
		job := Job{Cell: sh.queue.cell(t), Seed: sh.queue.seed(t), Limit: sh.Limit, Progress: sh.Meter.begin(t, sh.left())}
		return func(ctx context.Context, cpu int) finished {
			job.CPU = cpu
			run, facts := sh.runOne(ctx, job)
			return finished{t, run, facts}
		}, true
	}
}

func (sh *shift) left() int { return sh.queue.left() + sh.running }

func (sh *shift) runOne(ctx context.Context, job Job) (*outcome.Run, Facts) {
	began := sh.Now()
	run, facts, err := sh.World.Run(ctx, job)
	facts.Wall = sh.Now().Sub(began)
	run.Schema, run.Cell, run.Seed = 1, job.Cell.ID, job.Seed
	if err != nil {
		run.Error = err.Error()
	}
	return &run, facts
}

// keep writes a finished run and takes its result.
func (sh *shift) keep(f finished) error {
	sh.running--
	if err := sh.Keep(f.run, f.facts); err != nil {
		return fmt.Errorf("keep run of %s: %w", f.run.Cell, err)
	}
	sh.take(f.turn, outcome.Judge(sh.scenario, &sh.scenario.Cells[f.turn.cell], f.run), f.facts)
	return nil
}

func (sh *shift) take(t turn, r outcome.Result, facts Facts) {
	sh.queue.judged(t, r)
	sh.Meter.end(t, r, facts, sh.left())
}
