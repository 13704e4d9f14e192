package main

import (
	"context"
	"errors"

	"github.com/congctl/congctl/internal/app/config"
	"github.com/congctl/congctl/internal/kernel/enforce"
	"github.com/congctl/congctl/internal/kernel/route"
)

func (u *up) openKernel(context.Context) error {
	p, err := enforce.ProbeKernel(u.cfg.Treatment.Cong, u.cfg.Cgroup)
	if err != nil {
		return err
	}
	u.probe = heldTo(p, u.cfg.Tier)
	u.log.Info("kernel", "release", u.probe.Kernel, "tier", u.probe.Tier, "why", u.probe.Reasons)
	storage, err := u.openTier()
	if err != nil {
		return err
	}
	if err := u.setDeny(u.cfg); err != nil {
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

// heldTo lowers what the kernel can to what the configuration wants.
func heldTo(p enforce.Probe, tier string) enforce.Probe {
	want := p.Tier
	switch tier {
	case config.TierRoute:
		want = enforce.TierRoute
	case config.TierObserve:
		want = enforce.TierObserve
	}
	if want < p.Tier {
		p.Reasons = []string{"held to it by the configuration; this kernel can do " + p.Tier.String()}
		p.Tier = want
	}
	return p
}

// openTier opens what enforces at this tier, and gives the map of marks for the
// sampler to read along.
func (u *up) openTier() (storage int, err error) {
	if u.probe.Tier.CanFollow() {
		storage, err = u.openFollower()
		if !errors.Is(err, enforce.ErrTaken) {
			return storage, err
		}
		u.probe.Tier, u.probe.Reasons = enforce.TierRoute, []string{err.Error()}
		u.log.Warn("kernel", "tier", u.probe.Tier, "why", u.probe.Reasons)
	}
	if u.probe.Tier >= enforce.TierRoute {
		return 0, u.openRouter()
	}
	return 0, nil
}

func (u *up) openFollower() (storage int, err error) {
	e, err := enforce.Open(enforce.Options{
		Cgroup: u.cfg.Cgroup, MinBytes: u.cfg.Treatment.MinBytes, RingBytes: u.cfg.RingBytes,
		MaxPlanned: u.cfg.Plan.Max, Ports: u.cfg.Ports,
	})
	if err != nil {
		return 0, err
	}
	u.follower = &follower{Enforcer: e}
	u.later(e.Close)
	return e.MarksFD(), nil
}

func (u *up) openRouter() (err error) {
	if u.router, err = route.Open(route.Options{}); err != nil {
		return err
	}
	u.later(u.router.Close)
	stop := make(chan struct{})
	done := make(chan error, 1)
	go func() { done <- u.router.Follow(stop) }()
	u.later(func() error {
		close(stop)
		return <-done
	})
	return nil
}

func (u *up) setDeny(cfg config.Config) error {
	deny, err := cfg.DenyList()
	if err != nil {
		return usage(err)
	}
	switch {
	case u.follower != nil:
		return u.follower.SetDeny(deny)
	case u.router != nil:
		return u.router.SetDeny(deny)
	}
	return nil
}
