package uplink

import (
	"crypto/aes"
	"crypto/cipher"
	"encoding/binary"
	"math"
	"math/bits"

	"github.com/congctl/congctl/internal/tcp/record"
)

// Which records go when not all can? With a sample of connections, each kept with the same probability p and
// standing for 1/p of them (its weight), every sum over connections has the expectation that it has without
// (Horvitz and Thompson, JASA 47, 1952). p is 2^-h for a whole window:
//
//	h + 1  if the last window at this p is over the budget, or the far side is slow: it takes batches, and still the
//	       spool is more than a quarter full and fills
//	h - 1  if the last window at 2p is within it, and less than a quarter of the spool waits
//
// While the far side takes nothing, what is new stays whole and the spool drops what is oldest: thinned for the hours
// that it is away, the first windows after it would decide little.
//
// A connection is kept if the first h bits of its hash are 0, so those kept at a smaller p are among those at a
// larger. The hash is keyed: a client that could compute it could choose connections that always count, or never.

const (
	maxHalvings = 10 // 2^10 is record.MaxWeight
	maxWindows  = 4  // open at once, as in loop/window
	spoolShare  = 4  // of its bound, the part of the spool that means the far side does not keep up
)

// pane is a window's choice, and what it costs.
type pane struct {
	start    int64
	halvings int
	bytes    int64
}

// full is about what the window would cost unthinned.
func (p pane) full() int64 { return p.bytes << p.halvings }

// thinner chooses records. Not for concurrent use.
type thinner struct {
	block   cipher.Block
	boot    [16]byte // the hash's state behind the boot id
	state   [16]byte
	budget  int64 // bytes a window; 0 is no limit
	tooMuch int64 // in the spool

	halvings int    // of the latest window
	panes    []pane // the oldest first
	far      far    // when the latest window began
}

// far is what the far side left and took so far.
type far struct {
	backlog int64  // bytes that wait in the spool
	sent    uint64 // bytes
}

func newThinner(key [16]byte, boot record.BootID, budget, spool int64) thinner {
	t := thinner{budget: budget, tooMuch: spool / spoolShare}
	if spool <= 0 {
		t.tooMuch = math.MaxInt64
	}
	t.block, _ = aes.NewCipher(key[:]) // 16 bytes are a key
	t.block.Encrypt(t.boot[:], boot[:])
	return t
}

// choose returns the weight of c, 0 for 1, and whether it is kept.
func (t *thinner) choose(c *record.Conn, now far) (weight float64, keep bool) {
	switch h := t.pane(c.Window, now).halvings; {
	case h == 0:
		return 0, true
	case bits.LeadingZeros64(t.hash(c)) < h:
		return 0, false
	default:
		return float64(int(1) << h), true
	}
}

// spent notes what a record of a window cost.
func (t *thinner) spent(window int64, bytes int) {
	for i := range t.panes {
		if t.panes[i].start == window {
			t.panes[i].bytes += int64(bytes)
		}
	}
}

// hash is AES in CBC-MAC over three blocks, boot id, socket and window: a pseudo-random function, since all inputs
// have one length.
func (t *thinner) hash(c *record.Conn) uint64 {
	s := &t.state
	binary.LittleEndian.PutUint64(s[:8], binary.LittleEndian.Uint64(t.boot[:8])^uint64(c.Netns))
	binary.LittleEndian.PutUint64(s[8:], binary.LittleEndian.Uint64(t.boot[8:])^uint64(c.Cookie))
	t.block.Encrypt(s[:], s[:])
	binary.LittleEndian.PutUint64(s[:8], binary.LittleEndian.Uint64(s[:8])^uint64(c.Window))
	t.block.Encrypt(s[:], s[:])
	return binary.LittleEndian.Uint64(s[:8])
}

// pane finds the window's, or begins it.
func (t *thinner) pane(start int64, now far) pane {
	for i := len(t.panes) - 1; i >= 0; i-- {
		if t.panes[i].start == start {
			return t.panes[i]
		}
	}
	// The window before is not complete: its final poll gives most of it. So the one before that counts too.
	var full int64
	for _, p := range t.panes[max(0, len(t.panes)-2):] {
		full = max(full, p.full())
	}
	slow := now.backlog > max(t.tooMuch, t.far.backlog) && now.sent > t.far.sent
	t.halvings = step(t.halvings, full, t.budget, slow, now.backlog > t.tooMuch)
	t.far = now
	if len(t.panes) == maxWindows {
		t.panes = t.panes[:copy(t.panes, t.panes[1:])]
	}
	p := pane{start: start, halvings: t.halvings}
	t.panes = append(t.panes, p)
	return p
}

// step returns the next window's halvings, where the last one would cost full bytes unthinned. A budget of 0 is no
// limit.
func step(h int, full, budget int64, slow, behind bool) int {
	within := func(h int) bool { return budget <= 0 || full>>h <= budget }
	switch {
	case !within(h) || slow:
		return min(h+1, maxHalvings)
	case h > 0 && within(h-1) && !behind:
		return h - 1
	}
	return h
}
