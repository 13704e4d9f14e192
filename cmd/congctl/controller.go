//go:build !small

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"log/slog"
	"math"
	"net"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"github.com/congctl/congctl/internal/fleet/halt"
	"github.com/congctl/congctl/internal/fleet/pop"
	"github.com/congctl/congctl/internal/fleet/rollout"
	"github.com/congctl/congctl/internal/fleet/store/inbox"
	"github.com/congctl/congctl/internal/fleet/store/link"
	"github.com/congctl/congctl/internal/fleet/store/mtls"
	"github.com/congctl/congctl/internal/loop/config"
	"github.com/congctl/congctl/internal/loop/control"
	"github.com/congctl/congctl/internal/loop/policy"
	"github.com/congctl/congctl/internal/metrics/listener"
)

func newControllerVerb(g *global) *cobra.Command {
	return &cobra.Command{
		Use:   "controller",
		Short: "Decide for the PoPs of a fleet: take what their agents send, bring them plans",
		Long: `controller decides for each PoP of fleet.pops as up does for one host, on what the
PoP's agents send, and brings the plan to them host by host, until SIGTERM or
SIGINT. It needs no root. Its log names each PoP's key, for fleet.plan_keys of the
agents. With fleet.kafka and fleet.clickhouse it shares the PoPs with other
controllers, and takes over those of one that dies.`,
		Example: "  congctl controller -c /etc/congctl/controller.yml",
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, rules, err := g.checked()
			if err == nil {
				err = forController(cfg)
			}
			if err != nil {
				return err
			}
			return runController(cmd.Context(), g, cfg, rules, cmd.ErrOrStderr())
		},
	}
}

func forController(cfg config.Config) error {
	if len(cfg.Fleet.PoPs) == 0 {
		return usage(errors.New("fleet.pops is empty: list the PoPs to decide for"))
	}
	if cfg.Treatment.AutoWhy != "" {
		return usage(errors.New("treatment.cong: auto: a controller does not see its agents' kernels; write a name that all of them can have"))
	}
	return certified(cfg.Fleet)
}

// office is a controller's process.
type office struct {
	cfg   config.Config
	rules policy.Rules
	log   *slog.Logger
	share *sharing              // nil for a controller alone
	rooms map[string]*halt.Room // of PoPs that are shared
	turns chan struct{}         // as many windows in memory at once as there are processors
	web   *listener.Server      // nil with metrics.listen off
	page  *listener.Server      // of the dashboard: web, another one, or nil
	close []func() error

	refusals control.Refusals
	records  records
	mu       sync.Mutex // guards all below
	pops     map[string]*popOffice
}

func newOffice(cfg config.Config, rules policy.Rules, log *slog.Logger) *office {
	return &office{cfg: cfg, rules: rules, log: log, pops: map[string]*popOffice{}, turns: make(chan struct{}, runtime.GOMAXPROCS(0)), refusals: control.Refusals{Log: log}}
}

func runController(ctx context.Context, g *global, cfg config.Config, rules policy.Rules, stderr io.Writer) (err error) {
	o := newOffice(cfg, rules, logOf(cfg, stderr))
	hup := make(chan os.Signal, 1) // from here on, since SIGHUP ends a process that does not handle it
	signal.Notify(hup, unix.SIGHUP)
	defer signal.Stop(hup)
	defer func() {
		for i := len(o.close) - 1; i >= 0; i-- {
			err = errors.Join(err, o.close[i]())
		}
	}()
	lock, err := lockState(cfg)
	if err != nil {
		return err
	}
	o.close = append(o.close, lock.Release, o.records.shut)
	creds, err := mtls.Open(filesOf(cfg.Fleet), func(err error) { o.log.Error("certificates stay as they were", "err", err) })
	if err != nil {
		return usage(err)
	}
	creds.Revoke(revokedOf(cfg.Fleet.Revoked))
	self, err := creds.Self()
	if err != nil || self.Role != mtls.Controller {
		return usage(errors.Join(fmt.Errorf("fleet.cert %s is not a controller's: it needs the name congctl://controller/NAME", cfg.Fleet.Cert), err))
	}
	if err := o.openPoPs(ctx, creds, self); err != nil {
		return err
	}
	agents, err := new(net.ListenConfig).Listen(ctx, "tcp", cfg.Fleet.Listen)
	if err != nil {
		return failed("another port as fleet.listen", fmt.Errorf("listen on fleet.listen: %w", err))
	}
	if o.web, err = openListener(ctx, cfg.Metrics.Address(controllerListen), cfg.Metrics.PProf, o.log); err != nil {
		return errors.Join(err, agents.Close())
	}
	if o.page, err = openPage(ctx, cfg.Metrics, controllerListen, o.web, o.log); err != nil {
		return errors.Join(err, agents.Close())
	}
	if err := o.serveDashboard(); err != nil {
		return errors.Join(err, agents.Close())
	}
	o.log.Info(fmt.Sprintf("up: %d PoPs, window %s, agents at %s", len(cfg.Fleet.PoPs), config.FormatDuration(cfg.Window), agents.Addr()))
	until, end := context.WithCancel(ctx)
	defer end()
	go o.reloads(until, g, creds, hup)
	return o.run(ctx, agents, creds)
}

