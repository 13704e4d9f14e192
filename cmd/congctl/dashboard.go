//go:build !small

package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/congctl/congctl/internal/fleet/store/link"
	"github.com/congctl/congctl/internal/fleet/store/mtls"
	"github.com/congctl/congctl/internal/goodput/effects"
	"github.com/congctl/congctl/internal/loop/config"
	"github.com/congctl/congctl/internal/loop/control"
	"github.com/congctl/congctl/internal/metrics/listener"
	"github.com/congctl/congctl/internal/web"
)

// The dashboard: its page, and below /api what it asks, which are control's queries. Every caller that
// reaches the port may ask; to act needs an operator's token. A browser never sends a token by itself, so
// no other page can act in its holder's name.

// deskAPI is where it asks.
const deskAPI = "/api"

const (
	deskAsks    = 4          // questions at a time; actions do not wait for them
	deskTable   = "prefixes" // two at a time: 100,000 networks take half a second of CPU
	deskTables  = 2
	deskCompare = "compare"        // reads a plan of 8 MiB: for who may push it
	deskWait    = 15 * time.Second // for a turn; the page waits for 20 s
	deskWrite   = 60 * time.Second // 100,000 networks over a slow line
)

// deskBudget is for questions of callers without a token: a tenth of a core for one, a fifth for all. A page of
// 100,000 networks takes some 3 s to load, and some 0.5 s after a round.
func deskBudget() *budget {
	return &budget{each: 6 * time.Second, all: 12 * time.Second, least: time.Second}
}

// stranger is a caller without a token.
var stranger = mtls.Identity{Role: mtls.Viewer, Name: "dashboard-without-a-token", Token: true}

// Desk is what the page asks first.
type Desk struct {
	Version string    `json:"version"`
	PoPs    []string  `json:"pops"`
	Fleet   bool      `json:"fleet"` // a controller, which knows hosts
	Role    mtls.Role `json:"role"`
	Name    string    `json:"name,omitempty"` // of the token
	Only    string    `json:"pop,omitempty"`  // the token is for this PoP
}

// desk answers a page about PoPs, of which of returns the queries.
type desk struct {
	about Desk
	pops  func() []string
	of    func(ctx context.Context, pop string) (popDesk, error)
	log   *slog.Logger

	refusals *control.Refusals                  // nil: of its own
	audit    func(context.Context, control.Act) // of what names no PoP; may be nil

	closed    bool    // to callers without a token
	budget    *budget // of callers without a token
	turns     *places // of all questions but deskTable
	table     *places
	followers *places
	looks     looks
	ending    <-chan struct{} // closed when the process ends
}

// serve puts page and queries on a listener; nothing on none.
func (d *desk) serve(on *listener.Server, cfg config.Config, tokens link.Tokens) error {
	if on == nil {
		return nil
	}
	page, err := web.Page()
	if err != nil {
		return err
	}
	d.refusals = cmp.Or(d.refusals, &control.Refusals{Log: d.log})
	d.closed = cfg.Metrics.Dashboard == config.DashboardToken
	d.looks.of, d.ending = map[string]*look{}, on.Ending()
	d.share()
	api := http.NewServeMux()
	api.HandleFunc("GET "+deskAPI+"/desk", d.first)
	api.HandleFunc(deskAPI+popPath("{pop}")+"/v1/{query}", d.query)
	all := http.NewServeMux()
	all.HandleFunc("GET "+deskAPI+popPath("{pop}")+"/v1/live", d.follow) // not packed: each message leaves at once
	all.Handle("/", packed(api))
	known := link.Recognized(all, tokens, stranger, d.wrong)
	if d.closed {
		known = link.Held(all, tokens, d.wrong)
	}
	d.log.Info("dashboard at http://" + on.Addr() + "/")
	on.Handle(deskAPI+"/", link.Watched(ofHeader(known), d.refusals.Say))
	for _, path := range []string{"/{$}", "/assets/", "/licences.txt"} {
		on.Handle("GET "+path, page)
	}
	return nil
}

