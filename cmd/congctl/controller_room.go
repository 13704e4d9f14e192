//go:build !small

package main

import (
	"context"
	"slices"
	"sync"

	"github.com/congctl/congctl/internal/fleet/store/commitlog"
	"github.com/congctl/congctl/internal/fleet/store/link"
)

// room is where a PoP's agents are while they follow this controller, whether it has the PoP or not.
type room struct {
	mu    sync.Mutex     // guards all below
	halt  commitlog.Halt // the stop that no log has yet
	text  []byte         // it, signed; nil: there is none
	evict bool
	moved chan struct{} // closed and made anew when the PoP comes here
	hosts map[string]*occupant
}

// occupant is one agent's stream.
type occupant struct {
	wake    chan struct{}
	stopped bool // by its own word
}

func newRoom() *room { return &room{moved: make(chan struct{}), hosts: map[string]*occupant{}} }

// pull gives a stop to all agents, now and as they come, and returns the one that is pending: an earlier one stays.
func (r *room) pull(halt commitlog.Halt, text []byte, evict bool) commitlog.Halt {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.text == nil {
		r.halt, r.text = halt, text
		for _, g := range r.hosts {
			g.stopped = false
		}
	}
	r.evict = r.evict || evict
	for _, g := range r.hosts {
		g.signal()
	}
	return r.halt
}

func (g *occupant) signal() {
	select {
	case g.wake <- struct{}{}:
	default:
	}
}

// done forgets a stop that is stored, or that agents have and another controller can store.
func (r *room) done() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.halt, r.text, r.evict = commitlog.Halt{}, nil, false
}

func (r *room) pending() (halt commitlog.Halt, text []byte, evict bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.halt, r.text, r.evict
}

// opened lets agents that wait follow the PoP, which has come here.
func (r *room) opened() {
	r.mu.Lock()
	defer r.mu.Unlock()
	close(r.moved)
	r.moved = make(chan struct{})
}

func (r *room) next() <-chan struct{} {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.moved
}

// heard takes an agent's word.
func (r *room) heard(host string, stopped bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if g := r.hosts[host]; g != nil {
		g.stopped = stopped
	}
}

// count returns how many agents are here, and which of them have not said that they are stopped.
func (r *room) count() (all int, missing []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for name, g := range r.hosts {
		if !g.stopped {
			missing = append(missing, name)
		}
	}
	slices.Sort(missing)
	return len(r.hosts), missing
}

// enter has an agent's stream bear a pending stop: at once, and with each order that is sent to it. leave must be called
// before the stream ends.
func (r *room) enter(ctx context.Context, host string, send func(link.Order) error) (bearing func(link.Order) error, leave func()) {
	ctx, stop := context.WithCancel(ctx)
	g := &occupant{wake: make(chan struct{}, 1)}
	var one sync.Mutex // order at a time
	bearing = func(o link.Order) error {
		one.Lock()
		defer one.Unlock()
		if _, text, _ := r.pending(); text != nil {
			o.Stopped, o.Stop = true, text
		}
		return send(o)
	}
	r.mu.Lock()
	r.hosts[host] = g
	g.signal()
	r.mu.Unlock()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for {
			select {
			case <-ctx.Done():
				return
			case <-g.wake:
			}
			if _, text, evict := r.pending(); text != nil && bearing(link.Order{Stopped: true, Evict: evict}) != nil {
				return // the stream ends, and its other user sees it
			}
		}
	}()
	return bearing, func() {
		stop()
		<-ended
		r.mu.Lock()
		defer r.mu.Unlock()
		if r.hosts[host] == g {
			delete(r.hosts, host)
		}
	}
}
