package enable

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/congctl/congctl/internal/answer"
	"github.com/congctl/congctl/internal/change"
)

// View is the answer of host
type View struct {
	Cong    string        `json:"cong"` // what is turned on
	DryRun  bool          `json:"dry_run"`
	Journal string        `json:"journal,omitempty"` // of this change, "" if nothing was written
	Ended   []string      `json:"ended"`             // interrupted changes that were ended first
	Steps   []change.Step `json:"steps"`
	Notes   []Note        `json:"notes"`
	Missing []Missing     `json:"missing"`
	Proofs  []string      `json:"proofs"`         // what new connections report
	Undo    string        `json:"undo,omitempty"` // the command that undoes it
}

// Write writes what is written, or would be, and what is left alone.
func (v View) Write(w io.Writer) error {
	for _, m := range v.Missing {
		fmt.Fprintf(w, "missing: %s\n    %s\n", m.What, m.Fix)
	}
	for _, id := range v.Ended {
		fmt.Fprintf(w, "completed the interrupted change %s\n", id)
	}
	if err := writeSteps(w, v.Steps); err != nil {
		return err
	}
	for _, n := range v.Notes {
		fmt.Fprintf(w, "note: %s: %s\n", n.About, n.Text)
	}
	switch {
	case len(v.Missing) > 0:
	case len(v.Steps) == 0 && len(v.Ended) == 0:
		fmt.Fprintln(w, Spelled(v.Cong)+" is on already"+lasting(v.Notes)+"; nothing to write")
	case v.DryRun:
		fmt.Fprintf(w, "%s would be written; this is a dry run, nothing was written\n", answer.Count(len(v.Steps), "value"))
	case v.Journal != "":
		fmt.Fprintf(w, "%s written, journal %s; undo: %s\n", answer.Count(len(v.Steps), "value"), v.Journal, v.Undo)
	}
	for _, p := range v.Proofs {
		fmt.Fprintf(w, "a new connection to %s\n", p)
	}
	return nil
}

// Spelled is a congestion control's name in a sentence.
func Spelled(cong string) string {
	if cong == Cong {
		return "BBR"
	}
	return cong
}

// lasting is printed unless a note says otherwise.
func lasting(notes []Note) string {
	if slices.ContainsFunc(notes, func(n Note) bool { return n.About == AboutReboot }) {
		return ""
	}
	return ", now and after a reboot"
}

// writeSteps writes the writes of a plan, and the lines that files get.
func writeSteps(w io.Writer, steps []change.Step) error {
	if len(steps) == 0 {
		return nil
	}
	var rows [][]string
	for i, s := range steps {
		rows = append(rows, []string{fmt.Sprint(i + 1), string(s.Kind), s.Target, cell(s.Kind, s.Old), cell(s.Kind, s.New), s.Why})
	}
	if err := answer.Table(w, "STEP KIND TARGET OLD NEW FOR", rows); err != nil {
		return err
	}
	for _, s := range steps {
		if s.Kind == change.File && s.New.Present {
			fmt.Fprintf(w, "%s:\n", s.Target)
			for _, l := range added(s.Old.Text, s.New.Text) {
				fmt.Fprintf(w, "    + %s\n", l)
			}
		}
	}
	return nil
}

func cell(k change.Kind, v change.Value) string {
	switch {
	case !v.Present:
		return "absent"
	case k == change.Qdisc:
		return Summary(v)
	case k == change.File:
		return answer.Count(strings.Count(v.Text, "\n"), "line")
	case k == change.Dir:
		return "empty"
	}
	return v.Text
}

// added returns the new lines: old and new without their common beginning and end.
func added(from, to string) []string {
	old, now := split(from), split(to)
	head := 0
	for head < len(old) && head < len(now) && old[head] == now[head] {
		head++
	}
	old, now = old[head:], now[head:]
	for len(old) > 0 && len(now) > 0 && old[len(old)-1] == now[len(now)-1] {
		old, now = old[:len(old)-1], now[:len(now)-1]
	}
	return now
}

func split(text string) []string {
	if text == "" {
		return nil
	}
	return strings.Split(strings.TrimSuffix(text, "\n"), "\n")
}

// UndoView is the answer of a verb that undoes changes.
type UndoView struct {
	Restored []UndoneStep `json:"restored"`
	Left     []UndoneStep `json:"left"`
	Refused  []UndoneStep `json:"refused"`
	Failed   []UndoneStep `json:"failed"` // could not be written
}

// UndoneStep is one undone step.
type UndoneStep struct {
	Kind   change.Kind  `json:"kind"`
	Target string       `json:"target"`
	Value  change.Value `json:"value"` // the value before the change
	Text   string       `json:"text,omitempty"`
}

// Write writes what was restored, what stays, what somebody else changed since, and what failed.
func (v UndoView) Write(w io.Writer) error {
	var rows [][]string
	for _, g := range []struct {
		result string
		steps  []UndoneStep
	}{{"restored", v.Restored}, {"left", v.Left}, {"refused", v.Refused}, {"failed", v.Failed}} {
		for _, s := range g.steps {
			rows = append(rows, []string{g.result, string(s.Kind), s.Target, cell(s.Kind, s.Value), s.Text})
		}
	}
	return answer.Table(w, "RESULT KIND TARGET BEFORE REASON", rows)
}
