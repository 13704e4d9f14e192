package route

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"sync"

	"github.com/vishvananda/netlink/nl"

	"github.com/congctl/congctl/internal/core/plan"
	"github.com/congctl/congctl/internal/kernel/clock"
	"golang.org/x/sys/unix"
)

// DefaultProto marks our routes. It is in no list of iproute2, FRR (186-198), BIRD
// (12) or Open/R (99); 190, free in iproute2's, is FRR's RIPng.
const DefaultProto = 156

// metricHead is the upper byte of our metric: see original.go.
const metricHead = 0xff << 24

// Options of Open. Zero values mean the defaults named.
type Options struct {
	// Proto is the rtm_protocol that marks our routes; DefaultProto. Routes with it
	// and our metric are ours to remove.
	Proto uint8
	// BootNs gives CLOCK_BOOTTIME in nanoseconds; the kernel's.
	BootNs func() int64
}

// marks are how our routes are told from others: both must fit.
type marks struct {
	proto  uint8
	metric uint32
}

func (m marks) own(h head) bool { return h.proto == m.proto && h.metric == m.metric }

// Report is what the last Set, Stop or renewal did, and totals since Open.
type Report struct {
	Plan     uint64 `json:"plan"`
	InForce  int    `json:"in_force"` // prefixes that the kernel confirms
	Routes   int    `json:"routes"`   // routes of ours; a prefix with a route of its own has two
	Added    int    `json:"added"`
	Removed  int    `json:"removed"`
	Skipped  []Skip `json:"skipped,omitempty"`
	Leftover int    `json:"leftover"` // routes of an earlier process that Open removed
	// Drift counts copies whose original had changed, Lost those that somebody else
	// had removed or altered, since Open.
	Drift uint64 `json:"drift"`
	Lost  uint64 `json:"lost"`
	// Trouble is the last error, "" when the last change went well.
	Trouble string `json:"trouble,omitempty"`
}

// Router keeps the routes of one network namespace. All methods are safe for
// concurrent use.
type Router struct {
	marks  marks
	bootNs func() int64

	mu     sync.Mutex // guards all below, and the table's changes
	tab    table
	close  func() error
	prog   plan.Program
	stop   uint32
	denied []netip.Prefix
	put    map[netip.Prefix]entry // what we last saw in force, to tell drift from loss
	report Report

	planned  chan struct{}        // wakes Follow
	targeted map[uint8]*originals // by family: the networks whose routes concern us
	news     *nl.NetlinkSocket    // nil once Follow has it
}

// Open serves the network namespace of the calling thread and removes what an
// earlier process left there: routes outlive their process, so the table itself is
// the journal. It treats nobody until Set. The caller must Close it. Needs
// CAP_NET_ADMIN there; Linux 4.0.
func Open(o Options) (*Router, error) {
	if o.BootNs == nil {
		o.BootNs = func() int64 { _, boot := clock.Now(); return boot }
	}
	s, err := dial()
	if err != nil {
		return nil, fmt.Errorf("open router: %w", err)
	}
	if err := s.permitted(o.Proto); err != nil {
		return nil, errors.Join(fmt.Errorf("open router: %w", err), s.Close())
	}
	r, err := newRouter(s, o)
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	r.close = s.Close
	if r.news, err = subscribe(); err != nil {
		return nil, errors.Join(fmt.Errorf("open router: %w", err), s.Close())
	}
	return r, nil
}

func newRouter(t table, o Options) (*Router, error) {
	if o.Proto == 0 {
		o.Proto = DefaultProto
	}
	r := &Router{marks: marks{o.Proto, metricHead | uint32(o.Proto)}, bootNs: o.BootNs, tab: t, planned: make(chan struct{}, 1),
		targeted: map[uint8]*originals{unix.AF_INET: newOriginals(nil), unix.AF_INET6: newOriginals(nil)}}
	left, err := r.own()
	if err != nil {
		return nil, fmt.Errorf("open router: %w", err)
	}
	if err := removeAll(t, left); err != nil {
		return nil, fmt.Errorf("open router: remove routes of an earlier process: %w", err)
	}
	r.report.Leftover = len(left)
	return r, nil
}

// Set makes prog the whole state: each prefix whose arm in force now is treatment
// has routes, every other route of ours goes. It reads the table anew, so it also
// mends what others changed. It says how many prefixes the kernel confirms; those
// that cannot be treated are in Report, and are no failure. On an error nothing new
// is in force, and of the state before what still holds: an expiry is kept.
func (r *Router) Set(prog plan.Program) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	before := r.prog
	r.prog = prog
	err := r.sync()
	if err != nil {
		r.prog = before
		err = errors.Join(fmt.Errorf("set plan %d: %w", prog.Plan, err), r.retreat())
	}
	r.note(err)
	r.wake()
	return r.report.InForce, err
}

// wake makes Follow look at the program's times again.
func (r *Router) wake() {
	select {
	case r.planned <- struct{}{}:
	default: // told already
	}
}

// Stop sets or clears a stop bit of abi. Setting one removes all routes at once;
// what cannot be removed is in Report and tried again at each Set. Clearing the last one treats
// again from the next Set on. Connections that have started stay as they are.
func (r *Router) Stop(bit uint32, on bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !on {
		r.stop &^= bit
		return
	}
	r.stop |= bit
	r.note(r.retreat())
}

// note keeps the last error for Report: a switch returns none.
func (r *Router) note(err error) {
	r.report.Trouble = ""
	if err != nil {
		r.report.Trouble = err.Error()
	}
}

// SetDeny makes nets the whole list of networks that are never treated. A route
// treats all of its prefix, so a prefix that any of them touches is left alone:
// new ones at once, one that is no longer touched is treated from the next Set on.
func (r *Router) SetDeny(nets []netip.Prefix) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.denied = slices.Clone(nets)
	err := r.retreat()
	r.note(err)
	if err != nil {
		return fmt.Errorf("deny %d ranges: %w", len(nets), err)
	}
	return nil
}

// Report tells what is in force. Its slice is the caller's.
func (r *Router) Report() Report {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := r.report
	out.Skipped = slices.Clone(out.Skipped)
	return out
}

// Close removes all routes of ours. Connections that have started stay as they are.
func (r *Router) Close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.tab == nil {
		return nil
	}
	left, err := r.own()
	if err == nil {
		err = removeAll(r.tab, left)
	}
	if err != nil {
		err = fmt.Errorf("close router: %w; remove by hand: ip route flush proto %d; ip -6 route flush proto %d", err, r.marks.proto, r.marks.proto)
	}
	r.tab = nil
	r.wake()
	if r.news != nil {
		r.news.Close()
	}
	if r.close != nil {
		err = errors.Join(err, r.close())
	}
	return err
}