// openPoPs opens all PoPs, or of those that are shared what is needed to take one over.
func (o *office) openPoPs(ctx context.Context, creds *mtls.Credentials, self mtls.Identity) error {
	if o.cfg.Fleet.Kafka != "" && o.cfg.Fleet.ClickHouse != "" {
		return o.openShares(ctx, creds, self)
	}
	for _, name := range o.cfg.Fleet.PoPs {
		if err := o.open(ctx, name); err != nil {
			return err
		}
	}
	return nil
}

// open opens a PoP that is this controller's alone.
func (o *office) open(ctx context.Context, name string) error {
	p, err := o.prepare(name)
	if err != nil {
		return err
	}
	if err := p.open(ctx, o.rules); err != nil {
		return errors.Join(fmt.Errorf("open pop %s: %w", name, err), p.shut())
	}
	o.pops[name] = p
	o.close = append(o.close, p.shut)
	o.logKey(name, p.controller.PublicKey())
	return nil
}

func (o *office) logKey(name string, key []byte) {
	o.log.Info(fmt.Sprintf("pop %s: plan key %x", name, key))
}

// run serves and decides until ctx ends or a PoP cannot go on.
func (o *office) run(ctx context.Context, l net.Listener, creds *mtls.Credentials) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	tokens := tokensOf(o.cfg, func(err error) { o.log.Error("no token is valid", "err", err) })
	// No limit for a response: a stream of orders has no end.
	s := &http.Server{Handler: link.Watched(link.Authenticated(link.Limited(o.handler()), creds, tokens), o.refusals.Say), TLSConfig: creds.Server(), ReadHeaderTimeout: readWait, IdleTimeout: 10 * readWait,
		MaxHeaderBytes: 16 << 10, BaseContext: func(net.Listener) context.Context { return ctx }, ErrorLog: log.New(o, "", 0)}
	link.Unasked(s, o.refusals.Say)
	var all sync.WaitGroup
	var mu sync.Mutex
	var errs []error
	beside := func(fn func() error) {
		all.Go(func() {
			err := fn()
			mu.Lock()
			defer mu.Unlock()
			errs = append(errs, err)
			stop()
		})
	}
	for _, p := range o.pops {
		beside(func() error { p.Run(ctx); return nil })
	}
	beside(func() error {
		if err := s.ServeTLS(link.Bounded(l, o.refusals.Say), "", ""); !errors.Is(err, http.ErrServerClosed) {
			return fmt.Errorf("serve agents: %w", err)
		}
		return nil
	})
	if o.share != nil {
		beside(func() error { return o.share.run(ctx) })
	}
	if o.web != nil {
		beside(func() error { return o.web.Serve(ctx, o.source()) })
	}
	if o.page != nil && o.page != o.web {
		beside(func() error { return o.page.Serve(ctx, listener.Source{}) })
	}
	all.Go(func() {
		audit := tokenAudit{tokensOf(o.cfg, nil), func(ctx context.Context, a control.Act) bool { o.audit(ctx, a); return len(o.names()) > 0 }}
		audit.run(ctx, func(err error) { o.log.Warn("no event of tokens", "err", err) })
	})
	all.Go(func() { tellSystemd(ctx, o.source(), o.log) })
	<-ctx.Done()
	late, cancel := context.WithTimeout(context.WithoutCancel(ctx), shutWait)
	defer cancel()
	if s.Shutdown(late) != nil {
		_ = s.Close()
	}
	all.Wait()
	return errors.Join(errs...)
}

// Write takes net/http's lines: strangers that TLS refused, and what closed before it said anything.
func (o *office) Write(line []byte) (int, error) {
	if text := strings.TrimSpace(string(line)); strings.HasSuffix(text, "EOF") {
		o.log.Debug(text)
	} else {
		o.refusals.Say(text)
	}
	return len(line), nil
}

const (
	readWait = 10 * time.Second // for a request's header
	shutWait = 2 * time.Second  // of the 5 s in which the process must end
)

func (o *office) handler() http.Handler {
	mux := http.NewServeMux()
	mux.Handle(link.NewHandler(o))
	mux.HandleFunc(popPath(""), o.query)
	return mux
}

