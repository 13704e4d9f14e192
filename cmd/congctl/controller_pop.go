//go:build !small

package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/congctl/congctl/internal/fleet/halt"
	"github.com/congctl/congctl/internal/fleet/pop"
	"github.com/congctl/congctl/internal/fleet/store/inbox"
	"github.com/congctl/congctl/internal/fleet/store/link"
	"github.com/congctl/congctl/internal/fleet/store/mtls"
	"github.com/congctl/congctl/internal/goodput/effects"
	"github.com/congctl/congctl/internal/loop/agent"
	"github.com/congctl/congctl/internal/loop/config"
	"github.com/congctl/congctl/internal/loop/control"
	"github.com/congctl/congctl/internal/loop/controller"
	"github.com/congctl/congctl/internal/loop/journal"
	"github.com/congctl/congctl/internal/loop/policy"
	"github.com/congctl/congctl/internal/loop/store/sqlite"
	"github.com/congctl/congctl/internal/tcp/record"
)

// popOffice is one PoP at a controller.
type popOffice struct {
	*pop.PoP
	cfg        config.Config // of this PoP
	turns      chan struct{} // shared by all PoPs; nil: no bound
	records    *records      // the same
	log        *slog.Logger
	now        func() time.Time
	store      *sqlite.Store
	kept       controller.Store                                               // what is decided goes here: store, or with others the log before it
	follow     func(context.Context, *sqlite.Store) (controller.Store, error) // makes kept; nil alone
	room       *halt.Room                                                     // nil alone
	halt       *halt.Switch                                                   // nil alone
	held       context.Context                                                // ends when the PoP is another controller's
	users      sync.WaitGroup                                                 // requests
	inbox      *inbox.Inbox                                                   // nil with fleet.clickhouse
	source     pop.Inbox
	controller *controller.Controller
	queries    *control.Handler
	live       *controller.View
	rounds     roundMeter
	close      []func() error
}

type heads interface {
	Heads(ctx context.Context, from, to int64) ([]journal.Head, error)
}

func (p *popOffice) shut() error {
	var errs []error
	for i := len(p.close) - 1; i >= 0; i-- {
		errs = append(errs, p.close[i]())
	}
	return errors.Join(errs...)
}

func (p *popOffice) open(ctx context.Context, rules policy.Rules) (err error) {
	if p.store, err = openStore(ctx, p.cfg, sqlite.Options{CreatedBy: "congctl " + version, At: p.now()}); err != nil {
		return err
	}
	p.close = append(p.close, p.store.Close)
	if p.kept = p.store; p.follow != nil {
		if p.kept, err = p.follow(ctx, p.store); err != nil {
			return err
		}
	}
	o, done, err := withNames(optionsOf(p.cfg, rules), p.cfg)
	if err != nil {
		return err
	}
	p.close = append(p.close, done)
	o.Shared = p.follow != nil
	leave, err := p.turn(ctx)
	if err != nil {
		return err
	}
	defer leave()
	if o.Shelf, err = p.shelf(); err != nil {
		return err
	}
	if p.controller, err = controller.New(ctx, o, p.kept, p.log, p.now); err != nil {
		return err
	}
	last, err := lastWindow(ctx, p.store)
	if err != nil {
		return err
	}
	if err := p.openSource(ctx, last); err != nil {
		return err
	}
	err = p.openPoP(ctx, last)
	p.rest()
	return err
}

