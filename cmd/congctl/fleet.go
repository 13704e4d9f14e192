package main

import (
	"context"
	"net"

	"github.com/spf13/cobra"

	"github.com/congctl/congctl/internal/fleet/store/mtls"
	"github.com/congctl/congctl/internal/loop/config"
)

// ofFleet adds to a verb the flags by which it asks a fleet's controller.
func ofFleet(g *global, cmd *cobra.Command) *cobra.Command {
	cmd.Flags().StringVar(&g.pop, "pop", "", "ask a fleet's controller about this PoP, with the certificate of the section fleet")
	cmd.Flags().StringVar(&g.controller, "controller", "", "URL of that controller (default fleet.controller)")
	return cmd
}

func filesOf(f config.Fleet) mtls.Files { return mtls.Files{Cert: f.Cert, Key: f.Key, CA: f.CA} }

// popPath is where a controller answers queries about a PoP.
func popPath(pop string) string { return "/pop/" + pop }

// dialLate reads the certificates when a connection is made, so that a fault is an answer's.
func dialLate(f config.Fleet) func(ctx context.Context, network, address string) (net.Conn, error) {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		c, err := mtls.Open(filesOf(f), func(error) {})
		if err != nil {
			return nil, err
		}
		return c.Dial(ctx, network, address)
	}
}
