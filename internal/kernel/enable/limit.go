package enable

import (
	"fmt"
	"slices"
	"strings"

	corechange "github.com/congctl/congctl/internal/core/change"
	"github.com/congctl/congctl/internal/core/shaping"
)

// LimitedError names the links of which nothing can be taken back while a limit of
// congctl shape has put aside what enable put there. To restore the others only would
// leave the change half in force; to restore these, too, would lose the limit.
type LimitedError []string

func (l LimitedError) Error() string {
	return fmt.Sprintf("limited by congctl shape over what enable put there: %s; nothing was taken back", strings.Join(l, ", "))
}

// limited finds limits over what these changes put on links in this boot and have still to
// take back: a reboot has taken the rest away, and what stands there since is left.
func (h *Host) limited(open []*corechange.Journal) error {
	var links LimitedError
	for _, j := range open {
		for i, s := range j.Steps {
			m := j.Marks[i]
			if s.Kind != corechange.Qdisc || j.Boot != h.Boot || m.Lost || slices.Contains(links, s.Target) {
				continue
			}
			if !j.Open(i) && m.Status != corechange.Refused {
				continue
			}
			v, err := h.Engine.Read(s.Kind, s.Target)
			if err != nil || !v.Present {
				continue // undo says what is the matter
			}
			nodes, err := corechange.ParseTree(v.Text)
			if err == nil && (shaping.Qdisc{Kind: nodes[0].Kind, Handle: uint16(nodes[0].Handle >> 16)}).Ours() {
				links = append(links, s.Target)
			}
		}
	}
	if len(links) > 0 {
		return links
	}
	return nil
}
