package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/congctl/congctl/internal/linux/cubiclt"
	"github.com/congctl/congctl/internal/loop/config"
	"github.com/congctl/congctl/internal/loop/kernel/enforce"
	"github.com/congctl/congctl/internal/loop/policy"
	"github.com/congctl/congctl/internal/tcp/inetdiag"
	"github.com/congctl/congctl/internal/tcp/ranges"
)

func (u *edgeHost) openKernel(ctx context.Context) error {
	if why := u.cfg.Treatment.AutoWhy; why != "" {
		u.log.Info("treatment.cong auto is "+u.cfg.Treatment.Cong, "why", why)
	}
	if err := u.registerTreatment(ctx); err != nil {
		u.log.Warn("treats nothing; treatment.cong: bbr would treat", "err", err)
	}
	p, err := enforce.ProbeKernel(u.cfg.Treatment.Cong, u.cfg.Cgroup)
	if err != nil {
		return err
	}
	u.probe = p.HeldTo(u.cfg.Tier)
	u.log.Info(u.tierText())
	storage, err := u.openTier()
	if err != nil {
		return err
	}
	if err := u.setDeny(u.cfg, u.rules); err != nil {
		return err
	}
	if u.sampler, err = openSampler(u.cfg, storage); err != nil {
		return err
	}
	u.later(u.sampler.Close)
	if u.follower != nil {
		u.follower.sampler = u.sampler
	}
	return nil
}

// registerTreatment gives the kernel the treatment that is congctl's own, for as long as this process lives. Without it
// the kernel may have the name all the same: the lab's has, and a pin keeps it.
func (u *edgeHost) registerTreatment(ctx context.Context) error {
	if u.cfg.Treatment.Cong != cubiclt.Name || u.cfg.Tier == config.TierObserve {
		return nil
	}
	keep, release, err := cubiclt.Hold()
	if err != nil {
		return err
	}
	u.later(release)
	u.beside(ctx, func(ctx context.Context) error {
		for tick := time.NewTicker(keepTreatment); ; {
			select {
			case <-ctx.Done():
				tick.Stop()
				return nil
			case <-tick.C:
			}
			if err := keep(); err != nil {
				u.log.Warn("no new connection gets the treatment", "err", err)
			}
		}
	})
	return nil
}

// keepTreatment: in so long after another congctl has ended, whose registration this one used, new connections get it again.
const keepTreatment = 10 * time.Second

func (u *edgeHost) tierText() string {
	return fmt.Sprintf("kernel %s, tier %s: %s", u.probe.Kernel, u.probe.Tier, strings.Join(u.probe.Reasons, "; "))
}

// openTier opens what enforces at this tier, and returns the map of marks that the
// sampler reads along.
func (u *edgeHost) openTier() (storage int, err error) {
	if !u.probe.Tier.CanFollow() {
		return 0, nil
	}
	storage, err = u.openFollower()
	if !errors.Is(err, enforce.ErrTaken) {
		return storage, err
	}
	u.probe.Tier, u.probe.Reasons = enforce.TierObserve, []string{err.Error()}
	u.log.Warn(u.tierText())
	return 0, nil
}

func (u *edgeHost) openFollower() (storage int, err error) {
	e, err := enforce.Open(enforce.Options{
		Cgroup: u.cfg.Cgroup, MinBytes: u.cfg.Treatment.MinBytes, RingBytes: u.cfg.RingBytes,
		MaxPlanned: u.cfg.Plan.Max, Ports: inetdiag.PortsOf(u.cfg.PortRanges()),
	})
	if err != nil {
		return 0, err
	}
	u.follower = &follower{Enforcer: e}
	u.later(e.Close)
	return e.MarksFD(), nil
}

// setDeny tells the kernel what is never treated. It may treat whatever the plan does not name, so that it has to know what is no
// client.
func (u *edgeHost) setDeny(cfg config.Config, rules policy.Rules) error {
	if u.follower == nil {
		return nil
	}
	return u.follower.SetDeny(slices.Concat(policy.Nets(rules.Guards.Never), cfg.Clients.Exclude, ranges.Specials(limitsOf(cfg, rules).Allow)))
}
