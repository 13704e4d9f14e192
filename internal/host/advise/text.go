package show

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/congctl/congctl/internal/core/advise"
)

// Findings writes a report: one line for each check, and below those that are not ok
// the reason, the fix and its undo. Without all, those that are ok are only counted.
func Findings(w io.Writer, r advise.Report, all bool) error {
	ok := len(r.Findings) - r.Fails - r.Warns - r.Unknown
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	if all || ok < len(r.Findings) {
		fmt.Fprintln(t, "VERDICT\tFINDING\tFACT")
	}
	for _, f := range r.Findings {
		if f.Verdict == advise.OK && !all {
			continue
		}
		fmt.Fprintf(t, "%s\t%s\t%s\n", f.Verdict, f.ID, f.Fact)
		for _, more := range []struct{ name, text string }{{"why", f.Why}, {"fix", f.Fix}, {"undo", f.Undo}} {
			if more.text != "" {
				fmt.Fprintf(t, "\t  %s\t  %s\n", more.name, more.text)
			}
		}
	}
	if all || ok < len(r.Findings) {
		fmt.Fprintln(t)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintf(w, "Linux %s%s: %d ok, %d fail, %d warn, %d unknown\n", r.Kernel, after(", ", r.System), ok, r.Fails, r.Warns, r.Unknown)
	return err
}

func after(sep, s string) string {
	if s == "" {
		return ""
	}
	return sep + s
}

// Evidence writes the view that people compare before and after a change.
func Evidence(w io.Writer, e *advise.Evidence) error {
	var b strings.Builder
	for _, v := range e.Settings {
		value := v.Value
		if v.Unknown != "" {
			value = "(" + v.Unknown + ")"
		}
		fmt.Fprintf(&b, "%s = %s\n", v.Key, value)
	}
	b.WriteString("\n")
	for _, q := range e.Qdiscs {
		place := q.Parent
		if place != "root" && place != "ingress" {
			place = "parent " + place
		}
		fmt.Fprintf(&b, "qdisc %s %s dev %s %s\n", q.Kind, q.Handle, q.Link, place)
	}
	b.WriteString("\n")
	for _, c := range e.Connections {
		fmt.Fprintf(&b, "%s %s %s cwnd:%d rtt:%.3fms pacing_rate:%.1fMbit/s%s\n", c.Local, c.Remote, c.Cong,
			c.CwndSegment, float64(c.RttUs)/1000, float64(c.PacingRate)*8/1e6, after(" ", c.State))
	}
	if len(e.Connections) == 0 {
		b.WriteString("no connection with another host is open\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}
