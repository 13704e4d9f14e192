//go:build !small

package main

import (
	"context"
	"maps"
	"slices"
)

// serveDashboard answers browsers about all PoPs that are this controller's.
func (o *office) serveDashboard() error {
	d := desk{log: o.log, about: Desk{Fleet: true}, pops: o.names, of: func(ctx context.Context, pop string) (popDesk, error) {
		p, err := o.of(ctx, pop)
		if err != nil {
			return popDesk{}, err
		}
		return popDesk{p.queries, p.live, p.status, p.users.Done}, nil
	}}
	return d.serve(o.page, o.cfg, tokensOf(o.cfg, func(err error) { o.log.Error("no token is valid", "err", err) }))
}

// names are the PoPs that are this controller's now.
func (o *office) names() []string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return slices.Sorted(maps.Keys(o.pops))
}
