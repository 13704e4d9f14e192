package world

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/congctl/congctl/internal/core/outcome"
)

// String tells the plan line by line, for tests and for people.
func (p *plan) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "mtu %d", p.mtu)
	if p.txQueue > 0 {
		fmt.Fprintf(&b, ", %s %s txqueuelen %d", bn, wan, p.txQueue)
	}
	if p.segment {
		fmt.Fprintf(&b, ", %s %s tso off gso off", srv, bn)
	}
	if p.oneByOne {
		fmt.Fprintf(&b, " gso_max_segs 1")
	}
	b.WriteByte('\n')
	for i := range p.places {
		at := &p.places[i]
		fmt.Fprintf(&b, "%s %s %s", at.node, at.placeText(), at.spec)
		if len(at.roles) > 0 {
			fmt.Fprintf(&b, "  [%s]", strings.Join(at.roles, ", "))
		}
		b.WriteByte('\n')
	}
	for _, c := range p.changes {
		at := &p.places[c.at]
		fmt.Fprintf(&b, "at %d us: %s %s %s\n", c.atUs, at.node, at.placeText(), c.spec)
	}
	for _, s := range p.ends {
		fmt.Fprintf(&b, "%s %s: %s = %s\n", srv, cli, s.key, s.value)
	}
	return b.String()
}

func (at *place) placeText() string {
	if at.major == 0 {
		return at.link
	}
	if at.parent == 0 {
		return fmt.Sprintf("%s root %d:", at.link, at.major)
	}
	return fmt.Sprintf("%s parent %d:1 %d:", at.link, at.parent, at.major)
}

// plays tells whether the place has a role.
func (at *place) plays(role string) bool { return slices.Contains(at.roles, role) }

func sortedSettings(m map[string]string) (s []setting) {
	for _, key := range slices.Sorted(maps.Keys(m)) {
		s = append(s, setting{key, m[key]})
	}
	return s
}

// neck is the place whose queue and counter the samples follow: the bottleneck, or the
// sender's own token bucket where that is narrower.
func (p *plan) neck(senderNarrower bool) *place {
	role := outcome.RoleBottleneck
	if senderNarrower {
		role = outcome.RoleSender
	}
	for i := range p.places {
		if p.places[i].plays(role) {
			return &p.places[i]
		}
	}
	return nil
}
