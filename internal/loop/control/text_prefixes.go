package control

import (
	"fmt"
	"io"

	"github.com/congctl/congctl/internal/answer"
	"github.com/congctl/congctl/internal/tcp/record"
)

// WritePrefixes writes the table of client prefixes. filtered: only some were requested.
func WritePrefixes(w io.Writer, rows []PrefixRow, filtered bool) error {
	if len(rows) == 0 {
		text := "no prefixes yet: the first window has not closed, or no client moved enough"
		if filtered {
			text = "no such prefixes; congctl prefixes lists all"
		}
		_, err := fmt.Fprintln(w, text)
		return err
	}
	out := make([][]string, 0, len(rows))
	for _, r := range rows {
		arm := "-"
		if r.Arm != record.ArmNone {
			arm = r.Arm.String() + " " + answer.Clock(r.ArmUntil)
		}
		out = append(out, []string{
			r.Prefix.String(), string(r.State), answer.Mbit(r.PerfBytesPerS), answer.Mbit(r.TreatedBytesPerS), r.Shown(), fmt.Sprint(r.Conns),
			fmt.Sprint(r.Known), answer.Or(r.Treatment, "-"), arm, answer.Or(r.Guard, "-"), answer.Or(string(r.Signature), "-"),
		})
	}
	return answer.Table(w, "PREFIX STATE MBIT/S TREATED SHOWN CONNS KNOWN CONG ARM-UNTIL GUARD SIGNATURE", out)
}
