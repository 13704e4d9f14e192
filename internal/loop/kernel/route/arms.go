package route

import (
	"fmt"
	"net/netip"
	"slices"

	"github.com/congctl/congctl/internal/core/abi"
	"github.com/congctl/congctl/internal/core/plan"
	"github.com/congctl/congctl/internal/core/record"
)

// Skip is a prefix of the treatment arm that is not treated, or not all of it,
// and why.
type Skip struct {
	Prefix record.Prefix `json:"prefix"`
	Partly bool          `json:"partly,omitempty"` // some of its addresses are treated
	Reason string        `json:"reason"`
}

// target is a prefix to treat now.
type target struct {
	prefix record.Prefix
	cong   string
}

// armAt is the arm in force at nowNs on CLOCK_BOOTTIME, by the rule of the
// kernel program (bpf/congctl.bpf.c): beyond its expiry an entry treats nobody.
func armAt(p *abi.Policy, nowNs int64) record.Arm {
	now := uint64(max(nowNs, 0))
	switch {
	case now >= p.ExpiresNs:
		return record.ArmNone
	case now < p.SwitchNs:
		return p.ArmNow
	case now < p.UntilNs:
		return p.ArmNext
	}
	return record.ArmUnknown
}

// targets picks what is to be treated now, by prefix.
func targets(prog plan.Program, nowNs int64, denied []netip.Prefix) (out []target, skips []Skip, err error) {
	seen := make(map[record.Prefix]bool, len(prog.Entries))
	for i := range prog.Entries {
		e := &prog.Entries[i]
		if !e.Prefix.Valid() {
			return nil, nil, fmt.Errorf("prefix %s: not a /24 or /56", e.Prefix)
		}
		if seen[e.Prefix] {
			return nil, nil, fmt.Errorf("prefix %s: stands twice", e.Prefix)
		}
		seen[e.Prefix] = true
		if armAt(&e.Policy, nowNs) != record.ArmTreatment {
			continue
		}
		if why := forbids(e, denied); why != "" {
			skips = append(skips, Skip{Prefix: e.Prefix, Reason: why})
			continue
		}
		out = append(out, target{e.Prefix, e.Policy.Cong.String()})
	}
	slices.SortFunc(out, func(a, b target) int { return a.prefix.Netip().Addr().Compare(b.prefix.Netip().Addr()) })
	return out, skips, nil
}

func forbids(e *plan.ProgramEntry, denied []netip.Prefix) string {
	if e.Policy.Cong.String() == "" {
		return "its entry names no congestion control"
	}
	if e.Policy.CapBytesPerS != 0 {
		return "its pacing cap belongs to the treatment, and a route carries none"
	}
	for _, d := range denied {
		if d.Overlaps(e.Prefix.Netip()) {
			return fmt.Sprintf("denied range %s touches it, and a route treats all of a prefix", d)
		}
	}
	return ""
}
