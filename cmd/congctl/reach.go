//go:build !small

package main

import (
	"context"
	"errors"
	"log/slog"
	"time"
)

// reachAgain is soon enough after a restart of the other side, and no burden to one that is overloaded.
const reachAgain = 5 * time.Second

// reach calls try until it succeeds or ctx ends, since a service that comes up before Kafka or ClickHouse
// does says so and waits. What a person must mend first, as a schema that is not there, it returns.
func reach(ctx context.Context, log *slog.Logger, try func(context.Context) error) error {
	for ctx.Err() == nil {
		err := try(ctx)
		var c *coded
		if err == nil || errors.As(err, &c) && c.code != exitFailed {
			return err
		}
		if ctx.Err() != nil {
			break
		}
		log.Error("try again in "+reachAgain.String(), "err", err)
		select {
		case <-ctx.Done():
		case <-time.After(reachAgain):
		}
	}
	return nil
}
