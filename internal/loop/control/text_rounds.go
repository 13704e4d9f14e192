package control

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/congctl/congctl/internal/answer"
	"github.com/congctl/congctl/internal/loop/journal"
)

// WriteRounds writes decision rounds in their order.
func WriteRounds(w io.Writer, rounds []journal.Round) error {
	if len(rounds) == 0 {
		_, err := fmt.Fprintln(w, "no rounds yet: the first window has not closed")
		return err
	}
	out := make([][]string, 0, len(rounds))
	for i, r := range rounds {
		if i > 0 && r.Window > rounds[i-1].RoundStart { // congctl was down, or the store has lost some
			none := time.Duration(r.Window-rounds[i-1].RoundStart) * time.Second
			r.Note = strings.TrimSuffix("no rounds in the "+strings.TrimSuffix(none.String(), "0s")+" before; "+r.Note, "; ")
		}
		out = append(out, []string{
			answer.Stamp(r.RoundStart), fmt.Sprint(r.Known), fmt.Sprint(r.Ranked), fmt.Sprint(r.InGroup), answer.Mbit(r.BoundaryBytesPerS),
			fmt.Sprint(r.Selected), fmt.Sprint(r.New), fmt.Sprint(r.Released), fmt.Sprint(r.Refused), answer.Or(r.Note, "-"),
		})
	}
	return answer.Table(w, "ROUND KNOWN RANKED GROUP BOUNDARY-MBIT/S SELECTED NEW RELEASED REFUSED NOTE", out)
}

// WriteEvents writes events in their order.
func WriteEvents(w io.Writer, events []journal.Event) error {
	out := make([][]string, 0, len(events))
	for _, e := range events {
		prefix := "-"
		if e.Prefix != 0 {
			prefix = e.Prefix.String()
		}
		out = append(out, []string{answer.Stamp(e.At), e.Kind, prefix, e.Text})
	}
	return answer.Table(w, "TIME KIND PREFIX WHAT", out)
}
