package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/congctl/congctl/internal/loop/config"
	"github.com/congctl/congctl/internal/loop/control"
	"github.com/congctl/congctl/internal/loop/controller"
	"github.com/congctl/congctl/internal/loop/policy"
)

// serve answers verbs on the unix socket from now on.
func (u *up) serve(ctx context.Context) error {
	s, err := control.Listen(control.Options{Path: u.cfg.Socket, Group: u.cfg.SocketGroup, Log: u.log})
	if err != nil {
		return err
	}
	u.live = &controller.View{
		Controller: u.controller, Agent: u.agent.Status,
		Base: control.Status{
			Version: version, PoP: u.cfg.PoP, PID: os.Getpid(), StartedUnixS: time.Now().Unix(),
			Tier: u.probe.Tier.String(), TierReason: strings.Join(u.probe.Reasons, "; "),
		},
	}
	s.Handler.PlanEntries = u.cfg.Plan.Max
	control.HandleView(s.Handler, u.live)
	control.HandleActions(s.Handler, u.live)
	control.HandleAlive(s.Handler, u.alive)
	s.Audit(u.controller.Audit)
	u.refusals.Log = u.log
	s.Refused(u.refusals.Action)
	u.rounds.look(ctx, u.controller)
	u.beside(ctx, s.Serve)
	return nil
}

// reload reads the configuration again and applies what can change while the loop runs:
// clients, plan limits, deny list, policy, retention. On any fault, or if anything else
// changed too, the old configuration stays in force as a whole. Either is an event.
func (u *up) reload(ctx context.Context) error {
	next, rules, err := u.g.checked()
	if err == nil {
		err = u.adopt(ctx, next, rules)
	}
	if err != nil {
		err = fmt.Errorf("the old configuration stays: %w", err)
		u.agent.RaiseAlarm("reload", err.Error())
		_ = u.controller.Tell(ctx, controller.KindReloadRefused, "by SIGHUP; "+err.Error()) // the log has it at least
		return fmt.Errorf("reload: %w", err)
	}
	u.agent.ClearAlarm("reload")
	warnOf(next, u.log)
	changed, err := config.Changes(u.held, next)
	text := strings.Join(append(changed, config.ListChanges(u.rules, rules)...), "; ")
	u.held, u.rules = next, rules
	return errors.Join(err, u.controller.Tell(ctx, controller.KindReload, "by SIGHUP; "+cmp.Or(text, "no key changed")))
}

// adopt goes back to what u holds on a fault, never to the files: they may have changed.
func (u *up) adopt(ctx context.Context, next config.Config, rules policy.Rules) error {
	if fixed := config.Fixed(u.cfg, next); len(fixed) > 0 {
		return fmt.Errorf("%s changed, which needs a restart", strings.Join(fixed, ", "))
	}
	limits, err := limitsHere(next, rules)
	if err != nil {
		return err
	}
	if err := u.controller.SetRules(ctx, rules); err != nil {
		return err
	}
	if err := u.setDeny(next, rules); err != nil {
		return errors.Join(err, u.setDeny(u.held, u.rules), u.controller.SetRules(ctx, u.rules))
	}
	u.setClients(next.Clients)
	u.agent.SetLimits(limits)
	u.controller.SetLimits(limitsOf(next, rules))
	u.keep.Store(&next)
	return nil
}
