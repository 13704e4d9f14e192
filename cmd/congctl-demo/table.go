package main

import (
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/congctl/congctl/internal/app/control"
	"github.com/congctl/congctl/internal/core/record"
)

// printTable is the account of all networks: what was decided and why, and what
// the kernel ran.
func printTable(w io.Writer, all []verdict, rows map[record.Prefix]control.PrefixRow) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "PREFIX\tLINK\tSTATE\tNO PLAN\tTREATMENT\tCONTROL\tSTOPPED\tRESUMED\tSMALL\tWHY")
	for _, v := range all {
		p, _ := record.PrefixOf(v.prefix.Addr())
		r := rows[p]
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", v.prefix, v.link(), v.state(r),
			v.large[phaseBefore].of(defaultCong), v.large[phaseTreat].of(treatment), v.large[phaseControl].of(defaultCong),
			v.large[phaseStopped].of(defaultCong), v.large[phaseResumed].of(treatment), v.small.of(defaultCong), v.why(r))
	}
	return t.Flush()
}

// of says "bbr 12/12": so many of those that should.
func (s share) of(cong string) string {
	if s.all == 0 {
		return "-"
	}
	return fmt.Sprintf("%s %d/%d", cong, s.right, s.all)
}

func (v verdict) state(r control.PrefixRow) string {
	switch {
	case v.term != nil && v.term.to == 0:
		return "selected"
	case v.term != nil:
		return "released"
	case r.Guard != "":
		return "refused: " + r.Guard
	}
	return "left alone"
}

func (v verdict) why(r control.PrefixRow) string {
	if v.term != nil {
		return v.term.entry.Reason
	}
	return fmt.Sprintf("duty %.2f flap %.2f perf %.0f kB/s n=%d", r.Duty, r.Flap, r.PerfBytesPerS/1e3, r.Known)
}

// printChange shows before and after, for what it is worth.
func printChange(w io.Writer, all []verdict) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "PREFIX\tRESPONSES\tDELIVERY RATE\tGOODPUT\tRETRANSMITTED")
	for _, v := range all {
		b, a := v.before, v.after
		if len(a.rates) == 0 {
			continue
		}
		fmt.Fprintf(t, "%s\t%d -> %d\t%.2f -> %.2f Mbit/s\t%.2f -> %.2f Mbit/s\t%.1f -> %.1f %%\n", v.prefix,
			len(b.rates), len(a.rates), median(b.rates), median(a.rates), median(b.goodputs), median(a.goodputs),
			100*b.retransShare(), 100*a.retransShare())
	}
	return t.Flush()
}
