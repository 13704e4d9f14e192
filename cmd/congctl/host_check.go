package main

import (
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/congctl/congctl/internal/app/show"
	"github.com/congctl/congctl/internal/core/advise"
	"github.com/congctl/congctl/internal/kernel/host"
	"github.com/congctl/congctl/internal/kernel/host/paperhost"
)

// Exit codes of host check, as of a test: what was asked is whether all is well.
const (
	exitFindings = 1
	exitUnknown  = 2
)

func newHostCheck(g *global) *cobra.Command {
	var paper string
	var all, evidence bool
	cmd := &cobra.Command{
		Use:   "check",
		Short: "Say what keeps BBR from running well on this host, now and after a boot",
		Long: `check reads this host's kernel, settings, interfaces and connections, and changes
nothing. It needs neither root nor other programs; what a user may not see is
unknown, with who can grant it.

Exit codes: 0 all is well; 1 there are findings (fail or warn); 2 none, but
something could not be told, or wrong usage.`,
		Example: "  congctl host check\n  sudo congctl host check --all -o json\n  congctl host check --evidence",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			h, err := theHost(paper)
			if err != nil {
				return err
			}
			facts := h.Read()
			if evidence {
				e := advise.NewEvidence(&facts)
				return g.print(cmd, e, func(w io.Writer) error { return show.Evidence(w, e) })
			}
			r := advise.NewReport(&facts)
			if err := g.print(cmd, r, func(w io.Writer) error { return show.Findings(w, r, all) }); err != nil {
				return err
			}
			return checked(r)
		},
	}
	cmd.Flags().BoolVarP(&all, "all", "a", false, "show what is ok, too")
	cmd.Flags().BoolVar(&evidence, "evidence", false, "show settings, queues and connections instead, to compare before and after")
	cmd.Flags().StringVar(&paper, "paper", "", "check the host that this file describes instead of this one")
	return cmd
}

// checked is the exit code of a report.
func checked(r advise.Report) error {
	switch {
	case r.Fails+r.Warns > 0:
		return &coded{exitFindings, r.Next, fmt.Errorf("%d of %d checks fail, %d warn", r.Fails, len(r.Findings), r.Warns)}
	case r.Unknown > 0:
		return &coded{exitUnknown, "", fmt.Errorf("%d of %d checks could not tell", r.Unknown, len(r.Findings))}
	}
	return nil
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
		return host.Host{}, usage(fmt.Errorf("read host %s: %w", paper, err))
	}
	return h, nil
}
