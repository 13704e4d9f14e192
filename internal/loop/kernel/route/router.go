package route

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"sync"

	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"

	"github.com/congctl/congctl/internal/linux/clock"
	"github.com/congctl/congctl/internal/loop/plan"
)

// What distinguishes our routes from others: both must match.
const (
	// Proto is the rtm_protocol. 156 is in no list of iproute2, FRR (186-198), BIRD (12) or
	// Open/R (99); 190, free in iproute2's, is FRR's RIPng.
	Proto = 156
	// metric: see original.go for the upper byte.
	metric = 0xff<<24 | Proto
)

func (h head) ours() bool { return h.proto == Proto && h.metric == metric }

// Report is the result of the last Set, Stop or renewal, with totals since Open.
type Report struct {
	Plan    uint64 `json:"plan"`
	InForce int    `json:"in_force"` // prefixes that the kernel confirms
	Routes  int    `json:"routes"`   // routes of ours; a prefix with a route of its own has two
	Added   int    `json:"added"`
	Removed int    `json:"removed"`
	Skipped []Skip `json:"skipped,omitempty"`
	// Drift counts copies whose original had changed, Lost those that something else had
	// removed or altered, since Open.
	Drift uint64 `json:"drift"`
	Lost  uint64 `json:"lost"`
	// Trouble is the last error, "" when the last change went well.
	Trouble string `json:"trouble,omitempty"`
}

// Router keeps the routes of one network namespace. All methods are safe for
// concurrent use.
type Router struct {
	bootNs func() int64 // CLOCK_BOOTTIME

	mu     sync.Mutex // guards all below, and the table's changes
	tab    table
	close  func()
	prog   plan.Program
	stop   uint32
	denied []netip.Prefix
	put    map[netip.Prefix]entry // what we last saw in force, to tell drift from loss
	report Report

	planned  chan struct{}        // wakes Follow
	targeted map[uint8]*originals // by family: the networks whose routes concern us
	news     *nl.NetlinkSocket    // nil once Follow has it
}

// Open serves the network namespace of the calling thread, which [Clear] has cleared, and no
// other Router does. It treats nothing until Set. The caller must Close it. Needs CAP_NET_ADMIN there; Linux
// 4.0.
func Open() (*Router, error) {
	return open(func() int64 { _, boot := clock.Now(); return boot })
}

func open(bootNs func() int64) (*Router, error) {
	s, err := dial()
	if err != nil {
		return nil, fmt.Errorf("open router: %w", err)
	}
	r := newRouter(s, bootNs)
	letGo, err := claim()
	r.close = func() { s.nl.Close(); letGo() }
	if err == nil {
		err = s.permitted()
	}
	if err == nil {
		r.news, err = subscribe()
	}
	if err != nil {
		r.close()
		return nil, fmt.Errorf("open router: %w", err)
	}
	return r, nil
}

func newRouter(t table, bootNs func() int64) *Router {
	return &Router{bootNs: bootNs, tab: t, close: func() {}, planned: make(chan struct{}, 1),
		targeted: map[uint8]*originals{unix.AF_INET: newOriginals(nil), unix.AF_INET6: newOriginals(nil)}}
}

// Clear removes the routes that an ended process left in the network namespace of the
// calling thread, and returns how many: routes outlive their process, so the table itself
// is the journal. Listing needs no privilege, removing CAP_NET_ADMIN.
func Clear() (removed int, err error) {
	s, err := dial()
	if err != nil {
		return 0, fmt.Errorf("remove routes of an ended congctl: %w", err)
	}
	defer s.nl.Close()
	return clearOf(s)
}

func clearOf(t table) (removed int, err error) {
	left, err := own(t)
	errs := []error{err}
	for _, e := range left {
		if err := t.do(step{false, e}); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", step{false, e}, err))
			continue
		}
		removed++
	}
	if err = errors.Join(errs...); err != nil {
		err = fmt.Errorf("remove routes of an ended congctl: %w; by hand: ip route flush proto %d; ip -6 route flush proto %d", err, Proto, Proto)
	}
	return removed, err
}

// Left counts the routes of ours in the network namespace of the calling thread,
// and changes none: a process that was killed leaves them.
func Left() (int, error) {
	s, err := dial()
	if err != nil {
		return 0, err
	}
	defer s.nl.Close()
	left, err := own(s)
	return len(left), err
}

// Set makes prog the whole state: each prefix whose arm in force now is treatment has
// routes; every other route of ours is removed. It reads the table again, so it also
// repairs outside changes. It returns how many prefixes the kernel confirms; those that
// cannot be treated are in Report, and are no failure. On an error nothing new is in
// force, and of the earlier state only what still holds: expiries are kept.
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

// Stops returns the stop bits in force.
func (r *Router) Stops() uint32 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.stop
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

// Report returns the present state. The caller owns its slice.
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
	r.stop = ^uint32(0)
	err := r.retreat()
	if err != nil {
		err = fmt.Errorf("close router: %w; remove by hand: ip route flush proto %d; ip -6 route flush proto %d", err, Proto, Proto)
	}
	r.tab = nil
	r.wake()
	if r.news != nil {
		r.news.Close()
	}
	r.close()
	return err
}
