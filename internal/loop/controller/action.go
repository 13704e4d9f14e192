package controller

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/congctl/congctl/internal/loop/journal"
)

// Stop is the kill switch: no new treatment from the next callback on until Resume. It
// survives a restart. evict moves treated connections back to the default.
func (c *Controller) Stop(ctx context.Context, evict bool, by string) error {
	// The kernel comes first, before anything that may wait: an operator that stops wants it
	// now, and a full or busy store must not delay it.
	c.host.Kill(true)
	// Stopped is stopped: a client that has gone must not keep it from the store.
	if err := c.stopped(context.WithoutCancel(ctx), by); err != nil {
		return fmt.Errorf("treatment is stopped, but the next start will not know of it: %w", err)
	}
	if !evict {
		return nil
	}
	return c.Evict(ctx, by)
}

// Evict moves the treated connections of a stopped host back to the default.
func (c *Controller) Evict(ctx context.Context, by string) error {
	// Without the lock: the agent's loop does this, and may be waiting for us in a round.
	n, err := c.host.Evict(ctx)
	if err != nil {
		err = fmt.Errorf("treatment is stopped, but not all connections were moved back: %w", err)
	}
	return errors.Join(err, c.Tell(context.WithoutCancel(ctx), "evict", fmt.Sprintf("treated connections moved back: %d, by %s", n, by)))
}

func (c *Controller) stopped(ctx context.Context, by string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.killed = true
	c.host.Kill(true) // again: a Resume that held the lock has undone Stop's own
	return c.commit(ctx, Stopped.By(by, c.now()))
}

// Resume undoes Stop.
func (c *Controller) Resume(ctx context.Context, by string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.commit(ctx, Resumed.By(by, c.now())); err != nil {
		return fmt.Errorf("treatment stays as it is, since the next start would not know of the resume: %w", err)
	}
	c.killed = false
	c.host.Kill(false)
	return nil
}

// Freeze holds the plan as it is; Unfreeze lets rounds change it again.
func (c *Controller) Freeze(ctx context.Context, by string) error {
	return c.setFrozen(ctx, Frozen, by)
}

// Unfreeze undoes Freeze.
func (c *Controller) Unfreeze(ctx context.Context, by string) error {
	return c.setFrozen(ctx, Unfrozen, by)
}

func (c *Controller) setFrozen(ctx context.Context, f Flag, by string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.commit(ctx, f.By(by, c.now())); err != nil {
		return err
	}
	c.freeze(f.on, by)
	return nil
}

// freeze is for who holds the lock and has kept the flag.
func (c *Controller) freeze(on bool, by string) {
	c.frozen = on
	if f, ok := c.host.(Fleet); ok {
		f.Freeze(on, by)
	}
}

// Flag is what an operator sets, with the event that names the operator.
type Flag struct {
	key        string
	on         bool
	kind, text string
}

// The flags. A verb keeps one by itself only where no congctl runs.
var (
	Stopped  = Flag{journal.SettingKilled, true, kindStop, "no new treatment, by "}
	Resumed  = Flag{journal.SettingKilled, false, "resume", "treatment resumed by "}
	Frozen   = Flag{journal.SettingFrozen, true, "freeze", "plan frozen by "}
	Unfrozen = Flag{journal.SettingFrozen, false, "unfreeze", "plan unfrozen by "}
)

// By is what the store keeps of a flag that an operator sets.
func (f Flag) By(by string, now time.Time) *journal.Commit {
	value := []byte("0")
	if f.on {
		value = []byte("1")
	}
	return &journal.Commit{
		Settings: map[string][]byte{f.key: value},
		Events:   []journal.Event{{At: now.Unix(), Kind: f.kind, Text: f.text + by}},
	}
}
