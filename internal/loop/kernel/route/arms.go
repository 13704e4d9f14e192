package route

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"

	"github.com/congctl/congctl/internal/loop/plan"
	"github.com/congctl/congctl/internal/tcp/abi"
	"github.com/congctl/congctl/internal/tcp/record"
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

// armAt returns the arm in force at nowNs on CLOCK_BOOTTIME, by the rule of the kernel
// program (bpf/congctl.bpf.c): beyond its expiry an entry treats nothing.
func armAt(p *abi.Policy, nowNs int64) record.Arm {
	now := uint64(max(nowNs, 0))
	switch {
	case now >= p.ExpiresNs:
		return record.ArmNone
	case p.Role != record.ArmNone: // A/A: its treatment is the default, and so is no route
		return p.Role
	case now < p.SwitchNs:
		return p.ArmNow
	case now < p.UntilNs:
		return p.ArmNext
	}
	return record.ArmUnknown
}

// targets returns the prefixes to treat now, in order.
func targets(prog plan.Program, nowNs int64, denied []netip.Prefix) (out []target, skips []Skip, err error) {
	seen := make(map[record.Prefix]bool, len(prog.Entries))
	for i := range prog.Entries {
		e := &prog.Entries[i]
		if e.Prefix == record.All {
			return nil, nil, errors.New("policy.select all: routes treat single networks only; run on a kernel of tier good, or select by benefit")
		}
		if !e.Prefix.Valid() {
			return nil, nil, fmt.Errorf("prefix %s: not a /24 or /56", e.Prefix)
		}
		if seen[e.Prefix] {
			return nil, nil, fmt.Errorf("prefix %s: listed twice", e.Prefix)
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
		return "its treatment has a pacing cap, which a route cannot set"
	}
	for _, d := range denied {
		if d.Overlaps(e.Prefix.Netip()) {
			return fmt.Sprintf("denied range %s overlaps it, and a route treats the whole prefix", d)
		}
	}
	return ""
}
