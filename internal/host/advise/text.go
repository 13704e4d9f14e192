package advise

import (
	"fmt"
	"io"
	"strings"

	"github.com/congctl/congctl/internal/answer"
)

// Write writes the report: one line for each check, and below those that are not ok the
// reason, the fix and its undo. Without all it only counts those that are ok.
func (r Report) Write(w io.Writer, all bool) error {
	ok := len(r.Findings) - r.Fails - r.Warns - r.Unknown
	var rows [][]string
	for _, f := range r.Findings {
		if f.Verdict == OK && !all {
			continue
		}
		rows = append(rows, []string{string(f.Verdict), f.ID, f.Fact})
		for _, more := range []struct{ name, text string }{{"why", f.Why}, {"fix", f.Fix}, {"undo", f.Undo}} {
			if more.text != "" {
				rows = append(rows, []string{"", "  " + more.name, "  " + more.text})
			}
		}
	}
	if len(rows) > 0 {
		if err := answer.Table(w, "VERDICT FINDING FACT", rows); err != nil {
			return err
		}
		fmt.Fprintln(w)
	}
	name := r.Kernel
	if r.System != "" {
		name += ", " + r.System
	}
	_, err := fmt.Fprintf(w, "Linux %s: %d ok, %d fail, %d warn, %d unknown\n", name, ok, r.Fails, r.Warns, r.Unknown)
	return err
}

// Write writes the view that people compare before and after a change.
func (e *Evidence) Write(w io.Writer) error {
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
		line := fmt.Sprintf("%s %s %s cwnd:%d rtt:%.3fms pacing_rate:%.1fMbit/s %s", c.Local, c.Remote, c.Cong,
			c.CwndSegment, float64(c.RttUs)/1000, float64(c.PacingRate)*8/1e6, c.State)
		b.WriteString(strings.TrimRight(line, " ") + "\n")
	}
	if len(e.Connections) == 0 {
		b.WriteString("no connection with another host is open\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}
