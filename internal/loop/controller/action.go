package controller

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/congctl/congctl/internal/loop/control"
	"github.com/congctl/congctl/internal/loop/journal"
	"github.com/congctl/congctl/internal/tcp/record"
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
	c.frozen = f.on
	return nil
}

// RollBack puts the content of an earlier plan in force again and freezes it, for an operator.
func (c *Controller) RollBack(ctx context.Context, serial record.PlanID, by string) error {
	if serial == 0 {
		return &control.Error{Code: control.BadRequest, Text: "roll back to plan 0: name a plan by its serial", Hint: "congctl events"}
	}
	if err := c.Rewrite(ctx, serial, by); err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.plan == nil || c.plan.Serial != c.serial {
		return &control.Error{Code: control.Conflict, Text: fmt.Sprintf("plan %d, with the content of plan %d, was refused: the plan before it stays, frozen", c.serial, serial), Hint: "congctl events"}
	}
	return nil
}

// Rewrite signs the content of an earlier plan anew, for serial 0 a plan without entries, and puts
// it in force: a host refuses a serial older than what it has. Unless treatment is stopped it freezes
// as well, since the next round would select again what has just failed.
func (c *Controller) Rewrite(ctx context.Context, serial record.PlanID, by string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.now()
	next := c.draft(now.Unix())
	if serial != 0 {
		f, ok, err := c.store.Plan(ctx, serial)
		if err != nil {
			return fmt.Errorf("rewrite plan %d: %w", serial, err)
		} else if !ok {
			return &control.Error{Code: control.NotFound, Text: fmt.Sprintf("plan %d is not in the store", serial), Hint: "congctl events"}
		}
		was, err := c.open(f)
		if err != nil {
			return err
		}
		next.Entries = was.Entries
	}
	commit := &journal.Commit{}
	if !c.killed {
		commit = Frozen.By(cmp.Or(by, "the roll-out"), now)
	}
	signed := next.Sign(c.key)
	commit.Plan = &journal.PlanFile{Serial: next.Serial, Created: next.Created, Hash: next.Hash(), Text: signed}
	if err := c.commit(ctx, commit); err != nil {
		return fmt.Errorf("rewrite plan %d: %w", serial, err)
	}
	c.frozen, c.serial = c.frozen || !c.killed, next.Serial
	return c.force(ctx, next, signed)
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
