package controller

import (
	"context"
	"errors"
	"fmt"

	"github.com/congctl/congctl/internal/core/journal"
)

// Stop is the kill switch: no new treatment from the next callback on, until
// Resume; it survives a restart. With evict, connections that are treated move
// back to the default.
func (c *Controller) Stop(ctx context.Context, evict bool, by string) error {
	// Kernel first, before anything that may have to wait: whoever pulls this wants
	// it now, and a store that is full or busy must not keep it from them.
	c.host.Kill(true)
	if err := c.stopped(ctx, by); err != nil {
		return fmt.Errorf("treatment is stopped, but the next start will not know it: %w", err)
	}
	if !evict {
		return nil
	}
	// Without the lock: the agent's loop does this, and may be waiting for us in a round.
	n, err := c.host.Evict(ctx)
	e := journal.Event{At: c.now().Unix(), Kind: "evict", Text: fmt.Sprintf("%d treated connections moved back, by %s", n, by)}
	return errors.Join(err, c.store.AddEvents(ctx, e))
}

func (c *Controller) stopped(ctx context.Context, by string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.killed = true
	return c.note(ctx, journal.SettingKilled, true, "stop", "no new treatment, by "+by)
}

// Resume takes the kill switch back.
func (c *Controller) Resume(ctx context.Context, by string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.note(ctx, journal.SettingKilled, false, "resume", "treatment resumed by "+by); err != nil {
		return err
	}
	c.killed = false
	c.host.Kill(false)
	return nil
}

// Freeze holds the plan as it is; Unfreeze lets rounds change it again.
func (c *Controller) Freeze(ctx context.Context, by string) error {
	return c.setFrozen(ctx, true, "freeze", "plan held as it is by "+by)
}

// Unfreeze undoes Freeze.
func (c *Controller) Unfreeze(ctx context.Context, by string) error {
	return c.setFrozen(ctx, false, "unfreeze", "plan released by "+by)
}

func (c *Controller) setFrozen(ctx context.Context, on bool, kind, text string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.note(ctx, journal.SettingFrozen, on, kind, text); err != nil {
		return err
	}
	c.frozen = on
	return nil
}

// note keeps a flag and says in the journal who set it.
func (c *Controller) note(ctx context.Context, key string, on bool, kind, text string) error {
	value := []byte("0")
	if on {
		value = []byte("1")
	}
	return c.store.CommitRound(ctx, &journal.Commit{
		Settings: map[string][]byte{key: value},
		Events:   []journal.Event{{At: c.now().Unix(), Kind: kind, Text: text}},
	})
}

// Alarm keeps what the agent warns of.
func (c *Controller) Alarm(kind, text string) {
	err := c.store.AddEvents(context.Background(), journal.Event{At: c.now().Unix(), Kind: "alarm-" + kind, Text: text})
	if err != nil {
		c.log.Error("keep alarm", "kind", kind, "err", err)
	}
}