// turn waits until this PoP may have its measurements in memory: a controller may take over many at once.
func (p *popOffice) turn(ctx context.Context) (leave func(), err error) {
	if p.turns == nil {
		return func() {}, nil
	}
	select {
	case p.turns <- struct{}{}:
		return func() { <-p.turns }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// shelf makes the file that holds what was measured while other PoPs are decided. It has no name: when the process
// ends it is gone, and the store has all of it.
func (p *popOffice) shelf() (*os.File, error) {
	f, err := os.CreateTemp(p.cfg.StateDir, "rest-*")
	if err != nil {
		return nil, fmt.Errorf("make the file for a PoP at rest: %w", err)
	}
	p.close = append(p.close, f.Close)
	return f, os.Remove(f.Name())
}

// rest frees the memory that a PoP needs in its round alone.
func (p *popOffice) rest() {
	if err := errors.Join(p.controller.Rest(), p.store.Shrink(context.Background())); err != nil {
		p.log.Warn("this PoP stays in memory between its rounds", "err", err)
	}
}

// openSource opens where the hosts' records come from.
func (p *popOffice) openSource(ctx context.Context, last int64) (err error) {
	if address := p.cfg.Fleet.ClickHouse; address != "" {
		store, err := p.records.open(ctx, address)
		p.source = &warehouse{store: store, pop: p.cfg.PoP, closed: last}
		return err
	}
	p.inbox, err = inbox.Open(inbox.Options{Dir: filepath.Join(p.cfg.StateDir, "inbox"), PoP: p.cfg.PoP, WindowSeconds: int64(p.cfg.Window / time.Second), MaxBytes: p.cfg.Fleet.SpoolBytes}, last)
	if err != nil {
		return err
	}
	p.close = append(p.close, p.inbox.Shut)
	p.source = windows{p.inbox}
	if n := p.inbox.Counts(); n.Damaged > 0 {
		p.log.Error(fmt.Sprintf("%d files of the inbox are damaged and set aside: their records are missing", n.Damaged))
	}
	return nil
}

// openPoP makes the PoP, whose store has the windows up to last.
func (p *popOffice) openPoP(ctx context.Context, last int64) error {
	next := int64(0)
	if last != 0 {
		next = last + int64(p.cfg.Window/time.Second)
	}
	roll, _, err := p.store.Setting(ctx, pop.SettingRollout)
	if err != nil {
		return err
	}
	key := make([]byte, 32)
	_, _ = rand.Read(key) // never fails
	rules, err := p.cfg.Rules()
	if err != nil {
		return err
	}
	e := p.cfg.Experiment
	made, err := pop.New(pop.Options{
		Name: p.cfg.PoP, Key: key, Lateness: p.cfg.Fleet.Lateness, Window: p.cfg.Window, Block: e.Block, Washout: e.Washout,
		MinBytes: p.cfg.Treatment.MinBytes, MaxPrefixes: p.cfg.MaxPrefixes, Limits: limitsOf(p.cfg, rules), Turns: p.turns,
	}, p.source, p, signed{p}, pop.Past{Next: next, Rollout: roll}, p.log, p.now)
	if err != nil {
		return err
	}
	p.PoP = made
	p.live = &controller.View{Controller: p.controller, Agent: p.asAgent, Base: control.Status{
		Version: version, PoP: p.cfg.PoP, PID: os.Getpid(), StartedUnixS: p.now().Unix(),
		Tier: "fleet", TierReason: "a controller: each agent has its own tier",
	}}
	p.queries = control.NewHandler(p.log, callerOf)
	p.queries.PlanEntries = p.cfg.Plan.Max
	p.queries.Refused(because)
	control.HandleView(p.queries, p.live)
	p.handleActions()
	p.handleKeys()
	control.Handle(p.queries, ratesQuery, (&course{store: p.store}).get)
	control.Handle(p.queries, recentQuery, recentOf(p.live))
	control.Handle(p.queries, fleetQuery, func(context.Context, control.None) (FleetStatus, error) { return p.status(), nil })
	control.Handle(p.queries, effectOfPoP, (&recentEffect{window: p.cfg.Window, ask: func(ctx context.Context, q effectQuery) (*effects.View, error) {
		return effectOf(ctx, p.cfg, q, p.now())
	}}).get)
	defer p.rounds.look(ctx, p.controller)
	return p.controller.Attach(ctx, made)
}

func (p *popOffice) handleActions() {
	var acts control.Action = p.live
	if p.room != nil {
		p.halt = &halt.Switch{Action: p.live, Controller: p.controller, Log: p.kept, Room: p.room, Users: &p.users}
		acts = p.halt
	}
	control.HandleActions(p.queries, acts)
	p.queries.Audit(func(ctx context.Context, a control.Act) {
		if said, ok := errors.AsType[*control.Error](a.Err); ok && said.Code == control.Unstored {
			return // kept with the stop, where the store takes that
		}
		audit(p.controller)(ctx, a)
	})
}

// because has the line about a request, which each has that is refused, say why.
func because(ctx context.Context, a control.Act) { link.Because(ctx, a.Err) }

// audit keeps what callers of the dashboard or of the controller asked for.
func audit(c *controller.Controller) func(context.Context, control.Act) {
	return func(ctx context.Context, a control.Act) {
		a.Stranger = link.Caller(ctx) == stranger
		c.Audit(ctx, a)
	}
}

// Round implements pop.Rounds: it decides, and drops what is too old.
func (p *popOffice) Round(ctx context.Context, w agent.ClosedWindow) error {
	err := errors.Join(p.store.InPlace(), p.rounds.round(ctx, p.controller, func() error { return p.controller.Round(ctx, w) }))
	if ctx.Err() != nil { // the PoP is another's
		return err
	}
	p.rest()
	now := p.now().Unix()
	believed, berr := journal.Believed(ctx, p.store, now, int64(p.cfg.Window/time.Second))
	if believed {
		before := p.cfg.Store.Before(now)
		before.Span = 2 * int64(p.cfg.Window/time.Second)
		berr = errors.Join(berr, p.store.Prune(ctx, before))
	}
	_, terr := p.store.Thin(ctx, p.cfg.Store.MaxBytes, p.cfg.Newest())
	if berr = errors.Join(berr, terr); berr != nil {
		p.log.Error("drop what is older than store.keep_*", "err", berr)
	}
	return err
}

// Tell implements pop.Rounds.
func (p *popOffice) Tell(ctx context.Context, kind, text string) error {
	return p.controller.Tell(ctx, kind, text)
}

// signed is the PoP's plans.
type signed struct{ *popOffice }

func (s signed) Signed(ctx context.Context, serial record.PlanID) ([]byte, error) {
	f, ok, err := s.store.Plan(ctx, serial)
	if err == nil && !ok {
		err = errors.New("it is not in the store")
	}
	return f.Text, err
}

func (s signed) Rewrite(ctx context.Context, serial record.PlanID) error {
	return s.controller.Rewrite(ctx, serial)
}

func (s signed) Remember(ctx context.Context, key string, value []byte) error {
	return s.kept.SetSetting(ctx, key, value)
}

// windows adapts the inbox to its PoP.
type windows struct{ *inbox.Inbox }

func (w windows) Oldest() (int64, error) { return w.Inbox.Oldest(), nil }

func (w windows) Ends(start int64) (out []pop.End, err error) {
	for _, e := range w.Inbox.Ends(start) {
		out = append(out, pop.End{Host: e.Host, Unknown: e.Unknown, Starved: e.Starved, Congs: e.DefaultCongs})
	}
	return out, nil
}

// permitted lets operators act, and viewers ask, of the PoPs that their token is for.
func permitted(pop string, h *control.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		id := link.Caller(r.Context())
		if mayAsk(id, pop) && (id.Role == mtls.Operator || !h.Acts(r.URL.Path)) {
			h.ServeHTTP(w, r)
			return
		}
		h.Deny(w, r, &control.Error{Code: control.Forbidden, Text: fmt.Sprintf("%s may not do this", id), Hint: "an operator's certificate or token, of this PoP"})
	})
}

func mayAsk(id mtls.Identity, pop string) bool {
	return (id.PoP == "" || id.PoP == pop) && (id.Role == mtls.Operator || id.Role == mtls.Viewer)
}

// asAgent is the PoP in the words of a host's status.
func (p *popOffice) asAgent() agent.Status {
	s := p.Hosts()
	a := agent.Status{Polls: 1, Plan: uint64(s.Base.Serial), InForce: s.Base.Prefixes, Stopped: s.Killed, Alarms: []string{}, Namespaces: []string{}, DefaultCongs: []string{}, Hosts: []string{}}
	for name, h := range s.Hosts {
		switch {
		case !h.Connected:
			a.Alarms = append(a.Alarms, "host "+name+": not connected")
		case h.Astray:
			a.Alarms = append(a.Alarms, "host "+name+": it does not have the plan of the PoP")
		}
		if h.Connected {
			a.Hosts = append(a.Hosts, name)
		}
	}
	slices.Sort(a.Hosts)
	slices.SortFunc(a.Alarms, strings.Compare)
	return a
}
