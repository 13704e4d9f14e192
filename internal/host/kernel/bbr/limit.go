package bbr

import (
	"fmt"
	"slices"
	"strings"

	"github.com/congctl/congctl/internal/change"
)

// LimitedError names the links that cannot be restored while a limit of congctl shape has
// put aside what enable put there. Restoring only the others would leave the change half
// in force; restoring these, too, would lose the limit.
type LimitedError []string

func (l LimitedError) Error() string {
	return fmt.Sprintf("limited by congctl shape, on top of what enable set: %s; nothing was undone", strings.Join(l, ", "))
}

// limited finds limits over what these changes put on links in this boot and must still
// undo: a reboot has cleared the rest, and what is there since stays.
func (h *Host) limited(open []*change.Journal) error {
	var links LimitedError
	for _, j := range open {
		for i, s := range j.Steps {
			m := j.Marks[i]
			if s.Kind != change.Qdisc || j.Boot != h.Boot || m.Lost || slices.Contains(links, s.Target) {
				continue
			}
			if !j.Open(i) && m.Status != change.Refused {
				continue
			}
			v, err := h.Engine.Read(s.Kind, s.Target)
			if err != nil || !v.Present {
				continue // undo says what is the matter
			}
			nodes, err := change.ParseTree(v.Text)
			if err == nil && len(nodes) > 0 && nodes[0].Kind == "tbf" && nodes[0].Handle>>16 == change.LimitHandle {
				links = append(links, s.Target)
			}
		}
	}
	if len(links) > 0 {
		return links
	}
	return nil
}