// share sets what one caller leaves for others.
func (d *desk) share() {
	d.budget, d.turns, d.table, d.followers = deskBudget(), newPlaces(deskAsks), newPlaces(deskTables), newPlaces(liveMost)
}

// openPage takes the dashboard's port, unless it is that of the metrics; nil if it is served nowhere.
func openPage(ctx context.Context, m config.Metrics, own string, metrics *listener.Server, log *slog.Logger) (*listener.Server, error) {
	switch address := m.Page(own); address {
	case "":
		if m.Dashboard != config.DashboardOff && metrics != nil {
			log.Warn("no dashboard: metrics.listen is not on loopback, and it names client networks; metrics.dashboard_listen takes an address for it")
		}
		return nil, nil
	case m.Address(own):
		return metrics, nil
	default:
		s, err := listener.Listen(ctx, webOptions("metrics.dashboard_listen", address, false, log))
		if err != nil {
			return nil, failed("another port as metrics.dashboard_listen in the configuration", err)
		}
		return s, nil
	}
}

// tokenHeader has the page's token: Authorization may be that of a proxy in front, which asks for a password. No other
// site's page can send either of them here.
const tokenHeader = "Congctl-Token"

func ofHeader(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if secret := r.Header.Get(tokenHeader); secret != "" {
			r = r.Clone(r.Context())
			r.Header.Set("Authorization", "Bearer "+secret)
		}
		scheme, _, _ := strings.Cut(r.Header.Get("Authorization"), " ")
		if strings.EqualFold(scheme, "Bearer") && exposed(r) {
			control.Refuse(w, &control.Error{Code: control.Forbidden, Text: "a token came over plain HTTP from another host: take it for known to others",
				Hint: "congctl token remove NAME; then ssh -L, or a proxy with TLS on this host"})
			return
		}
		h.ServeHTTP(w, r)
	})
}

// exposed reports whether others may have read a request.
func exposed(r *http.Request) bool {
	from, err := netip.ParseAddrPort(r.RemoteAddr)
	return r.TLS == nil && (err != nil || !from.Addr().Unmap().IsLoopback())
}

// wrong keeps that a token was tried which is not valid.
func (d *desk) wrong(r *http.Request, err error) {
	if d.audit != nil && r.Header.Get("Authorization") != "" {
		d.audit(context.WithoutCancel(r.Context()), control.Act{By: "a caller of the dashboard with a wrong token", Name: "ask", Err: err, Stranger: true})
	}
}

func (d *desk) first(w http.ResponseWriter, r *http.Request) {
	about, id := d.about, link.Caller(r.Context())
	about.Version, about.Role = version, id.Role
	about.PoPs = slices.DeleteFunc(d.pops(), func(pop string) bool { return d.mayRead(id, pop, "") != nil })
	if id != stranger {
		about.Name, about.Only = id.Name, id.PoP
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	_ = json.NewEncoder(w).Encode(about) // the browser may have left
}

// at is a PoP, which the caller leaves; a [control.Error] if it is not here.
func (d *desk) at(ctx context.Context, pop string) (popDesk, error) {
	p, err := d.of(ctx, pop)
	if e := (*control.Error)(nil); err != nil && !errors.As(err, &e) {
		err = &control.Error{Code: control.NotFound, Text: err.Error()}
	}
	return p, err
}

// mayRead returns why a caller may not ask something. Who needs no token is refused nothing for having one.
func (d *desk) mayRead(id mtls.Identity, pop, query string) error {
	if (!d.closed || mayAsk(id, pop)) && (query != deskCompare || mayAsk(id, pop) && id.Role == mtls.Operator) {
		return nil
	}
	return &control.Error{Code: control.Forbidden, Text: id.String() + " may not do this", Hint: "a token of this PoP; to compare, an operator's"}
}

func (d *desk) query(w http.ResponseWriter, r *http.Request) {
	pop, query := r.PathValue("pop"), r.PathValue("query")
	p, err := d.at(r.Context(), pop)
	if err != nil {
		control.Refuse(w, err)
		return
	}
	defer p.leave()
	head := deskAPI + popPath(pop)
	if p.queries.Acts("/v1/" + query) {
		http.StripPrefix(head, permitted(pop, p.queries)).ServeHTTP(w, r)
		return
	}
	if err := d.mayRead(link.Caller(r.Context()), pop, query); err != nil {
		control.Refuse(w, err)
		return
	}
	d.inTurn(w, r, query, http.StripPrefix(head, p.queries))
}

// inTurn answers a question once its caller may have an answer.
func (d *desk) inTurn(w http.ResponseWriter, r *http.Request, query string, h http.Handler) {
	who, known := d.caller(r.Context())
	if left, over := d.budget.take(who, 0, time.Now()); over && !known {
		w.Header().Set("Retry-After", strconv.Itoa(int(left/time.Second)+1))
		control.Refuse(w, &control.Error{Code: control.Exhausted, Text: "no processor time is left in this minute for you without a token", Hint: "wait, or use a token"})
		return
	}
	turns := d.turns
	if query == deskTable {
		turns = d.table
	}
	ctx, done := context.WithTimeout(r.Context(), deskWait)
	defer done()
	give := turns.take(ctx, who)
	if give == nil && r.Context().Err() != nil {
		return
	}
	if give == nil {
		control.Refuse(w, &control.Error{Code: control.Unavailable, Text: "too many questions at a time", Hint: "close other dashboards of this host, or wait"})
		return
	}
	defer give()
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(deskWrite)) // an answer without one is cut off earlier
	d.budget.charge(who, func() { h.ServeHTTP(w, r) })
}

