package control

import (
	"fmt"
	"io"

	"github.com/congctl/congctl/internal/answer"
)

// WriteHistory writes plans in their order.
func WriteHistory(w io.Writer, plans []PlanLine) error {
	if len(plans) == 0 {
		_, err := fmt.Fprintln(w, "no plans yet: the first window has not closed")
		return err
	}
	out := make([][]string, 0, len(plans))
	for _, p := range plans {
		hash := p.Hash
		if len(hash) > shortHash {
			hash = hash[:shortHash]
		}
		out = append(out, []string{
			answer.Stamp(p.CreatedUnixS), fmt.Sprint(p.Serial), p.By, fmt.Sprint(p.Networks), fmt.Sprintf("+%d", p.Added), fmt.Sprintf("-%d", p.Removed),
			fmt.Sprintf("~%d", p.Changed), hash, answer.Or(p.State, "-"), answer.Or(p.Why, "-"),
		})
	}
	return answer.Table(w, "CREATED SERIAL BY NETWORKS ADDED REMOVED CHANGED HASH STATE WHY", out)
}

// shortHash is enough to tell plans apart; JSON has all of it.
const shortHash = 12
