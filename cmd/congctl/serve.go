package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"reflect"
	"strings"
	"time"

	"github.com/congctl/congctl/internal/app/agent"
	"github.com/congctl/congctl/internal/app/config"
	"github.com/congctl/congctl/internal/app/control"
	"github.com/congctl/congctl/internal/app/controller"
)

// serve answers verbs on the unix socket from now on.
func (u *up) serve(ctx context.Context) error {
	s, err := control.Listen(control.Options{Path: u.cfg.Socket, Group: u.cfg.SocketGroup, Log: u.log})
	if err != nil {
		return err
	}
	live := &controller.Live{
		Controller: u.controller, R: u.store, Agent: u.agent.Status, Config: u.reload,
		Base: control.Status{
			Version: version, PoP: u.cfg.PoP, PID: os.Getpid(), StartedUnixS: time.Now().Unix(),
			Tier: u.probe.Tier.String(), TierReason: strings.Join(u.probe.Reasons, "; "),
		},
	}
	control.HandleView(s, live)
	control.HandleActions(s, live)
	ctx, stop := context.WithCancel(ctx)
	done := make(chan error, 1)
	go func() { done <- s.Serve(ctx) }()
	u.later(func() error {
		stop()
		return <-done
	})
	return nil
}

// reload reads the configuration again and puts in force what can change while
// the loop runs: clients, plan limits, deny list, policy, retention. On any fault,
// or where something else changed too, the old one stays whole.
func (u *up) reload(ctx context.Context) error {
	u.reloading.Lock()
	defer u.reloading.Unlock()
	next, err := u.g.checked()
	if err == nil {
		err = u.adopt(ctx, next)
	}
	if err != nil {
		return fmt.Errorf("reload: the old configuration stays: %w", err)
	}
	u.held = next
	u.log.Info("reloaded")
	return nil
}

func (u *up) adopt(ctx context.Context, next config.Config) error {
	if fixed := needRestart(u.cfg, next); len(fixed) > 0 {
		return fmt.Errorf("%s changed, which needs a restart", strings.Join(fixed, ", "))
	}
	rules, err := rulesOf(next)
	if err != nil {
		return err
	}
	old, err := rulesOf(u.held)
	if err != nil {
		return err
	}
	limits, err := limitsOf(next)
	if err != nil {
		return err
	}
	if err := u.controller.SetRules(ctx, u.store, rules); err != nil {
		return err
	}
	if err := u.setDeny(next); err != nil {
		return errors.Join(err, u.setDeny(u.held), u.controller.SetRules(ctx, u.store, old))
	}
	u.clients.Store(&agent.Clients{Allow: next.Clients.Allow, Exclude: next.Clients.Exclude})
	u.agent.SetLimits(limits)
	u.keep.Store(&next.Store)
	return nil
}

// needRestart names the top-level keys that differ and cannot change under way.
func needRestart(a, b config.Config) (keys []string) {
	live := map[string]bool{"clients": true, "plan": true, "policy": true, "store": true}
	x, y := reflect.ValueOf(a), reflect.ValueOf(b)
	for i := range x.NumField() {
		key := x.Type().Field(i).Tag.Get("yaml")
		if !live[key] && !reflect.DeepEqual(x.Field(i).Interface(), y.Field(i).Interface()) {
			keys = append(keys, key)
		}
	}
	if a.Store.RecordsFile != b.Store.RecordsFile || a.Store.Addresses != b.Store.Addresses {
		keys = append(keys, "store.records_file or store.addresses")
	}
	if b.Plan.Max > a.Plan.Max {
		keys = append(keys, "plan.max (upwards: the kernel's maps are sized at the start)")
	}
	return keys
}
