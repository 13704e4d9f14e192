//go:build !small

package main

import (
	"context"
	"encoding/hex"
	"strings"

	"github.com/congctl/congctl/internal/fleet/store/link"
	"github.com/congctl/congctl/internal/loop/control"
	"github.com/congctl/congctl/internal/loop/plan"
)

// handleKeys answers plan key.
func (p *popOffice) handleKeys() {
	by := func(ctx context.Context) string { return link.Caller(ctx).String() }
	control.Handle(p.queries, keyQuery, func(ctx context.Context, _ control.None) (PlanKeys, error) { return p.planKeys(ctx) })
	control.Handle(p.queries, makeKeyQuery, func(ctx context.Context, _ control.None) (PlanKeys, error) {
		if err := p.controller.MakeKey(ctx, by(ctx)); err != nil {
			return PlanKeys{}, err
		}
		return p.planKeys(ctx)
	})
	control.Handle(p.queries, switchQuery, func(ctx context.Context, q switchRequest) (PlanKeys, error) {
		k, err := p.planKeys(ctx)
		if err == nil && len(k.Lacking) > 0 && !q.Anyway {
			err = &control.Error{Code: control.Conflict, Text: "switch key: it would lock out " + strings.Join(k.Lacking, ", ") + ": add " + k.Next + " to fleet.plan_keys there and send SIGHUP",
				Hint: "congctl plan key --switch --yes, which leaves them without treatment"}
		}
		if err == nil {
			err = p.controller.SwitchKey(ctx, by(ctx))
		}
		if err != nil {
			return PlanKeys{}, err
		}
		return p.planKeys(ctx)
	})
}

func (p *popOffice) planKeys(ctx context.Context) (PlanKeys, error) {
	now, next, err := p.controller.Keys(ctx)
	k := PlanKeys{PoP: p.cfg.PoP, Key: hex.EncodeToString(now), Next: hex.EncodeToString(next), Lacking: []string{}}
	if next != nil {
		k.Lacking = append(k.Lacking, p.Lacking(plan.KeyID(next))...)
	}
	return k, err
}
