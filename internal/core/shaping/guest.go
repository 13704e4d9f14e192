package shaping

import (
	"fmt"
	"slices"
)

// Guest is what somebody hung below a bucket of ours, nil for nothing. The kernel's own
// queue has no handle.
func (q Qdisc) Guest() *Qdisc {
	if !q.Ours() {
		return nil
	}
	i := slices.IndexFunc(q.Below, func(b Qdisc) bool {
		return b.Handle != 0 && !(b.Handle == ChildHandle && slices.Contains(Inners, b.Kind))
	})
	if i < 0 {
		return nil
	}
	return &q.Below[i]
}

// yields is an error where a guest of a bucket may not be put aside.
func (q Qdisc) yields(link string, replace bool) error {
	g := q.Guest()
	switch {
	case g == nil:
		return nil
	case g.stuck() != "":
		return fmt.Errorf("shape %s: below its bucket hangs %s, %w: %s; keep the script that made it; congctl shape clear --force takes both away",
			link, g, ErrStuck, g.stuck())
	case !replace:
		return fmt.Errorf("shape %s: %w hangs below its bucket, %s; look with congctl shape show %s, then add --replace to put it aside (clear brings it back)", link, ErrForeign, g, link)
	}
	return nil
}
