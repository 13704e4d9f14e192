//go:build !small

package main

import (
	"cmp"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
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
	deskAsks  = 4                // questions at a time; actions do not wait for them
	deskTable = "prefixes"       // one at a time: 100,000 networks take half a second of CPU
	deskWait  = 15 * time.Second // for a turn; the page waits for 20 s
	deskWrite = 60 * time.Second // 100,000 networks over a slow line
)

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
	turns chan struct{} // of all questions but deskTable
	table chan struct{}
	log   *slog.Logger

	refusals *control.Refusals                  // nil: of its own
	audit    func(context.Context, control.Act) // of what names no PoP; may be nil

	followers chan struct{}
	looks     looks
	ending    <-chan struct{} // closed when the process ends
}

// serve puts page and queries on a listener; nothing with metrics.dashboard off.
func (d *desk) serve(on *listener.Server, cfg config.Config, tokens link.Tokens) error {
	if on == nil || cfg.Metrics.Dashboard == config.DashboardOff {
		return nil
	}
	page, err := web.Page()
	if err != nil {
		return err
	}
	name, _, _ := net.SplitHostPort(cfg.Metrics.Listen) // "" by default: loopback has no other
	d.refusals = cmp.Or(d.refusals, &control.Refusals{Log: d.log})
	d.turns, d.table = make(chan struct{}, deskAsks), make(chan struct{}, 1)
	d.followers, d.looks.of, d.ending = make(chan struct{}, liveMost), map[string]*look{}, on.Ending()
	api := http.NewServeMux()
	api.HandleFunc("GET "+deskAPI+"/desk", d.first)
	api.HandleFunc(deskAPI+popPath("{pop}")+"/v1/{query}", d.query)
	all := http.NewServeMux()
	all.HandleFunc("GET "+deskAPI+popPath("{pop}")+"/v1/live", d.follow) // not packed: each message leaves at once
	all.Handle("/", packed(api))
	d.log.Info("dashboard at http://" + on.Addr() + "/")
	on.Handle(deskAPI+"/", web.Guard(link.Watched(ofHeader(link.Recognized(all, tokens, stranger, d.wrong)), d.refusals.Say), name))
	for _, path := range []string{"/{$}", "/assets/", "/licences.txt"} {
		on.Handle("GET "+path, web.Guard(page, name))
	}
	return nil
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
		h.ServeHTTP(w, r)
	})
}

// wrong keeps that a token was tried which is not valid.
func (d *desk) wrong(r *http.Request, err error) {
	if d.audit != nil {
		d.audit(context.WithoutCancel(r.Context()), control.Act{By: "a caller of the dashboard with a wrong token", Name: "ask", Err: err, Stranger: true})
	}
}

func (d *desk) first(w http.ResponseWriter, r *http.Request) {
	about, id := d.about, link.Caller(r.Context())
	about.Version, about.PoPs, about.Role = version, d.pops(), id.Role
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

func (d *desk) query(w http.ResponseWriter, r *http.Request) {
	pop := r.PathValue("pop")
	p, err := d.at(r.Context(), pop)
	if err != nil {
		control.Refuse(w, err)
		return
	}
	defer p.leave()
	rest := http.StripPrefix(deskAPI+popPath(pop), permitted(pop, p.queries))
	if p.queries.Acts("/v1/" + r.PathValue("query")) {
		rest.ServeHTTP(w, r)
		return
	}
	turns := d.turns
	if r.PathValue("query") == deskTable {
		turns = d.table
	}
	select {
	case turns <- struct{}{}:
		defer func() { <-turns }()
	case <-time.After(deskWait):
		control.Refuse(w, &control.Error{Code: control.Unavailable, Text: "too many questions at a time", Hint: "close other dashboards of this host, or wait"})
		return
	case <-r.Context().Done():
		return
	}
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(deskWrite)) // an answer without one is cut off earlier
	rest.ServeHTTP(w, r)
}

// packed compresses answers, most of all 100,000 networks.
func packed(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
			h.ServeHTTP(w, r)
			return
		}
		z, _ := gzip.NewWriterLevel(w, gzip.BestSpeed) // the level is valid
		defer z.Close()
		w.Header().Set("Content-Encoding", "gzip")
		h.ServeHTTP(packing{w, z}, r)
	})
}

type packing struct {
	http.ResponseWriter
	z io.Writer
}

func (p packing) Write(b []byte) (int, error) { return p.z.Write(b) }

// Unwrap lets the deadline be set.
func (p packing) Unwrap() http.ResponseWriter { return p.ResponseWriter }

// serveDashboard answers browsers from the moment that metrics are served.
func (u *up) serveDashboard(ctx context.Context) error {
	h := control.NewHandler(u.log, func(ctx context.Context) string { return link.Caller(ctx).String() })
	control.HandleView(h, u.live)
	control.HandleActions(h, u.live)
	h.Refused(because)
	h.Audit(audit(u.controller))
	recent := recentEffect{ask: func(ctx context.Context, q effectQuery) (*effects.View, error) { return effectHere(ctx, u.cfg, q) }}
	control.Handle(h, effectOfPoP, recent.get)
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
	return d.serve(u.web, u.cfg, tokensOf(u.cfg, func(err error) { u.log.Error("no token is valid", "err", err) }))
}

// recentEffect keeps the last answer about the effect for a minute: it reads a day of the store.
type recentEffect struct {
	ask func(context.Context, effectQuery) (*effects.View, error)

	mu   sync.Mutex // guards all below, and is held while one is asked
	of   effectQuery
	made time.Time
	view *effects.View
}

func (e *recentEffect) get(ctx context.Context, q effectQuery) (*effects.View, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.view != nil && e.of == q && time.Since(e.made) < time.Minute {
		return e.view, nil
	}
	v, err := e.ask(ctx, q)
	if err == nil {
		e.of, e.made, e.view = q, time.Now(), v
	}
	return v, err
}
