package controller

import (
	"context"
	"crypto/ed25519"
	"encoding/hex"
	"fmt"
	"slices"

	"github.com/congctl/congctl/internal/loop/control"
	"github.com/congctl/congctl/internal/loop/journal"
)

// A key is replaced in two steps, so that no host is locked out: the next one is drawn and shown first,
// hosts learn to trust both, and then it signs. The switch destroys the one before it.

const kindKey = "key"

// Keys returns the public key that signs and the one that does after a switch; nil if none is made.
func (c *Controller) Keys(ctx context.Context) (now, next ed25519.PublicKey, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	seed, err := c.nextSeed(ctx)
	if err != nil || seed == nil {
		return c.PublicKey(), nil, err
	}
	return c.PublicKey(), public(ed25519.NewKeyFromSeed(seed)), nil
}

func public(k ed25519.PrivateKey) ed25519.PublicKey { return k.Public().(ed25519.PublicKey) }

func (c *Controller) nextSeed(ctx context.Context) ([]byte, error) {
	seed, _, err := c.store.Setting(ctx, journal.SettingNextKey)
	if err == nil && len(seed) != 0 && len(seed) != ed25519.SeedSize {
		err = fmt.Errorf("read setting %s: %d bytes, want %d", journal.SettingNextKey, len(seed), ed25519.SeedSize)
	}
	if err != nil || len(seed) == 0 {
		return nil, err
	}
	return seed, nil
}

// MakeKey draws the next key, unless there is one.
func (c *Controller) MakeKey(ctx context.Context, by string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if seed, err := c.nextSeed(ctx); err != nil || seed != nil {
		return err
	}
	seed := newSecret(ed25519.SeedSize)
	next := public(ed25519.NewKeyFromSeed(seed))
	return c.tell(ctx, kindKey, fmt.Sprintf("next plan key %x made by %s", []byte(next), by), map[string][]byte{journal.SettingNextKey: seed})
}

// SwitchKey signs with the next key from now on, and the plan in force at once: a host that drops the
// key before it must have another plan. What was signed before stays readable here.
func (c *Controller) SwitchKey(ctx context.Context, by string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	seed, err := c.nextSeed(ctx)
	if err != nil {
		return err
	}
	if seed == nil {
		return &control.Error{Code: control.Conflict, Text: "switch key: no next key is made", Hint: "congctl plan key --next"}
	}
	key, past := ed25519.NewKeyFromSeed(seed), append(slices.Clone(c.past), c.PublicKey())
	now := c.now()
	commit := &journal.Commit{
		Events:   []journal.Event{{At: now.Unix(), Kind: kindKey, Text: fmt.Sprintf("plan key %x signs from now on, by %s", []byte(public(key)), by)}},
		Settings: map[string][]byte{journal.SettingSigningKey: seed, journal.SettingNextKey: {}, journal.SettingPastKeys: slices.Concat(bytesOf(past)...)},
	}
	next := c.draft(now.Unix())
	if c.plan != nil {
		next.Entries = c.plan.Entries
	}
	signed := next.Sign(key)
	commit.Plan = &journal.PlanFile{Serial: next.Serial, Created: next.Created, Hash: next.Hash(), Text: signed}
	if err := c.commit(ctx, commit); err != nil {
		return fmt.Errorf("switch key: %w", err)
	}
	c.key, c.past, c.serial = key, past, next.Serial
	return c.force(ctx, next, signed, c.holder())
}

func bytesOf(keys []ed25519.PublicKey) [][]byte {
	out := make([][]byte, len(keys))
	for i, k := range keys {
		out[i] = k
	}
	return out
}

// recallPast reads the keys before this one.
func (c *Controller) recallPast(ctx context.Context) error {
	all, _, err := c.store.Setting(ctx, journal.SettingPastKeys)
	if err == nil && len(all)%ed25519.PublicKeySize != 0 {
		err = fmt.Errorf("read setting %s: %s is no list of keys", journal.SettingPastKeys, hex.EncodeToString(all))
	}
	for k := range slices.Chunk(all, ed25519.PublicKeySize) {
		c.past = append(c.past, k)
	}
	return err
}
