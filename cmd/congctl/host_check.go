package main

import (
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/congctl/congctl/internal/core/advise"
	"github.com/congctl/congctl/internal/kernel/host"
	"github.com/congctl/congctl/internal/kernel/host/paperhost"
)

func newHostCheck(g *global) *cobra.Command {
	var paper string
	cmd := &cobra.Command{
		Use:     "check",
		Short:   "Say what keeps BBR from running well on this host, now and after a boot",
		Example: "  congctl host check\n  sudo congctl host check -o json",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			h, err := theHost(paper)
			if err != nil {
				return err
			}
			facts := h.Read()
			found := advise.Check(&facts)
			return g.print(cmd, found, func(w io.Writer) error {
				for _, f := range found {
					fmt.Fprintln(w, f)
				}
				return nil
			})
		},
	}
	cmd.Flags().StringVar(&paper, "paper", "", "check the host that this file describes instead of this one")
	return cmd
}

// theHost is this one, or the one on paper.
func theHost(paper string) (host.Host, error) {
	if paper == "" {
		return host.Local(), nil
	}
	text, err := os.ReadFile(paper)
	if err != nil {
		return host.Host{}, usage(fmt.Errorf("read host: %w", err))
	}
	h, err := paperhost.Parse(string(text))
	if err != nil {
		return host.Host{}, usage(err)
	}
	return h, nil
}
