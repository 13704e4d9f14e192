package policy

import (
	"github.com/congctl/congctl/internal/core/ranges"
	"github.com/congctl/congctl/internal/core/record"
)

// Draws are the experiment's keyed draws, which core/plan makes: the same that
// the plan's readers make, so that a block's arm here is the block's arm there.
type Draws interface {
	// Role is ArmHoldout or ArmAA for a prefix that is drawn for it, else ArmNone.
	Role(record.Prefix) record.Arm
	// Arm is ArmTreatment or ArmControl: a prefix's in a block, in groups of so many blocks.
	Arm(p record.Prefix, groupLen int, block int64) record.Arm
}

// role: who is named needs no draw.
func (e *Engine) role(p record.Prefix) record.Arm {
	if _, ok := ranges.Covering(e.rules.HoldoutPrefixes, p.Netip()); ok {
		return record.ArmHoldout
	}
	if _, ok := ranges.Covering(e.rules.AAPrefixes, p.Netip()); ok {
		return record.ArmAA
	}
	return e.draws.Role(p)
}

// groupLen is the number of blocks in a chosen prefix's groups.
func (e *Engine) groupLen(s *Selected) int {
	if s.State == StatePromoted {
		return e.rules.Trial.GroupPromoted
	}
	return e.rules.Trial.GroupTrial
}

// blockOf is the number of the block that holds a time, Unix seconds from 0 on.
func (e *Engine) blockOf(unix int64) int64 { return unix / e.rules.Trial.BlockSeconds }

// nextBlock is the start of the first block that begins at a time or later.
func (e *Engine) nextBlock(unix int64) int64 {
	b := e.rules.Trial.BlockSeconds
	return (unix + b - 1) / b * b
}
