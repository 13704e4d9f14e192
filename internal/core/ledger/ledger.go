package ledger

import (
	"net/netip"

	"github.com/congctl/congctl/internal/core/abi"
	"github.com/congctl/congctl/internal/core/record"
)

// Defaults of Config for fields that are zero.
const (
	// defaultWindowSeconds: six windows in a block leave five after the wash-out.
	defaultWindowSeconds = 300
	// defaultBlockSeconds: long enough that wash-out is a sixth of it, short enough for 16 pairs in 8 hours.
	defaultBlockSeconds = 1800
	// defaultMaxConns, connections: 73 MB with their index; an edge of 100,000 sockets has room for a storm of 2.6 times its size.
	defaultMaxConns = 1 << 18
)

// Config is what a Ledger is told once.
type Config struct {
	WindowSeconds int64 // length of a window; 0 is 300
	BlockSeconds  int64 // length of a block; 0 is 1800
	// WashoutSeconds and MinBytes are not used: records are made of every connection,
	// and what counts is decided per window. They stand here so that one set of
	// numbers configures both.
	WashoutSeconds int64
	MinBytes       uint64
	MaxConns       int // entries kept at most; 0 is 262,144. Connections beyond are known by their close record only
	// Unfollowed: no eBPF follows connections here, so an accepted one without a mark
	// was not missed; the polls are all that there is to know of it.
	Unfollowed bool

	// ClientFacing says whether a passive connection's remote end is a client, by the
	// configured lists; addresses are unmapped. nil: every one is.
	ClientFacing func(ns record.NetnsID, local, remote netip.AddrPort, passive bool) bool
	// ArmAt is the arm of a prefix at a time in Unix seconds, and whether a plan
	// (or the hold-out, or A/A) has the prefix at all. nil: no plan.
	ArmAt func(p record.Prefix, unix int64) (arm record.Arm, inPlan bool)
	// Emit takes each finished record. It is reused after the call.
	Emit func(*record.Conn)
}

// Ledger holds one entry for each connection that a poll has seen. It is not
// safe for concurrent use.
type Ledger struct {
	cfg   Config
	slab  slab
	nss   []*netns // by entry.ns; nil is a free place
	byID  map[record.NetnsID]*netns
	tombs tombstones
	congs congNames
	poll  poll
	off   int64 // Unix ns minus boot ns, as last told
	st    Stats

	mark  abi.Mark    // the one being read
	loose entry       // a connection that no poll has seen, for the length of its close record
	stray netns       // a namespace that no poll has seen, likewise
	rec   record.Conn // the one being emitted
}

// New makes an empty ledger. Zero fields of c get their defaults.
func New(c Config) *Ledger {
	if c.WindowSeconds <= 0 {
		c.WindowSeconds = defaultWindowSeconds
	}
	if c.BlockSeconds <= 0 {
		c.BlockSeconds = defaultBlockSeconds
	}
	if c.MaxConns <= 0 {
		c.MaxConns = defaultMaxConns
	}
	if c.Emit == nil {
		c.Emit = func(*record.Conn) {}
	}
	return &Ledger{cfg: c, byID: map[record.NetnsID]*netns{}}
}

// lastNumber keeps window numbers clear of uint32's end, whatever time a damaged
// close record claims.
const lastNumber = 1<<32 - 1<<16

func (l *Ledger) windowOf(unixNs int64) uint32 { return l.windowNumber(unixNs / 1e9) }

// windowNumber counts windows since the epoch.
func (l *Ledger) windowNumber(unix int64) uint32 {
	return uint32(max(0, min(unix/l.cfg.WindowSeconds, lastNumber)))
}

func (l *Ledger) windowStart(n uint32) int64 { return int64(n) * l.cfg.WindowSeconds }
