package plan

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"hash"

	"github.com/congctl/congctl/internal/tcp/abi"
	"github.com/congctl/congctl/internal/tcp/inetdiag"
	"github.com/congctl/congctl/internal/tcp/record"
)

// Arms: a switchback. Flows that share a bottleneck are not independent, so the
// unit of the experiment is not the connection but (prefix, block of time): a
// keyed hash picks the one control block of each group of consecutive blocks.
//
//	block   = floor(unix / block seconds)
//	group   = floor(block / group length)
//	control = draw("block" | family | network | group) mod group length
//	draw(m) = first 8 bytes, big-endian, of HMAC-SHA256(salt, m)   (RFC 2104, FIPS 180-4)
//
// Drawn by PoP (format 3), all prefixes share one draw, and in one block of each group-promoted none of them is treated:
//
//	control of all = draw("block" | 0 | 0 | floor(block / group-promoted)) mod group-promoted
//	control        = draw("block" | 0 | 0 | floor(block / group length)) mod group length, or that of all
//
// In groups as long as group-promoted, or longer, the block of all is the only control block. What shares a line is then treated
// together: where one network of a line is treated and another is not, the treatment's gain may be the other's loss.
//
// Encoding of m: the domain in ASCII; family 1 byte, 4 or 6; network 16 bytes,
// IPv4 as ::ffff:a.b.c.0, both 0 for all networks as one; group 8 bytes big-endian, two's complement. Domains
// "holdout" and "aa" end after the network and are taken mod 1000; "explore" has the
// number of a period for the group. The messages have lengths 30, 24, 19 and 32, so none
// can stand for another. The modulo is biased by at most 1024 / 2^64.
//
// Everything can be recomputed from prefix, time, salt and the header: an arm cannot be chosen
// afterwards. testdata/arms_vectors.txt holds vectors.

const (
	domainBlock   = "block"
	domainHoldout = "holdout"
	domainAA      = "aa"
	domainExplore = "explore"
	permille      = 1000
)

// Block returns the number of the block that holds a time, and the Unix seconds at which it starts
// and ends (the end is the next one's start). Blocks are aligned to the epoch. All are 0 if
// blockSeconds is not positive.
func Block(unix, blockSeconds int64) (index, start, end int64) {
	if blockSeconds < 1 {
		return 0, 0, 0
	}
	index = floorDiv(unix, blockSeconds)
	return index, index * blockSeconds, (index + 1) * blockSeconds
}

// ArmAt returns the arm of a prefix at a time (Unix seconds), and whether the plan holds it, by itself or with all; none
// if not. It ignores the plan's own dates.
func (p *Plan) ArmAt(pfx record.Prefix, unix int64) (arm record.Arm, inPlan bool) {
	e, ok := p.Find(pfx)
	if !ok {
		e, ok = p.Find(record.All)
	}
	if !ok {
		return record.ArmNone, false
	}
	block, _, _ := Block(unix, p.BlockSeconds)
	return p.arm(p.draws(), e, block), true
}

// ArmWithin is ArmAt on a host with limits: what they bar is in the plan only by an entry of its own.
func (p *Plan) ArmWithin(l Limits, pfx record.Prefix, unix int64) (arm record.Arm, inPlan bool) {
	if _, all := p.Find(record.All); all && l.Bars(pfx) {
		if _, own := p.Find(pfx); !own {
			return record.ArmNone, false
		}
	}
	return p.ArmAt(pfx, unix)
}

// GroupLen returns the number of blocks in an entry's groups.
func (p *Plan) GroupLen(e Entry) int {
	switch {
	case e.State == StateSettled:
		return p.GroupSettled
	case p.Experiment == ExperimentOn && e.State != StatePromoted && e.State != StateAlways:
		return p.GroupTrial
	}
	return p.GroupPromoted
}

