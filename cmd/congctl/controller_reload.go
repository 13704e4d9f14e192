//go:build !small

package main

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"strings"

	"github.com/congctl/congctl/internal/fleet/store/mtls"
	"github.com/congctl/congctl/internal/linux/notify"
	"github.com/congctl/congctl/internal/loop/config"
	"github.com/congctl/congctl/internal/loop/controller"
)

// reloads takes fleet.revoked anew with each SIGHUP, until ctx ends.
func (o *office) reloads(ctx context.Context, g *global, creds *mtls.Credentials, hup <-chan os.Signal) {
	held := o.cfg
	for {
		select {
		case <-ctx.Done():
			return
		case <-hup:
		}
		_ = notify.Send(notify.Reloading())
		text, err := revoke(g, &held, creds)
		kind := controller.KindReload
		if err != nil {
			kind, text = controller.KindReloadRefused, "the old configuration stays: "+err.Error()
		}
		o.tellAll(ctx, kind, "by SIGHUP; "+text)
		_ = notify.Send(notify.Ready)
	}
}

// revoke takes fleet.revoked and nothing else, and says what changed.
func revoke(g *global, held *config.Config, creds *mtls.Credentials) (string, error) {
	next, _, err := g.checked()
	if err == nil {
		err = forController(next)
	}
	if err != nil {
		return "", err
	}
	rest := next
	rest.Fleet.Revoked = held.Fleet.Revoked
	changed, err := config.Changes(*held, rest)
	if len(changed) > 0 {
		err = fmt.Errorf("a controller takes only fleet.revoked while it runs: restart it for %s", strings.Join(changed, "; "))
	}
	if err != nil {
		return "", err
	}
	changed, err = config.Changes(*held, next)
	*held = next
	creds.Revoke(revokedOf(next.Fleet.Revoked))
	return cmp.Or(strings.Join(changed, "; "), "no key changed"), err
}

// tellAll keeps an event in each PoP's store, and logs it; without a PoP it is logged all the same.
func (o *office) tellAll(ctx context.Context, kind, text string) {
	names := o.names()
	if len(names) == 0 {
		o.log.Warn(kind + ": " + text)
	}
	for _, name := range names {
		if p := o.present(name); p != nil {
			_ = p.Tell(ctx, kind, text) // the log has it at least
			p.users.Done()
		}
	}
}
