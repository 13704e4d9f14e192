package main

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/congctl/congctl/internal/host/advise"
)

// Exit codes of host check.
const (
	exitFindings = 1
	exitUnknown  = 2
)

func newHostCheck(g *global) *cobra.Command {
	var all, evidence, strict bool
	cmd := &cobra.Command{
		Use:   "check",
		Short: "Say what keeps BBR from running well on this host, now and after a reboot",
		Long: `check reads this host's kernel, settings, interfaces and connections, and changes
nothing. It needs neither root nor other programs. What you may not see is unknown,
and the fix says how to see it.

Exit codes: 0 nothing fails; 1 something fails, or, with --strict, warns; 2 nothing
fails but something is unknown, or wrong usage.`,
		Example: "  congctl host check\n  sudo congctl host check --all -o json\n  congctl host check --evidence",
		RunE: func(cmd *cobra.Command, _ []string) error {
			facts := readHost()
			if evidence {
				e := advise.NewEvidence(&facts)
				return g.print(cmd, e, func(w io.Writer) error { return e.Write(w) })
			}
			r := advise.NewReport(&facts)
			if err := g.print(cmd, r, func(w io.Writer) error { return r.Write(w, all) }); err != nil {
				return err
			}
			return checked(r, strict)
		},
	}
	cmd.Flags().BoolVarP(&all, "all", "a", false, "also show what is ok")
	cmd.Flags().BoolVar(&evidence, "evidence", false, "show settings, queues and connections instead, to compare before and after")
	cmd.Flags().BoolVar(&strict, "strict", false, "exit 1 for a warning too")
	return cmd
}

// checked returns the exit code of a report.
func checked(r advise.Report, strict bool) error {
	switch {
	case r.Fails > 0, strict && r.Warns > 0:
		return &coded{exitFindings, r.Next, fmt.Errorf("%d of %d checks fail, %d warn", r.Fails, len(r.Findings), r.Warns)}
	case r.Unknown > 0:
		return &coded{exitUnknown, "", fmt.Errorf("%d of %d checks are unknown", r.Unknown, len(r.Findings))}
	}
	return nil
}
