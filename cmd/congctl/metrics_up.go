package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/congctl/congctl/internal/linux/clock"
	"github.com/congctl/congctl/internal/loop/agent"
	"github.com/congctl/congctl/internal/metrics"
)

func present() (m instant) {
	m.unix, m.boot = clock.Now()
	return m
}

func (u *up) collect(ctx context.Context, p *metrics.Page) {
	s, _ := u.live.Status(ctx) // an error is an alarm of it
	processMetrics(p)
	hostMetrics(p, *s.Agent, u.probe.Tier, present())
	all := []popView{{u.cfg.PoP, s, u.rounds.get(), storeSize(storePath(u.cfg)), float64(u.keep.Load().Store.MaxBytes)}}
	roundMetrics(p, all)
	networkMetrics(p, all, networksOf(u.cfg))
}

// ready reports an error until something can be known, and while what is decided would be lost.
func (u *up) ready(context.Context) error {
	s, last := u.agent.Status(), u.rounds.get()
	switch {
	case s.Polls == 0:
		return errors.New("wait for the first poll of the sockets")
	case last.Round.RoundStart == 0:
		return fmt.Errorf("wait for the end of the first window: it takes %s", u.cfg.Window)
	case s.Plan == 0:
		return errors.New("wait for the first plan: the next round writes it")
	}
	return errors.Join(u.store.InPlace(), standing(s, "round", "events", "cgroup"))
}

// standing returns the alarms of some kinds.
func standing(s agent.Status, kinds ...string) (err error) {
	for _, a := range s.Alarms {
		for _, kind := range kinds {
			if strings.HasPrefix(a, kind+": ") {
				err = errors.Join(err, errors.New(a))
			}
		}
	}
	return err
}
