package halt

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/congctl/congctl/internal/fleet/pop"
	"github.com/congctl/congctl/internal/loop/control"
)

// Peers are the controllers that share the PoP.
type Peers interface {
	// Owner names the one that has the PoP, "" for none known; ok is false while this one cannot ask yet.
	Owner(context.Context) (name string, ok bool)
	// Sign writes a stop as this one; Read reads any's, whose by also says whose.
	Sign(id, by string) (text []byte, err error)
	Read(text []byte) (id, by string, err error)
}

// Options of a room.
type Options struct {
	PoP, Self string // Self is this controller's name
	Peers     Peers
	Here      func() *Switch    // of the PoP, among whose Users the caller is then; nil while it is not here
	Refused   func(text string) // logs what no controller signed
}

// Room is where a PoP's agents are while they follow this controller, whether it has the PoP or not.
type Room struct {
	opt Options

	asking sync.Mutex // guards these
	owner  string     // as Kafka last reported
	until  time.Time

	mu      sync.Mutex // guards all below
	id      string     // of the stop that no log has yet
	text    []byte     // it, signed; nil: there is none
	evict   bool
	changed chan struct{}    // closed and made anew by look
	hosts   map[string]*bool // each agent's stream: whether it says that it is stopped
}

// NewRoom makes one without agents.
func NewRoom(o Options) *Room {
	return &Room{opt: o, changed: make(chan struct{}), hosts: map[string]*bool{}}
}

const (
	// roomWait is how long an agent waits at a controller that cannot know which one has the PoP, before it asks the next
	// one: that one may have it, where only this one has lost Kafka.
	roomWait = 30 * time.Second
	// askAgain keeps the agents of a PoP from becoming as many questions to Kafka.
	askAgain = 2 * time.Second
	// ownerWait bounds a question to Kafka, which may be away.
	ownerWait = 700 * time.Millisecond
)

func (r *Room) ownerName(ctx context.Context) string {
	r.asking.Lock()
	defer r.asking.Unlock()
	if time.Now().After(r.until) {
		ctx, done := context.WithTimeout(context.WithoutCancel(ctx), ownerWait)
		defer done()
		if name, ok := r.opt.Peers.Owner(ctx); ok {
			r.owner, r.until = name, time.Now().Add(askAgain)
		}
	}
	return r.owner
}

// Vacant reports whether no other controller is known to have the PoP.
func (r *Room) Vacant(ctx context.Context) bool {
	name := r.ownerName(ctx)
	return name == "" || name == r.opt.Self
}

// Elsewhere is the answer about a PoP that is not here.
func (r *Room) Elsewhere(ctx context.Context) error {
	name := r.ownerName(ctx)
	text := "pop " + r.opt.PoP + " is not decided here, but by controller " + name
	switch name {
	case "":
		text = "pop " + r.opt.PoP + " is not decided here, and Kafka names no controller that does"
	case r.opt.Self:
		text = "pop " + r.opt.PoP + " is being taken over here: ask again in a moment"
	}
	return &control.Error{Text: text, Hint: "list all controllers in fleet.controller", Code: control.Elsewhere}
}

// Waits reports whether the PoP is not here, so that its agents wait.
func (r *Room) Waits() bool {
	s := r.opt.Here()
	if s != nil {
		s.Users.Done()
	}
	return s == nil
}

// Await returns when the PoP is here. While no other controller is known to have it, the agent that asks waits here, so
// that a stop finds it.
func (r *Room) Await(ctx context.Context) error {
	for end := time.Now().Add(roomWait); ; {
		_, _, changed := r.pending()
		if !r.Waits() {
			return nil
		}
		if !r.Vacant(ctx) || time.Now().After(end) || ctx.Err() != nil {
			return r.Elsewhere(ctx)
		}
		select {
		case <-ctx.Done():
		case <-changed:
		case <-time.After(askAgain):
		}
	}
}

// put makes a stop the pending one, unless there is one already, and returns the id of that which is.
func (r *Room) put(id string, text []byte) (pending string, fresh bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.text != nil {
		return r.id, false
	}
	r.id, r.text = id, text
	for _, stopped := range r.hosts {
		*stopped = false
	}
	return id, true
}

// look has agents look again, at a pending stop or the PoP. With evict they move connections back for the stop, too.
func (r *Room) look(evict bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.evict = r.text != nil && (r.evict || evict)
	close(r.changed)
	r.changed = make(chan struct{})
}

// done forgets a stop that is stored, or that agents have and another controller can store.
func (r *Room) done() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.id, r.text, r.evict = "", nil, false
}

func (r *Room) pending() (text []byte, evict bool, changed <-chan struct{}) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.text, r.evict, r.changed
}

// Heard takes an agent's word.
func (r *Room) Heard(host string, stopped bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if s := r.hosts[host]; s != nil {
		*s = stopped
	}
}

// count returns how many agents are here, and which of them have not said that they are stopped.
func (r *Room) count() (all int, missing []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for name, stopped := range r.hosts {
		if !*stopped {
			missing = append(missing, name)
		}
	}
	slices.Sort(missing)
	return len(r.hosts), missing
}

// Enter has an agent's stream bear a pending stop: at once, and with each order that is sent to it. leave must be called
// before the stream ends. While another controller is known to have the PoP it is an error: a stop of this one would take the
// place of the one that the agent has to show there.
func (r *Room) Enter(ctx context.Context, host string, send func(pop.Order) error) (bearing func(pop.Order) error, leave func(), err error) {
	if r.Waits() && !r.Vacant(ctx) {
		return nil, nil, r.Elsewhere(ctx)
	}
	ctx, end := context.WithCancel(ctx)
	var one sync.Mutex // order at a time
	bearing = func(o pop.Order) error {
		one.Lock()
		defer one.Unlock()
		if text, _, _ := r.pending(); text != nil {
			o.Stopped, o.Stop = true, text
		}
		return send(o)
	}
	stopped := new(bool)
	r.mu.Lock()
	r.hosts[host] = stopped
	r.mu.Unlock()
	var bears sync.WaitGroup
	bears.Go(func() {
		for ctx.Err() == nil {
			text, evict, changed := r.pending()
			if text != nil && bearing(pop.Order{Stopped: true, Evict: evict, Stop: text}) != nil {
				return // the stream ends, and its other user sees it
			}
			select {
			case <-ctx.Done():
			case <-changed:
			}
		}
	})
	return bearing, func() {
		end()
		bears.Wait()
		r.mu.Lock()
		defer r.mu.Unlock()
		if r.hosts[host] == stopped {
			delete(r.hosts, host)
		}
	}, nil
}