// draws returns those of the plan's experiment.
func (p *Plan) draws() *Draws {
	d := NewDraws(p.Salt, p.HoldoutPermille, p.AAPermille)
	if p.DrawBy == DrawByPoP {
		d.ByPoP(p.GroupPromoted)
	}
	return d
}

func (p *Plan) arm(d *Draws, e Entry, block int64) record.Arm {
	switch {
	case p.BlockSeconds < 1:
		return record.ArmUnknown
	case e.State == StateUncontrolled:
		return record.ArmTreatment
	case p.Experiment != ExperimentOn || e.State == StateAlways:
		return d.Arm(e.Prefix, p.GroupLen(e), block)
	}
	role := d.Role(e.Prefix)
	switch {
	case e.State == StateHoldout || role == record.ArmHoldout:
		return record.ArmHoldout
	case e.State == StateAA || role == record.ArmAA:
		return record.ArmAA
	}
	return d.Arm(e.Prefix, p.GroupLen(e), block)
}

// Draws are one experiment's arms: the keyed hash of one salt, reused over many prefixes. Not
// for concurrent use.
type Draws struct {
	mac         hash.Hash
	msg, sum    []byte
	holdout, aa int // permille
	pop         int // blocks in a group of the whole PoP; 0: each prefix has its own draws
}

// NewDraws returns the draws of a salt and the two shares, in permille of all prefixes.
func NewDraws(salt []byte, holdoutPermille, aaPermille int) *Draws {
	return &Draws{mac: hmac.New(sha256.New, salt), msg: make([]byte, 0, 32), sum: make([]byte, 0, sha256.Size),
		holdout: holdoutPermille, aa: aaPermille}
}

// ByPoP lets all prefixes share one draw, with one control block for all of them in each group of so many blocks; 0: each prefix has
// its own draws. It returns d.
func (d *Draws) ByPoP(group int) *Draws {
	d.pop = group
	return d
}

// Role returns ArmHoldout or ArmAA for a prefix that is drawn for it, else ArmNone. The hold-out
// takes precedence.
func (d *Draws) Role(p record.Prefix) record.Arm {
	switch {
	case d.member(domainHoldout, p, d.holdout):
		return record.ArmHoldout
	case d.member(domainAA, p, d.aa):
		return record.ArmAA
	}
	return record.ArmNone
}

// Arm returns a prefix's arm in a block: control in exactly one block of each group of groupLen,
// treatment in the others; unknown if groupLen < 1. By PoP the control block of all is one more.
func (d *Draws) Arm(p record.Prefix, groupLen int, block int64) record.Arm {
	switch {
	case groupLen < 1:
		return record.ArmUnknown
	case d.pop == 0 || p == record.All:
		return d.own(p, groupLen, block)
	case groupLen >= d.pop || d.own(record.All, d.pop, block) == record.ArmControl:
		return d.own(record.All, d.pop, block)
	}
	return d.own(record.All, groupLen, block)
}

func (d *Draws) own(p record.Prefix, groupLen int, block int64) record.Arm {
	n := int64(groupLen)
	group := floorDiv(block, n)
	d.start(domainBlock, p)
	d.msg = binary.BigEndian.AppendUint64(d.msg, uint64(group))
	if d.first8()%uint64(n) == uint64(block-group*n) {
		return record.ArmControl
	}
	return record.ArmTreatment
}

// Chance returns a number uniform in 0..1, of a prefix and a period.
func (d *Draws) Chance(p record.Prefix, period int64) float64 {
	d.start(domainExplore, p)
	d.msg = binary.BigEndian.AppendUint64(d.msg, uint64(period))
	return float64(d.first8()>>11) / (1 << 53)
}

func (d *Draws) member(domain string, p record.Prefix, share int) bool {
	d.start(domain, p)
	return int(d.first8()%permille) < share
}

func (d *Draws) start(domain string, p record.Prefix) {
	family := byte(6)
	switch {
	case p == record.All:
		family = 0
	case p.Is4():
		family = 4
	}
	network := p.Netip().Addr().As16()
	d.msg = append(append(append(d.msg[:0], domain...), family), network[:]...)
}

