package lab

import (
	"context"
	"time"

	"github.com/congctl/congctl/internal/core/outcome"
	"github.com/congctl/congctl/internal/core/scenario"
)

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
	// Progress may be told how far the cell's own clock is. It may be called from any goroutine.
	Progress func(virtual time.Duration)
}

// Facts is what may differ between two runs of the same job.
type Facts struct {
	Wall    time.Duration // from asking for the world to its report
	Boot    time.Duration // of Wall, until the world's first line; 0 where nothing boots
	Virtual time.Duration // of the world's clock
	CPU     time.Duration // of the host, which on a busy one is less than Wall; 0: not measured
}
