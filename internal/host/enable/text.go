package show

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/congctl/congctl/internal/core/change"
	"github.com/congctl/congctl/internal/core/enable"
)

// EnableView is the answer of host enable.
type EnableView struct {
	DryRun  bool             `json:"dry_run"`
	Journal string           `json:"journal,omitempty"` // of this change, "" when nothing was written
	Ended   []string         `json:"ended,omitempty"`   // interrupted changes that were ended first
	Steps   []change.Step    `json:"steps"`
	Notes   []enable.Note    `json:"notes"`
	Missing []enable.Missing `json:"missing,omitempty"`
	Proofs  []string         `json:"proofs,omitempty"` // what new connections report
	Undo    string           `json:"undo,omitempty"`   // the command that takes it back
}

// Enable prints what is written, or would be, and what is left alone.
func Enable(w io.Writer, v EnableView) error {
	for _, m := range v.Missing {
		fmt.Fprintf(w, "missing: %s\n    %s\n", m.What, m.Who)
	}
	for _, id := range v.Ended {
		fmt.Fprintf(w, "ended the interrupted change %s\n", id)
	}
	if err := Steps(w, v.Steps); err != nil {
		return err
	}
	for _, n := range v.Notes {
		fmt.Fprintf(w, "note: %s: %s\n", n.About, n.Text)
	}
	switch {
	case len(v.Missing) > 0:
	case len(v.Steps) == 0 && len(v.Ended) == 0:
		fmt.Fprintln(w, "BBR is on already"+lasting(v.Notes)+"; nothing to write")
	case v.DryRun:
		fmt.Fprintf(w, "%s would be written; nothing was\n", count(len(v.Steps), "value"))
	case v.Journal != "":
		fmt.Fprintf(w, "%s written, journal %s; undo: %s\n", count(len(v.Steps), "value"), v.Journal, v.Undo)
	}
	for _, p := range v.Proofs {
		fmt.Fprintf(w, "a new connection to %s\n", p)
	}
	return nil
}

// lasting is said where no note tells otherwise.
func lasting(notes []enable.Note) string {
	if slices.ContainsFunc(notes, func(n enable.Note) bool { return n.About == enable.AboutReboot }) {
		return ""
	}
	return ", now and after a reboot"
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// Steps prints the writes of a plan, and the lines that files get.
func Steps(w io.Writer, steps []change.Step) error {
	if len(steps) == 0 {
		return nil
	}
	var rows [][]string
	for i, s := range steps {
		rows = append(rows, []string{fmt.Sprint(i + 1), string(s.Kind), s.Target, cell(s.Kind, s.Old), cell(s.Kind, s.New), s.Why})
	}
	if err := table(w, "STEP KIND TARGET OLD NEW FOR", rows); err != nil {
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
		return enable.Summary(v)
	case k == change.File:
		return count(strings.Count(v.Text, "\n"), "line")
	case k == change.Dir:
		return "empty"
	}
	return v.Text
}

// added are the lines that are new: what old and new begin and end with is left out.
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
	return slices.Collect(func(yield func(string) bool) {
		for l := range strings.Lines(text) {
			if !yield(strings.TrimSuffix(l, "\n")) {
				return
			}
		}
	})
}

// UndoView is the answer of a verb that takes changes back.
type UndoView struct {
	Restored []UndoneStep `json:"restored"`
	Left     []UndoneStep `json:"left"`
	Refused  []UndoneStep `json:"refused"`
	Failed   []UndoneStep `json:"failed"` // could not be written
}

// UndoneStep is one of them.
type UndoneStep struct {
	Kind   change.Kind  `json:"kind"`
	Target string       `json:"target"`
	Value  change.Value `json:"value"` // that it had before
	Text   string       `json:"text,omitempty"`
}

// Undo prints what came back, what stays so, what somebody changed since, and what failed.
func Undo(w io.Writer, v UndoView) error {
	var rows [][]string
	for _, g := range []struct {
		result string
		steps  []UndoneStep
	}{{"restored", v.Restored}, {"left", v.Left}, {"refused", v.Refused}, {"failed", v.Failed}} {
		for _, s := range g.steps {
			rows = append(rows, []string{g.result, string(s.Kind), s.Target, cell(s.Kind, s.Value), s.Text})
		}
	}
	return table(w, "RESULT KIND TARGET BEFORE REASON", rows)
}
