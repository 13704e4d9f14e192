package main

import "github.com/spf13/cobra"

func newHost(g *global) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "host",
		Short: "Can this host run BBR? Turn it on for good, and back",
		Long: `host looks at this host's kernel, settings, interfaces and connections, and says
what keeps BBR from working, now and after the next boot.`,
	}
	cmd.AddCommand(newHostCheck(g), newHostEnable(g), newHostDisable(g), newHostKernel(g))
	return cmd
}
