//go:build !small

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"net/http"
	"sync"
	"time"

	"github.com/congctl/congctl/internal/fleet/store/link"
	"github.com/congctl/congctl/internal/loop/control"
	"github.com/congctl/congctl/internal/tcp/record"
)

// Live pages follow a PoP by server-sent events. Each message is the whole state, and says by it which answers are other
// ones now: a page that was cut off has missed nothing once the next message comes, so none is kept for it. All pages of
// a PoP share one look at it, and nothing looks while no page is open.

const (
	liveMost  = 16               // pages that follow at a time, half of them one caller's; the listener takes 32 connections
	liveLook  = time.Second      // between two looks
	liveBeat  = 5 * time.Second  // a message is sent at least so often: connections and alarms change with each poll
	liveWrite = 5 * time.Second  // a page that takes a message slower is dropped
	liveLong  = 10 * time.Minute // then the page asks anew, with the token that it has then
)

// Pulse is a message.
type Pulse struct {
	Status control.Status `json:"status"`
	Events int64          `json:"last_event"`
	Fleet  string         `json:"fleet,omitempty"` // another one if the roll-out or a host is in another state
}

// state is all that changes an answer: a message with another one is sent at once.
func (p *Pulse) state() string {
	s := &p.Status
	force := uint64(0)
	if s.Agent != nil {
		force = s.Agent.Plan
	}
	return fmt.Sprint(s.RoundUnixS, s.Plan, force, s.Stopped, s.StoppedNext, s.Frozen, p.Events, p.Fleet)
}

// popDesk is a PoP as pages see it.
type popDesk struct {
	queries *control.Handler
	view    control.View
	fleet   func() FleetStatus // nil without hosts
	leave   func()
}

func (p *popDesk) pulse(ctx context.Context) (out Pulse, err error) {
	if out.Status, err = p.view.Status(ctx); err != nil {
		return out, err
	}
	last, err := p.view.Events(ctx, control.EventsRequest{Limit: 1})
	if len(last) > 0 {
		out.Events = last[0].ID
	}
	if p.fleet != nil {
		out.Fleet = fleetState(p.fleet())
	}
	return out, err
}

// fleetState leaves out what changes with each window.
func fleetState(f FleetStatus) string {
	sum := fnv.New64a()
	for _, h := range f.Hosts {
		fmt.Fprintln(sum, h.Host, h.Connected, h.Plan, h.InForce, h.Stopped, h.Astray)
	}
	return fmt.Sprintf("%s %d %d %t %x", f.Stage, f.Plan, f.Next, f.Stopped, sum.Sum64())
}

// looks keep the last look at each PoP.
type looks struct {
	mu sync.Mutex // guards of
	of map[string]*look
}

type look struct {
	mu    sync.Mutex // guards these, and is held while one looks
	at    time.Time
	pulse Pulse
}

func (l *looks) get(ctx context.Context, pop string, fresh func(context.Context) (Pulse, error)) (Pulse, error) {
	l.mu.Lock()
	one := l.of[pop]
	if one == nil {
		one = &look{}
		l.of[pop] = one
	}
	l.mu.Unlock()
	one.mu.Lock()
	defer one.mu.Unlock()
	if time.Since(one.at) < liveLook*9/10 { // tickers are not in step
		return one.pulse, nil
	}
	p, err := fresh(ctx)
	if err == nil {
		one.at, one.pulse = time.Now(), p
	}
	return p, err
}

// look asks for a PoP anew each time: it may be another controller's meanwhile.
func (d *desk) look(ctx context.Context, pop string) (Pulse, error) {
	p, err := d.at(ctx, pop)
	if err != nil {
		return Pulse{}, err
	}
	defer p.leave()
	return d.looks.get(ctx, pop, p.pulse)
}

func (d *desk) follow(w http.ResponseWriter, r *http.Request) {
	pop := r.PathValue("pop")
	if err := d.mayRead(link.Caller(r.Context()), pop, "live"); err != nil {
		control.Refuse(w, err)
		return
	}
	now, done := context.WithCancel(r.Context())
	done() // a page without a place asks meanwhile
	who, _ := d.caller(r.Context())
	give := d.followers.take(now, who)
	if give == nil {
		control.Refuse(w, &control.Error{Code: control.Unavailable, Text: "too many pages follow this congctl", Hint: "close other dashboards of this host; this page asks every few seconds meanwhile"})
		return
	}
	defer give()
	p, err := d.look(r.Context(), pop)
	if err != nil {
		control.Refuse(w, err)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("X-Accel-Buffering", "no") // a proxy must not collect messages
	d.stream(w, r, pop, p)
}

// stream sends until the page leaves or is too slow, the PoP does not answer, or the process ends.
func (d *desk) stream(w http.ResponseWriter, r *http.Request, pop string, p Pulse) {
	ctl := http.NewResponseController(w)
	_ = ctl.SetReadDeadline(time.Time{}) // that of the listener is for a request, and would end the stream
	tick := time.NewTicker(liveLook)
	defer tick.Stop()
	var told string
	var sent time.Time
	for began := time.Now(); time.Since(began) < liveLong; {
		if now := p.state(); now != told || time.Since(sent) >= liveBeat {
			if tell(w, ctl, p) != nil {
				return
			}
			told, sent = now, time.Now()
		}
		select {
		case <-tick.C:
		case <-r.Context().Done():
			return
		case <-d.ending:
			return
		}
		var err error
		if p, err = d.look(r.Context(), pop); err != nil {
			return // the page asks for the status, and is told why
		}
	}
}

func tell(w http.ResponseWriter, ctl *http.ResponseController, p Pulse) error {
	b, err := json.Marshal(p)
	if err != nil {
		return err
	}
	_ = ctl.SetWriteDeadline(time.Now().Add(liveWrite)) // without one the listener's ends the stream, which is as well
	if _, err := fmt.Fprintf(w, "data: %s\n\n", b); err != nil {
		return err
	}
	return ctl.Flush()
}

// Recent is what each network's connections got in the last windows.
type Recent struct {
	Rates [][]float32 `json:"rates_bytes_per_s"` // of each network asked for: oldest first, 0 where it is not known
}

type recentRequest struct {
	Prefixes []record.Prefix `json:"prefixes"`
	Windows  int             `json:"windows"`
}

// recentQuery is for the dashboard only.
var recentQuery = control.Query[recentRequest, Recent]{Name: "recent"}

const (
	mostRecent        = 256 // networks: those in view
	mostRecentWindows = 288 // a day of 5 minutes
)

type remembers interface {
	Recent(ctx context.Context, prefixes []record.Prefix, n int) ([][]float32, error)
}

func recentOf(v remembers) func(context.Context, recentRequest) (Recent, error) {
	return func(ctx context.Context, q recentRequest) (Recent, error) {
		if len(q.Prefixes) > mostRecent || q.Windows < 1 || q.Windows > mostRecentWindows {
			return Recent{}, &control.Error{Code: control.BadRequest, Text: fmt.Sprintf("%d prefixes, %d windows", len(q.Prefixes), q.Windows), Hint: fmt.Sprintf("ask for at most %d prefixes, and for 1 to %d windows", mostRecent, mostRecentWindows)}
		}
		out, err := v.Recent(ctx, q.Prefixes, q.Windows)
		for i, list := range out {
			if list == nil {
				out[i] = []float32{}
			}
		}
		return Recent{out}, err
	}
}
