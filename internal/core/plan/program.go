package plan

import (
	"github.com/congctl/congctl/internal/core/abi"
	"github.com/congctl/congctl/internal/core/inetdiag"
	"github.com/congctl/congctl/internal/core/record"
)

// Program is the plan as the kernel holds it, computed ahead of time: this
// block's arm, the next one's and the moment between them, so that an agent that
// stalls stretches no block. Wall time becomes CLOCK_BOOTTIME here, with the
// offset of one moment:
//
//	boot(t) = now_boot + (t - now_unix)
type Program struct {
	Plan     record.PlanID
	MinBytes uint64
	Entries  []ProgramEntry // by prefix
}

// ProgramEntry is one key and value of the policy map.
type ProgramEntry struct {
	Prefix record.Prefix
	Policy abi.Policy
}

const second = 1_000_000_000 // ns

// Program computes the map for a moment, given on both clocks in nanoseconds:
// nowUnixNs on the wall clock, nowBootNs on CLOCK_BOOTTIME. It holds for ttlNs,
// or until the plan expires, and treats nobody beyond. Renew it well before
// that and after each block. A plan that has expired gives values that have expired.
func (p *Plan) Program(nowUnixNs, nowBootNs, ttlNs int64) Program {
	block, _, end := Block(floorDiv(nowUnixNs, second), p.BlockSeconds)
	until := func(unix int64) int64 { return max(0, min(unix, maxUnix))*second - nowUnixNs }
	value := abi.Policy{
		SwitchNs:  clampNs(nowBootNs + until(end)),
		UntilNs:   clampNs(nowBootNs + until(end+p.BlockSeconds)),
		ExpiresNs: clampNs(nowBootNs + min(ttlNs, until(p.Expires))),
		Plan:      uint64(p.Serial),
	}
	prog := Program{Plan: p.Serial, MinBytes: p.MinBytes, Entries: make([]ProgramEntry, 0, len(p.Entries))}
	d := newDraw(p.Salt)
	for _, e := range p.sorted() {
		value.CapBytesPerS = e.CapBytesPerS
		value.ArmNow, value.ArmNext = p.arm(d, e, block), p.arm(d, e, block+1)
		value.Cong = inetdiag.CongOf(e.Cong)
		prog.Entries = append(prog.Entries, ProgramEntry{e.Prefix, value})
	}
	return prog
}

// clampNs: a moment before boot is over, as 0 is.
func clampNs(ns int64) uint64 { return uint64(max(ns, 0)) }