func (d *Draws) first8() uint64 {
	d.mac.Reset()
	d.mac.Write(d.msg)
	d.sum = d.mac.Sum(d.sum[:0])
	return binary.BigEndian.Uint64(d.sum)
}

// floorDiv rounds towards minus infinity, so that times before the epoch fall in blocks too.
func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}

// Program is the plan as the kernel holds it, computed ahead: this block's arm, the next one's and
// the time between them, so that a stalled agent prolongs no block. Wall time becomes
// CLOCK_BOOTTIME here, with the present offset:
//
//	boot(t) = now_boot + (t - now_unix)
type Program struct {
	Plan     record.PlanID
	MinBytes uint64
	// BlockNs is the length of a block, and BorderNs (boot time) the end of the present one: what
	// crossed counts until its own block's end, in networks without an entry too.
	BlockNs, BorderNs uint64
	WashoutMs         uint32         // start of each block; what crosses in it counts nowhere
	Early             bool           // treat from the first byte on, not from the crossing
	Entries           []ProgramEntry // by prefix
}

// ProgramEntry is one key and value of the policy map.
type ProgramEntry struct {
	Prefix record.Prefix
	Policy abi.Policy
}

const second = 1_000_000_000 // ns

// FromFirstByte is the treatment that each response is on from its first byte: cubic_lt is CUBIC until something is lost, so
// that there is nothing to spare small responses, and by 100 kB CUBIC has cut a lossy connection down (docs/cubic-lt.md).
// Others begin at the crossing. What counts begins there either way.
const FromFirstByte = "cubic_lt"

// Program computes the map for one time, given on both clocks in nanoseconds: nowUnixNs on the wall
// clock, nowBootNs on CLOCK_BOOTTIME. It holds for ttlNs or until the plan expires, and treats
// nothing beyond. Renew it well before that and after each block. An expired plan has expired
// values.
func (p *Plan) Program(nowUnixNs, nowBootNs, ttlNs int64) Program {
	block, _, end := Block(floorDiv(nowUnixNs, second), p.BlockSeconds)
	until := func(unix int64) int64 { return max(0, min(unix, maxUnix))*second - nowUnixNs }
	value := abi.Policy{
		SwitchNs:  clampNs(nowBootNs + until(end)),
		UntilNs:   clampNs(nowBootNs + until(end+p.BlockSeconds)),
		ExpiresNs: clampNs(nowBootNs + min(ttlNs, until(p.Expires))),
		Plan:      uint64(p.Serial),
	}
	prog := Program{Plan: p.Serial, MinBytes: p.MinBytes, BlockNs: uint64(max(p.BlockSeconds, 0)) * second, BorderNs: value.SwitchNs,
		WashoutMs: uint32(min(max(p.WashoutSeconds, 0), 86400)) * 1000, Early: p.Treatment == FromFirstByte, Entries: make([]ProgramEntry, 0, len(p.Entries))}
	if p.CapRule == CapRuleLate {
		value.Scout = Scouts
	}
	d := p.draws()
	for _, e := range p.sorted() {
		value.CapBytesPerS, value.Role = e.CapBytesPerS, record.ArmNone
		value.ArmNow, value.ArmNext = p.arm(d, e, block), p.arm(d, e, block+1)
		if value.ArmNow == record.ArmAA { // its blocks are drawn like all others, and run the default in each
			value.Role, value.CapBytesPerS = record.ArmAA, 0
			value.ArmNow, value.ArmNext = d.Arm(e.Prefix, p.GroupTrial, block), d.Arm(e.Prefix, p.GroupTrial, block+1)
		}
		value.Cong = inetdiag.CongOf(e.Cong)
		prog.Entries = append(prog.Entries, ProgramEntry{e.Prefix, value})
	}
	return prog
}

// clampNs: a time before boot is over, as 0 is.
func clampNs(ns int64) uint64 { return uint64(max(ns, 0)) }
