package controller

import (
	"cmp"
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"fmt"
	"slices"
	"strconv"

	"github.com/congctl/congctl/internal/loop/journal"
	"github.com/congctl/congctl/internal/loop/plan"
	"github.com/congctl/congctl/internal/tcp/record"
)

// This file holds what a controller takes over from the one before it. A plan is committed
// first and sent to the host second, and the process may end between the two. So the
// store has the host's answers, too, and a plan without one is sent again.

// What the host answered: the serial of the last plan that it accepted, and of the last
// that it refused.
const (
	settingInForce = "plan_in_force"
	settingRefused = "plan_refused"
)

// recall reads the settings, and draws what is missing.
func (c *Controller) recall(ctx context.Context) (err error) {
	if c.key, err = Key(ctx, c.store); err != nil {
		return err
	}
	if err := c.recallPast(ctx); err != nil {
		return err
	}
	if c.salt, err = draw(ctx, c.store, journal.SettingSalt, 16); err != nil {
		return err
	}
	if c.killed, err = flag(ctx, c.store, journal.SettingKilled); err != nil {
		return err
	}
	c.frozen, err = flag(ctx, c.store, journal.SettingFrozen)
	return err
}

// Attach sets the host that plans go to, and restores the state before the restart
// there: kill switch, then the plan in force, then a later one that the host did not
// answer. The host judges that one by how much it changes the plan in force, so it comes
// second, as it would have without the restart.
func (c *Controller) Attach(ctx context.Context, h Host) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.host = h
	h.Kill(c.killed)
	c.freeze(c.frozen, "an operator, before the restart")
	k, err := plansOf(ctx, c.store)
	if err != nil {
		return err
	}
	c.serial = k.latest.Serial
	if err := c.forceAgain(ctx, k.accepted); err != nil || k.answered {
		return err
	}
	return c.forceLatest(ctx, k.latest)
}

// forceAgain sends the plan that was in force, if there was one. If it is no longer
// allowed, because the configuration changed, it is reported and dropped: nothing is
// treated until a later plan is in force.
func (c *Controller) forceAgain(ctx context.Context, f journal.PlanFile) error {
	if f.Serial == 0 {
		return nil
	}
	p, err := c.open(f)
	if err != nil {
		return err
	}
	if !p.Expired(c.now().Unix()) {
		if err := c.host.SetPlan(f.Text); err != nil {
			return c.Tell(ctx, kindPlanRefused, "of before the restart: "+err.Error())
		}
	}
	c.plan = p // expired, too: the next plan follows it
	return nil
}

// forceLatest sends a plan that the host did not answer.
func (c *Controller) forceLatest(ctx context.Context, f journal.PlanFile) error {
	p, err := c.open(f)
	if err != nil {
		return err
	}
	if p.Expired(c.now().Unix()) {
		c.plan = p // as if it had expired in force
		return nil
	}
	if err := c.force(ctx, p, f.Text, ""); err != nil {
		// A full disk must not keep the loop from starting.
		c.log.Error(fmt.Sprintf("the host's answer to plan %d is not in the store, so the next start sends it again", p.Serial), "err", err)
	}
	return nil
}

func (c *Controller) open(f journal.PlanFile) (*plan.Plan, error) {
	p, err := plan.Open(f.Text, append(slices.Clone(c.past), c.PublicKey())...)
	if err != nil && c.opt.Shared {
		p, _, err = plan.Parse(f.Text)
	}
	if err != nil {
		return nil, fmt.Errorf("read plan %d of the store: %w", f.Serial, err)
	}
	return p, nil
}

// keptPlans are the plans of a store that matter; a serial of 0 is no plan.
type keptPlans struct {
	accepted, latest journal.PlanFile
	answered         bool // the host accepted or refused the latest
}

func plansOf(ctx context.Context, s Store) (k keptPlans, err error) {
	accepted, err1 := serialOf(ctx, s, settingInForce)
	refused, err2 := serialOf(ctx, s, settingRefused)
	var err3, err4 error
	k.accepted, _, err3 = s.Plan(ctx, accepted)
	k.latest, _, err4 = s.LatestPlan(ctx)
	k.answered = k.latest.Serial <= max(accepted, refused)
	return k, cmp.Or(err1, err2, err3, err4)
}

// serialOf reads a setting that is a plan's serial; 0 if it was never set.
func serialOf(ctx context.Context, s Store, key string) (record.PlanID, error) {
	v, ok, err := s.Setting(ctx, key)
	if err != nil || !ok {
		return 0, err
	}
	serial, err := strconv.ParseUint(string(v), 10, 64)
	if err != nil {
		return 0, fmt.Errorf("read setting %s: %w", key, err)
	}
	return record.PlanID(serial), nil
}

func serialText(serial record.PlanID) []byte { return strconv.AppendUint(nil, uint64(serial), 10) }

// Key returns the key that signs the plans of a store's controller.
func Key(ctx context.Context, s Settings) (ed25519.PrivateKey, error) {
	seed, err := draw(ctx, s, journal.SettingSigningKey, ed25519.SeedSize)
	if err != nil {
		return nil, err
	}
	return ed25519.NewKeyFromSeed(seed), nil
}

// Settings is the part of a store that has single values.
type Settings interface {
	SetSetting(ctx context.Context, key string, value []byte) error
	Setting(ctx context.Context, key string) ([]byte, bool, error)
}

// draw reads a secret of n bytes, or makes and stores one.
func draw(ctx context.Context, s Settings, key string, n int) ([]byte, error) {
	v, ok, err := s.Setting(ctx, key)
	if err != nil {
		return nil, err
	}
	if ok {
		if len(v) != n {
			return nil, fmt.Errorf("read setting %s: %d bytes, want %d", key, len(v), n)
		}
		return v, nil
	}
	v = newSecret(n)
	return v, s.SetSetting(ctx, key, v)
}

func newSecret(n int) []byte {
	v := make([]byte, n)
	_, _ = rand.Read(v) // never fails (crypto/rand)
	return v
}

func flag(ctx context.Context, s Store, key string) (bool, error) {
	v, _, err := s.Setting(ctx, key)
	return string(v) == "1", err
}
