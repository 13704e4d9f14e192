package lab

import (
	"context"
	"slices"
)

// sideBySide runs what next hands out, one at a time on each CPU, and gives what comes
// of it to take. Both are called from this goroutine only; next is asked again after
// each take. It ends when nothing runs and nothing is due. When ctx ends, or take
// refuses, the runs in progress are dropped and the cause is returned.
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
