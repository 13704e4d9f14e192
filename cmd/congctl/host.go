package main

import (
	"github.com/spf13/cobra"

	"github.com/congctl/congctl/internal/host/kernel/bbr"
	"github.com/congctl/congctl/internal/host/kernel/inspect"
)

// readHost and bbrHost are of this host; the tests of the pages put a described one in its
// place.
var (
	readHost = inspect.Local().Read
	bbrHost  = func(changes string) (*bbr.Host, error) { return bbr.New(hostDisk(), changes, readHost) }
)

func newHost(g *global) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "host",
		Short: "Check whether this host can run BBR, turn it on, and undo it",
		Long: `host looks at this host's kernel, settings, interfaces and connections, and says
what keeps BBR from working, now and after the next boot.`,
	}
	cmd.AddCommand(newHostCheck(g), newHostEnable(g), newHostDisable(g), newHostKernel(g))
	return cmd
}