// caller names whose places and processor time a request takes: a token's, which is known, or its connection's.
func (d *desk) caller(ctx context.Context) (who string, known bool) {
	if id := link.Caller(ctx); id != stranger {
		return id.String(), true
	}
	return askerOf(ctx), false
}

// openPage takes the port before anything is treated.
func (u *up) openPage(ctx context.Context) (err error) {
	u.page, err = openPage(ctx, u.cfg.Metrics, edgeListen, u.web, u.log)
	if u.page != nil && u.page != u.web {
		u.later(func() error { _ = u.page.Close(); return nil })
	}
	return err
}

// serveDashboard answers browsers from the moment that metrics are served, or on a port of its own from now on.
func (u *up) serveDashboard(ctx context.Context) error {
	h := control.NewHandler(u.log, func(ctx context.Context) string { return link.Caller(ctx).String() })
	control.HandleView(h, u.live)
	control.HandleActions(h, u.live)
	h.PlanEntries = u.cfg.Plan.Max
	h.Refused(because)
	h.Audit(audit(u.controller))
	control.Handle(h, effectOfPoP, (&recentEffect{window: u.cfg.Window, ask: func(ctx context.Context, q effectQuery) (*effects.View, error) { return effectHere(ctx, u.cfg, q) }}).get)
	control.Handle(h, ratesQuery, (&course{store: u.store}).get)
	control.Handle(h, recentQuery, recentOf(u.live))
	d := desk{log: u.log, refusals: &u.refusals, audit: u.controller.Audit, pops: func() []string { return []string{u.cfg.PoP} }, of: func(_ context.Context, pop string) (popDesk, error) {
		if pop != u.cfg.PoP {
			return popDesk{}, errors.New("pop " + pop + " is not decided here")
		}
		return popDesk{queries: h, view: u.live, leave: func() {}}, nil
	}}
	u.beside(ctx, func(ctx context.Context) error {
		audit := tokenAudit{tokensOf(u.cfg, nil), func(ctx context.Context, a control.Act) bool { u.controller.Audit(ctx, a); return true }}
		audit.run(ctx, func(err error) { u.log.Warn("no event of tokens", "err", err) })
		return nil
	})
	err := d.serve(u.page, u.cfg, tokensOf(u.cfg, func(err error) { u.log.Error("no token is valid", "err", err) }))
	if err == nil && u.page != nil && u.page != u.web {
		u.beside(ctx, func(ctx context.Context) error { return u.page.Serve(ctx, listener.Source{}) })
	}
	return err
}
