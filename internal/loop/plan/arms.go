package plan

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"hash"

	"github.com/congctl/congctl/internal/core/record"
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
// Encoding of m: the domain in ASCII; family 1 byte, 4 or 6; network 16 bytes,
// IPv4 as ::ffff:a.b.c.0; group 8 bytes big-endian, two's complement. Domains
// "holdout" and "aa" end after the network and are taken mod 1000. The three
// messages have lengths 30, 24 and 19, so none can stand for another. The modulo
// is biased by at most 1024 / 2^64.
//
// Everything is recomputable from prefix, time, salt and the header: an arm
// cannot be chosen afterwards. testdata/arms_vectors.txt holds vectors.

const (
	domainBlock   = "block"
	domainHoldout = "holdout"
	domainAA      = "aa"
	permille      = 1000
)

// Block gives the number of the block that holds a time and the Unix seconds at
// which it starts and ends (the end is the next one's start). Blocks are
// aligned to the epoch. All are 0 if blockSeconds is not positive.
func Block(unix, blockSeconds int64) (index, start, end int64) {
	if blockSeconds < 1 {
		return 0, 0, 0
	}
	index = floorDiv(unix, blockSeconds)
	return index, index * blockSeconds, (index + 1) * blockSeconds
}

// AssignArm gives a prefix's arm in a block: control in exactly one block of
// each group of groupLen, treatment in the others; unknown if groupLen < 1.
func AssignArm(salt []byte, p record.Prefix, groupLen int, block int64) record.Arm {
	return newDraw(salt).arm(p, groupLen, block)
}

// InHoldout reports whether a prefix is in the global hold-out: never treated.
func InHoldout(salt []byte, p record.Prefix, share int) bool {
	return newDraw(salt).member(domainHoldout, p, share)
}

// InAA reports whether a prefix is in the A/A set: assigned and never acted on.
// The hold-out goes before it: a prefix in both counts as hold-out.
func InAA(salt []byte, p record.Prefix, share int) bool {
	return newDraw(salt).member(domainAA, p, share)
}

// ArmAt gives the arm of a prefix at a time (Unix seconds), and whether the plan
// holds it; none if not. It asks nothing about the plan's own dates.
func (p *Plan) ArmAt(pfx record.Prefix, unix int64) (arm record.Arm, inPlan bool) {
	e, ok := p.Find(pfx)
	if !ok {
		return record.ArmNone, false
	}
	block, _, _ := Block(unix, p.BlockSeconds)
	return p.arm(newDraw(p.Salt), e, block), true
}

// InWashout reports whether a time lies in the first seconds of a block, where
// the old arm still shows and nothing counts.
func (p *Plan) InWashout(unix int64) bool {
	_, start, _ := Block(unix, p.BlockSeconds)
	return unix-start < p.WashoutSeconds
}

// GroupLen is the number of blocks in an entry's groups.
func (p *Plan) GroupLen(e Entry) int {
	if p.Experiment == ExperimentOn && e.State != StatePromoted {
		return p.GroupTrial
	}
	return p.GroupPromoted
}

func (p *Plan) arm(d *draw, e Entry, block int64) record.Arm {
	switch {
	case p.BlockSeconds < 1:
		return record.ArmUnknown
	case p.Experiment != ExperimentOn:
		return d.arm(e.Prefix, p.GroupLen(e), block)
	case e.State == StateHoldout || d.member(domainHoldout, e.Prefix, p.HoldoutPermille):
		return record.ArmHoldout
	case e.State == StateAA || d.member(domainAA, e.Prefix, p.AAPermille):
		return record.ArmAA
	}
	return d.arm(e.Prefix, p.GroupLen(e), block)
}

// Draws are one experiment's arms for whoever decides by them. Not for concurrent use.
type Draws struct {
	draw        *draw
	holdout, aa int // permille
}

// NewDraws makes the draws of a salt and the two shares, in permille of all prefixes.
func NewDraws(salt []byte, holdoutPermille, aaPermille int) *Draws {
	return &Draws{newDraw(salt), holdoutPermille, aaPermille}
}

// Role is ArmHoldout or ArmAA for a prefix that is drawn for it, else ArmNone.
func (d *Draws) Role(p record.Prefix) record.Arm {
	switch {
	case d.draw.member(domainHoldout, p, d.holdout):
		return record.ArmHoldout
	case d.draw.member(domainAA, p, d.aa):
		return record.ArmAA
	}
	return record.ArmNone
}

// Arm is AssignArm.
func (d *Draws) Arm(p record.Prefix, groupLen int, block int64) record.Arm {
	return d.draw.arm(p, groupLen, block)
}

// draw is the keyed hash of one salt, reused over many prefixes. Not for concurrent use.
type draw struct {
	mac hash.Hash
	msg []byte
	sum []byte
}

func newDraw(salt []byte) *draw {
	return &draw{mac: hmac.New(sha256.New, salt), msg: make([]byte, 0, 32), sum: make([]byte, 0, sha256.Size)}
}

func (d *draw) arm(p record.Prefix, groupLen int, block int64) record.Arm {
	if groupLen < 1 {
		return record.ArmUnknown
	}
	n := int64(groupLen)
	group := floorDiv(block, n)
	d.start(domainBlock, p)
	d.msg = binary.BigEndian.AppendUint64(d.msg, uint64(group))
	if d.first8()%uint64(n) == uint64(block-group*n) {
		return record.ArmControl
	}
	return record.ArmTreatment
}

func (d *draw) member(domain string, p record.Prefix, share int) bool {
	d.start(domain, p)
	return int(d.first8()%permille) < share
}

func (d *draw) start(domain string, p record.Prefix) {
	family := byte(6)
	if p.Is4() {
		family = 4
	}
	network := p.Netip().Addr().As16()
	d.msg = append(append(append(d.msg[:0], domain...), family), network[:]...)
}

func (d *draw) first8() uint64 {
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
