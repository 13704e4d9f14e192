package rollout

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Rollout is the roll-out of one PoP. It is not safe for use by several goroutines.
type Rollout struct {
	State State // what to keep; Step changes it

	pop   string
	key   []byte
	rules Rules
	nowNs int64
	out   []Order
}

// New goes on from a state, which it takes over; the zero State begins. key, a secret of the PoP,
// keeps hosts from choosing a name that is always, or never, the canary.
func New(pop string, key []byte, rules Rules, s State) *Rollout {
	if s.Hosts == nil {
		s.Hosts = map[string]*Host{}
	}
	return &Rollout{State: s, pop: pop, key: key, rules: rules}
}

// Step takes an event at a time, Unix nanoseconds, and returns the orders that follow. Every step
// compares what each host has with what it should have, so that a lost order comes again.
func (r *Rollout) Step(nowNs int64, e Event) []Order {
	r.nowNs, r.out = nowNs, nil
	e.apply(r)
	for r.advance() {
		// each turn ends a stage
	}
	r.deliver()
	return r.out
}

func (r *Rollout) order(o Order) { r.out = append(r.out, o) }

func (r *Rollout) tell(kind, format string, args ...any) {
	r.order(Order{Do: OrderTell, Kind: kind, Text: fmt.Sprintf(format, args...)})
}

func (r *Rollout) refuse(format string, args ...any) {
	r.order(Order{Do: OrderRefuse, Text: fmt.Sprintf(format, args...)})
}

// elapsed is the time since a moment. A clock that was set back begins it anew.
func (r *Rollout) elapsed(sinceNs *int64) time.Duration {
	*sinceNs = min(*sinceNs, r.nowNs)
	return time.Duration(r.nowNs - *sinceNs)
}

// rolling reports whether Next is on its way to the hosts.
func (r *Rollout) rolling() bool {
	s := r.State.Stage
	return s == StageCanary || s == StageShare || s == StageAll
}

// names returns the hosts for which is holds, sorted: the same state gives the same orders.
func (r *Rollout) names(is func(*Host) bool) (out []string) {
	for name, h := range r.State.Hosts {
		if is(h) {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return out
}

// list names the first hosts.
func list(names []string) string {
	const most = 3
	if len(names) > most {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), len(names)-most)
	}
	return strings.Join(names, ", ")
}
