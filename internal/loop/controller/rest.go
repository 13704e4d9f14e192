package controller

import (
	"context"
	"io"

	"github.com/congctl/congctl/internal/loop/policy"
)

// Shelf is where an engine's measurements lie between rounds: a file that no other process reads.
type Shelf interface {
	io.WriterAt
	io.ReaderAt
}

// Rest lays the engine's measurements down until a round or a question needs them. Without Options.Shelf it does
// nothing; after an error they stay in memory.
func (c *Controller) Rest() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.opt.Shelf == nil || c.engine.Resting() {
		return nil
	}
	c.toDecide = c.engine.WindowsToDecide()
	return c.engine.Rest(c.opt.Shelf)
}

// awake returns the engine with its measurements. What the shelf lost is in the store.
func (c *Controller) awake(ctx context.Context) (*policy.Engine, error) {
	if !c.engine.Resting() {
		return c.engine, nil
	}
	err := c.engine.Wake(c.opt.Shelf)
	if err == nil {
		return c.engine, nil
	}
	c.log.Error("the state is made of the store again", "err", err)
	again, err := Replay(ctx, c.store, c.opt.engine(c.salt), c.now())
	if err == nil {
		c.engine = again
	}
	return again, err
}

// asked is awake for a question, which changes nothing: done lays down what was laid down before, but for a question that
// has not ended.
func (c *Controller) asked(ctx context.Context) (e *policy.Engine, done func(), err error) {
	e, err = c.awake(ctx)
	return e, c.doze, err
}

func (c *Controller) doze() {
	if c.turns == 0 {
		c.engine.Doze()
	}
}

// inTurns begins a question that lets go of the lock in between, and returns what ends it.
func (c *Controller) inTurns() (end func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.turns++
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.turns--
		c.doze()
	}
}

// windowsToDecide is the engine's; while it rests, as it was then.
func (c *Controller) windowsToDecide() int {
	if c.engine.Resting() {
		return c.toDecide
	}
	return c.engine.WindowsToDecide()
}
