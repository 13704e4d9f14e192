//go:build !small

package main

import (
	"context"
	"maps"
	"slices"

	"github.com/congctl/congctl/internal/loop/control"
)

// serveDashboard answers browsers about all PoPs that are this controller's.
func (o *office) serveDashboard() error {
	d := desk{log: o.log, refusals: &o.refusals, audit: o.audit, about: Desk{Fleet: true}, pops: o.names, of: func(ctx context.Context, pop string) (popDesk, error) {
		p, err := o.of(ctx, pop)
		if err != nil {
			return popDesk{}, err
		}
		return popDesk{p.queries, p.live, p.status, p.users.Done}, nil
	}}
	return d.serve(o.page, o.cfg, tokensOf(o.cfg, func(err error) { o.log.Error("no token is valid", "err", err) }))
}

// audit keeps in the store of each PoP that is here what concerns all.
func (o *office) audit(ctx context.Context, a control.Act) {
	for _, name := range o.names() {
		if p := o.present(name); p != nil {
			p.controller.Audit(ctx, a)
			p.users.Done()
		}
	}
}

// names are the PoPs that are this controller's now.
func (o *office) names() []string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return slices.Sorted(maps.Keys(o.pops))
}
