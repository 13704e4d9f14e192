package show

import (
	"fmt"
	"io"
	"strings"

	"github.com/congctl/congctl/internal/app/simulate"
)

// SimulatedRounds gives a function that prints one round on its own line, the heading
// before the first: a replay of days is read while it runs, so that no width can wait
// for the last line.
func SimulatedRounds(w io.Writer) func(simulate.Round) error {
	const columns = "%-20s  %-10s  %-5s  %-8s  %-5s  %-8s  %s\n"
	head := func() error {
		_, err := fmt.Fprintf(w, columns, "ROUND", "POP", "KNOWN", "SELECTED", "ADDED", "RELEASED", "CHANGES")
		return err
	}
	return func(r simulate.Round) error {
		if head != nil {
			if err := head(); err != nil {
				return err
			}
			head = nil
		}
		_, err := fmt.Fprintf(w, columns, stamp(r.RoundStart), r.PoP, fmt.Sprint(r.Known), fmt.Sprint(len(r.Selected)),
			fmt.Sprint(len(r.Added)), fmt.Sprint(len(r.Released)), changes(r))
		return err
	}
}

func changes(r simulate.Round) string {
	var list []string
	for _, p := range r.Added {
		list = append(list, "+"+p.String())
	}
	for _, p := range r.Released {
		list = append(list, "-"+p.String())
	}
	return or(strings.Join(list, " "), "-")
}
