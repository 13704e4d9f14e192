package show

import (
	"fmt"
	"io"
	"slices"

	"github.com/congctl/congctl/internal/app/control"
	"github.com/congctl/congctl/internal/core/journal"
)

// Rounds prints decision rounds, oldest first, so that the last line is now.
func Rounds(w io.Writer, rounds []journal.Round) error {
	if len(rounds) == 0 {
		_, err := fmt.Fprintln(w, "no rounds yet: the first window has not closed")
		return err
	}
	out := make([][]string, 0, len(rounds))
	for _, r := range slices.Backward(rounds) {
		out = append(out, []string{
			stamp(r.RoundStart), fmt.Sprint(r.Known), fmt.Sprint(r.Ranked), fmt.Sprint(r.InGroup), mbit(r.BoundaryBytesPerS),
			fmt.Sprint(r.Selected), fmt.Sprint(r.New), fmt.Sprint(r.Released), fmt.Sprint(r.Refused), or(r.Note, "-"),
		})
	}
	return table(w, "ROUND KNOWN RANKED IN-GROUP BOUNDARY-MBIT/S SELECTED NEW RELEASED REFUSED NOTE", out)
}

// Events prints events, oldest first.
func Events(w io.Writer, events []control.Event) error {
	out := make([][]string, 0, len(events))
	for _, e := range slices.Backward(events) {
		prefix := "-"
		if e.Prefix != 0 {
			prefix = e.Prefix.String()
		}
		out = append(out, []string{stamp(e.AtUnixS), e.Kind, prefix, e.Text})
	}
	return table(w, "TIME KIND PREFIX WHAT", out)
}