// query answers a verb.
func (o *office) query(w http.ResponseWriter, r *http.Request) {
	name, _, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, popPath("")), "/")
	p, err := o.of(r.Context(), name)
	var elsewhere *control.Error
	switch {
	case errors.As(err, &elsewhere):
		if !o.stops(w, r, name) {
			control.Refuse(w, elsewhere)
		}
	case err != nil:
		http.NotFound(w, r)
	default:
		defer p.users.Done()
		http.StripPrefix(popPath(name), permitted(name, p.queries)).ServeHTTP(w, r)
	}
}

// Push implements link.Handler.
func (o *office) Push(ctx context.Context, from mtls.Identity, frames []byte) error {
	p, err := o.of(ctx, from.PoP)
	if err != nil {
		return err
	}
	defer p.users.Done()
	if p.inbox == nil {
		return fmt.Errorf("%w: this controller reads records from fleet.clickhouse: set fleet.kafka on the agents", link.ErrRefused)
	}
	err = p.inbox.Take(from.Name, frames, time.Now().Unix())
	if errors.Is(err, inbox.ErrRefused) {
		return fmt.Errorf("%w: %w", link.ErrRefused, err)
	}
	p.Came()
	return err
}

// Follow implements link.Handler.
func (o *office) Follow(ctx context.Context, from mtls.Identity, h link.Have, send func(link.Order) error) error {
	order := func(o pop.Order) error { return send(link.Order(o)) }
	if r := o.rooms[from.PoP]; r != nil {
		bearing, leave, err := r.Enter(ctx, from.Name, order)
		if err != nil {
			return err
		}
		defer leave()
		if err := r.Await(ctx); err != nil {
			return err
		}
		order = bearing
	}
	p, err := o.of(ctx, from.PoP)
	if err != nil {
		return err
	}
	defer p.users.Done()
	if err := p.halt.Take(ctx, h.Stop); err != nil {
		return err
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	defer context.AfterFunc(p.held, stop)()
	c := rollout.Connect{Host: from.Name, Boot: pop.BootText(h.Boot), Version: h.Version, Tier: h.Tier, BBR: h.BBR, Serial: h.Plan, Hash: h.Hash}
	return p.Follow(ctx, c, pop.Takes{Keys: h.Keys, PlanBytes: h.PlanBytes}, order)
}

// Report implements link.Handler.
func (o *office) Report(ctx context.Context, from mtls.Identity, r link.Report) error {
	if room := o.rooms[from.PoP]; room != nil {
		room.Heard(from.Name, r.Stopped)
		if room.Waits() {
			return nil
		}
	}
	p, err := o.of(ctx, from.PoP)
	if err != nil {
		return err
	}
	defer p.users.Done()
	p.Report(ctx, from.Name, pop.Report{Plan: r.Plan, Hash: r.Hash, InForce: r.InForce, Refusal: r.Refusal, Stopped: r.Stopped, Evict: r.Evict, Evicted: r.Evicted})
	return nil
}

// of returns a PoP, whose users the caller leaves. One that is not here may be at the next start, or in a moment, so an
// agent asks again.
func (o *office) of(ctx context.Context, name string) (*popOffice, error) {
	if p := o.present(name); p != nil {
		return p, nil
	}
	if r := o.rooms[name]; r != nil {
		return nil, r.Elsewhere(ctx)
	}
	return nil, fmt.Errorf("pop %q is not in fleet.pops of this controller", name)
}

// present is of for a PoP that is here; nil for others.
func (o *office) present(name string) *popOffice {
	o.mu.Lock()
	defer o.mu.Unlock()
	p := o.pops[name]
	if p != nil {
		p.users.Add(1)
	}
	return p
}

// callerOf names who asks.
func callerOf(ctx context.Context) string { return link.Caller(ctx).String() }

func (o *office) popDir(name string) string { return filepath.Join(o.cfg.StateDir, "pops", name) }

// prepare makes a PoP that is not open yet.
func (o *office) prepare(name string) (*popOffice, error) {
	cfg := o.cfg
	cfg.PoP, cfg.StateDir = name, o.popDir(name)
	if err := os.MkdirAll(cfg.StateDir, 0o700); err != nil {
		return nil, fmt.Errorf("open pop %s: %w", name, err)
	}
	return &popOffice{cfg: cfg, room: o.rooms[name], turns: o.turns, records: &o.records, log: o.log.With("pop", name), held: context.Background(), now: time.Now}, nil
}

// lastWindow returns the start of the last window of a store; 0 for none.
func lastWindow(ctx context.Context, s heads) (start int64, err error) {
	all, err := s.Heads(ctx, 0, math.MaxInt64)
	for _, h := range all {
		start = max(start, h.Start)
	}
	return start, err
}
