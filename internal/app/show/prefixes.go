package show

import (
	"fmt"
	"io"

	"github.com/congctl/congctl/internal/app/control"
	"github.com/congctl/congctl/internal/core/record"
)

// Prefixes prints the table of client prefixes.
func Prefixes(w io.Writer, rows []control.PrefixRow) error {
	if len(rows) == 0 {
		_, err := fmt.Fprintln(w, "no prefixes yet: the first window has not closed, or no client moved enough")
		return err
	}
	out := make([][]string, 0, len(rows))
	for _, r := range rows {
		arm := "-"
		if r.Arm != record.ArmNone {
			arm = r.Arm.String() + " until " + clockTime(r.ArmUntil)
		}
		out = append(out, []string{
			r.Prefix.String(), string(r.State), mbit(r.PerfBytesPerS), fmt.Sprint(r.Conns), yes(r.InGroup),
			fmt.Sprint(r.Known), fmt.Sprintf("%.2f", r.Duty), fmt.Sprintf("%.2f", r.Flap),
			or(r.Treatment, "-"), arm, or(r.Guard, "-"),
		})
	}
	return table(w, "PREFIX STATE MBIT/S CONNS IN-GROUP KNOWN DUTY FLAP TREATMENT ARM GUARD", out)
}
