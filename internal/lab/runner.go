package lab

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/congctl/congctl/internal/lab/outcome"
	"github.com/congctl/congctl/internal/lab/scenario"
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

// shift is one call of [Runner.Run]. One goroutine owns it; those of the runs only send
// what they finish.
type shift struct {
	*Runner
	scenario *scenario.Scenario
	kept     map[turn]outcome.Result
	queue    *queue
	running  int
	end      time.Time // of the budget
}

// Run runs what the scenario needs, except what was kept from before. A run that its world
// failed to make is kept like any other, with its error, and the rest continues. When ctx
// ends, it drops the runs in progress and returns the cause.
func (r *Runner) Run(ctx context.Context, s *scenario.Scenario, kept []outcome.Result) error {
	sh := &shift{Runner: r, scenario: s, kept: turns(s, kept), queue: newQueue(s), end: r.Now().Add(r.Budget)}
	return sideBySide(ctx, r.CPUs, sh.next, sh.keep)
}

func turns(s *scenario.Scenario, kept []outcome.Result) map[turn]outcome.Result {
	at := map[turn]outcome.Result{}
	for _, r := range kept {
		if cell := slices.IndexFunc(s.Cells, func(c scenario.Cell) bool { return c.ID == r.Cell }); cell >= 0 {
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

// World builds a cell, runs its flows and tears it down. It ends soon after ctx does.
type World interface {
	Run(ctx context.Context, job Job) (outcome.Run, Facts, error)
}

// Job is one run: a cell with a seed.
type Job struct {
	Cell *scenario.Cell
	Seed uint64
	// CPU of the host that is this job's alone while it runs. It must not show in the run.
	CPU int
	// Limit is the wall time after which the world ends the run as hung.
	Limit time.Duration
	// Progress, if set, gets how far the cell's own clock is. It may be called from any
	// goroutine.
	Progress func(virtual time.Duration)
}

// Facts is what may differ between two runs of the same job.
type Facts struct {
	Wall    time.Duration // from asking for the world to its report
	Virtual time.Duration // of the world's clock
	CPU     time.Duration // of the host, which on a busy one is less than Wall; 0: not measured
}

// turn is a run that is due: the cell's index in the scenario, and which of its seeds.
type turn struct {
	cell, nth int
}

// queue hands out turns: the first seed of all cells, then the second of those
// that need it, and so on, so that a run that is cut short has seen every cell.
//
// A cell's next seed is due once the one before is judged, from this cell's results
// alone: which seeds are run does not depend on how many run at once.
type queue struct {
	scenario *scenario.Scenario
	waiting  []turn
	results  [][]outcome.Result // by cell, then seed
	last     bool               // no further seeds: the budget is spent
}

func newQueue(s *scenario.Scenario) *queue {
	q := &queue{scenario: s, results: make([][]outcome.Result, len(s.Cells))}
	for cell := range s.Cells {
		q.waiting = append(q.waiting, turn{cell, 0})
	}
	return q
}

// next returns the turn that is due, false if none is.
func (q *queue) next() (turn, bool) {
	if len(q.waiting) == 0 {
		return turn{}, false
	}
	t := q.waiting[0]
	q.waiting = q.waiting[1:]
	return t, true
}

func (q *queue) cell(t turn) *scenario.Cell { return &q.scenario.Cells[t.cell] }
func (q *queue) seed(t turn) uint64         { return q.cell(t).Seeds.First + uint64(t.nth) }

// judged takes the result of a turn and makes the cell's next one due, if it needs one.
func (q *queue) judged(t turn, r outcome.Result) {
	results := append(q.results[t.cell], r)
	q.results[t.cell] = results
	if more, _ := outcome.NeedsMore(q.scenario, q.cell(t), results); !more || q.last {
		return
	}
	next := turn{t.cell, t.nth + 1}
	at, _ := slices.BinarySearchFunc(q.waiting, next, func(a, b turn) int {
		return cmp.Or(cmp.Compare(a.nth, b.nth), cmp.Compare(a.cell, b.cell))
	})
	q.waiting = slices.Insert(q.waiting, at, next)
}

// onlyFirst drops whatever is not the first run of a cell.
func (q *queue) onlyFirst() {
	q.last = true
	q.waiting = slices.DeleteFunc(q.waiting, func(t turn) bool { return t.nth > 0 })
}

// left returns how many runs are due or, as far as the scenario determines it, will be.
func (q *queue) left() int {
	n := len(q.waiting)
	for _, t := range q.waiting {
		if !q.last {
			n += max(q.cell(t).Seeds.Count-1-t.nth, 0)
		}
	}
	return n
}

// sideBySide runs what next hands out, one at a time on each CPU, and passes the results
// to take. It calls both from this goroutine only, and next again after each take. It ends
// when nothing runs and nothing is due. When ctx ends, or take refuses, it drops the runs
// in progress and returns the cause.
func sideBySide[T any](ctx context.Context, cpus []int, next func() (run func(ctx context.Context, cpu int) T, due bool), take func(T) error) error {
	type finished struct {
		cpu int
		of  T
	}
	free, results := slices.Clone(cpus), make(chan finished)
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	for {
		for len(free) > 0 && ctx.Err() == nil {
			run, due := next()
			if !due {
				break
			}
			cpu := free[0]
			free = free[1:]
			go func() { results <- finished{cpu, run(ctx, cpu)} }()
		}
		if len(free) == len(cpus) {
			return context.Cause(ctx)
		}
		f := <-results
		free = append(free, f.cpu)
		if ctx.Err() != nil {
			continue // what was cut short is no result
		}
		if err := take(f.of); err != nil {
			cancel(err)
		}
	}
}
