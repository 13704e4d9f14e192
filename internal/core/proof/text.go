package proof

import (
	"fmt"
	"io"
	"text/tabwriter"
)

// Table writes the report for people.
func (r *Report) Table(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "STEP\tVERDICT\tSAW")
	for _, s := range r.Steps {
		verdict := "ok"
		if !s.OK {
			verdict = "failed"
		}
		fmt.Fprintf(t, "%s\t%s\t%s\n", s.Step, verdict, s.Saw)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	verdict := "BBR can be turned on and is faster than CUBIC where packets are lost"
	if !r.Proven {
		verdict = "not proven"
	}
	_, err := fmt.Fprintf(w, "\nLinux %s: %s.\n", r.Release, verdict)
	return err
}
