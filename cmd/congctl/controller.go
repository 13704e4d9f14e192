package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/congctl/congctl/internal/fleet/pop"
	"github.com/congctl/congctl/internal/fleet/rollout"
	"github.com/congctl/congctl/internal/fleet/store/inbox"
	"github.com/congctl/congctl/internal/fleet/store/link"
	"github.com/congctl/congctl/internal/fleet/store/mtls"
	"github.com/congctl/congctl/internal/loop/config"
	"github.com/congctl/congctl/internal/loop/policy"
)

func newControllerVerb(g *global) *cobra.Command {
	return &cobra.Command{
		Use:   "controller",
		Short: "Decide for the PoPs of a fleet: take what their agents send, bring them plans",
		Long: `controller decides for each PoP of fleet.pops as up does for one host, on what the
PoP's agents send, and brings the plan to them host by host, until SIGTERM or
SIGINT. It needs no root. Its log names each PoP's key, for fleet.plan_keys of the
agents.`,
		Example: "  congctl controller -c /etc/congctl/controller.yml",
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, rules, err := g.checked()
			if err == nil {
				err = forController(cfg)
			}
			if err != nil {
				return err
			}
			return runController(cmd.Context(), cfg, rules, cmd.ErrOrStderr())
		},
	}
}

func forController(cfg config.Config) error {
	if len(cfg.Fleet.PoPs) == 0 {
		return usage(errors.New("fleet.pops is empty: list the PoPs to decide for"))
	}
	return certified(cfg.Fleet)
}

func certified(f config.Fleet) error {
	for _, k := range []struct{ key, value string }{{"cert", f.Cert}, {"key", f.Key}, {"ca", f.CA}} {
		if k.value == "" {
			return usage(fmt.Errorf("fleet.%s is empty: the hosts of a fleet trust each other by certificates (docs/fleet.md)", k.key))
		}
	}
	return nil
}

// office is a controller's process.
type office struct {
	cfg   config.Config
	rules policy.Rules
	log   *slog.Logger
	pops  map[string]*popOffice
	turns chan struct{} // as many windows in memory at once as there are processors
	close []func() error
}

func newOffice(cfg config.Config, rules policy.Rules, log *slog.Logger) *office {
	return &office{cfg: cfg, rules: rules, log: log, pops: map[string]*popOffice{}, turns: make(chan struct{}, runtime.GOMAXPROCS(0))}
}

func runController(ctx context.Context, cfg config.Config, rules policy.Rules, stderr io.Writer) (err error) {
	o := newOffice(cfg, rules, newLog(cfg.Log, stderr))
	defer func() {
		for i := len(o.close) - 1; i >= 0; i-- {
			err = errors.Join(err, o.close[i]())
		}
	}()
	lock, err := lockState(cfg)
	if err != nil {
		return err
	}
	o.close = append(o.close, lock.Release)
	creds, err := mtls.Open(filesOf(cfg.Fleet), func(err error) { o.log.Error("certificates stay as they were", "err", err) })
	if err != nil {
		return usage(err)
	}
	if self, err := creds.Self(); err != nil || self.Role != mtls.Controller {
		return usage(errors.Join(fmt.Errorf("fleet.cert %s is not a controller's: it needs the name congctl://controller/NAME", cfg.Fleet.Cert), err))
	}
	for _, name := range cfg.Fleet.PoPs {
		if err := o.open(ctx, name); err != nil {
			return err
		}
	}
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", cfg.Fleet.Listen)
	if err != nil {
		return failed("another port as fleet.listen", fmt.Errorf("listen on fleet.listen: %w", err))
	}
	o.log.Info(fmt.Sprintf("up: %d PoPs, window %s, agents at %s", len(o.pops), config.FormatDuration(cfg.Window), listener.Addr()))
	return o.run(ctx, listener, creds)
}

// run serves and decides until ctx ends or a PoP cannot go on.
func (o *office) run(ctx context.Context, l net.Listener, creds *mtls.Credentials) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	// No limit for a response: a stream of orders has no end.
	s := &http.Server{Handler: link.Authenticated(o.handler()), TLSConfig: creds.Server(), ReadHeaderTimeout: readWait, IdleTimeout: 10 * readWait,
		MaxHeaderBytes: 16 << 10, BaseContext: func(net.Listener) context.Context { return ctx }, ErrorLog: slog.NewLogLogger(o.log.Handler(), slog.LevelDebug)}
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
		if err := s.ServeTLS(l, "", ""); !errors.Is(err, http.ErrServerClosed) {
			return fmt.Errorf("serve agents: %w", err)
		}
		return nil
	})
	<-ctx.Done()
	late, cancel := context.WithTimeout(context.WithoutCancel(ctx), shutWait)
	defer cancel()
	if s.Shutdown(late) != nil {
		_ = s.Close()
	}
	all.Wait()
	return errors.Join(errs...)
}

const (
	readWait = 10 * time.Second // for a request's header
	shutWait = 2 * time.Second  // of the 5 s in which the process must end
)

func (o *office) handler() http.Handler {
	mux := http.NewServeMux()
	mux.Handle(link.NewHandler(o))
	for name, p := range o.pops {
		mux.Handle(popPath(name)+"/", http.StripPrefix(popPath(name), permitted(p.queries)))
	}
	return mux
}

// Push implements link.Handler.
func (o *office) Push(_ context.Context, from mtls.Identity, frames []byte) error {
	p, err := o.of(from)
	if err != nil {
		return err
	}
	if p.inbox == nil {
		return fmt.Errorf("%w: this controller reads records from fleet.clickhouse: set fleet.kafka on the agents", link.ErrRefused)
	}
	err = p.inbox.Take(from.Name, frames, time.Now().Unix())
	if errors.Is(err, inbox.ErrRefused) {
		o.log.Warn(fmt.Sprintf("batch of %s refused", from), "err", err)
		return fmt.Errorf("%w: %w", link.ErrRefused, err)
	}
	p.Came()
	return err
}

// Follow implements link.Handler.
func (o *office) Follow(ctx context.Context, from mtls.Identity, h link.Have, send func(link.Order) error) error {
	p, err := o.of(from)
	if err != nil {
		return err
	}
	c := rollout.Connect{Host: from.Name, Boot: pop.BootText(h.Boot), Version: h.Version, Serial: h.Plan, Hash: h.Hash}
	return p.Follow(ctx, c, func(o pop.Order) error { return send(link.Order(o)) })
}

// Report implements link.Handler.
func (o *office) Report(ctx context.Context, from mtls.Identity, r link.Report) error {
	p, err := o.of(from)
	if err != nil {
		return err
	}
	p.Report(ctx, from.Name, pop.Report{Plan: r.Plan, Hash: r.Hash, InForce: r.InForce, Refusal: r.Refusal, Stopped: r.Stopped, Evict: r.Evict, Evicted: r.Evicted})
	return nil
}

// of returns an agent's PoP. One that is not here may be at the next start, so the agent asks again.
func (o *office) of(from mtls.Identity) (*popOffice, error) {
	p := o.pops[from.PoP]
	if p == nil {
		return nil, fmt.Errorf("pop %q is not in fleet.pops of this controller", from.PoP)
	}
	return p, nil
}

func (o *office) popDir(name string) string { return filepath.Join(o.cfg.StateDir, "pops", name) }

// open opens a PoP's store and inbox, and what decides for it.
func (o *office) open(ctx context.Context, name string) error {
	cfg := o.cfg
	cfg.PoP, cfg.StateDir = name, o.popDir(name)
	if err := os.MkdirAll(cfg.StateDir, 0o700); err != nil {
		return fmt.Errorf("open pop %s: %w", name, err)
	}
	p := &popOffice{cfg: cfg, turns: o.turns, log: o.log.With("pop", name)}
	if err := p.open(ctx, o.rules); err != nil {
		return errors.Join(fmt.Errorf("open pop %s: %w", name, err), p.shut())
	}
	o.pops[name] = p
	o.close = append(o.close, p.shut)
	o.log.Info(fmt.Sprintf("pop %s: plan key %x", name, []byte(p.controller.PublicKey())))
	return nil
}

// lastWindow returns the start of the last window of a store; 0 for none.
func lastWindow(ctx context.Context, s heads) (start int64, err error) {
	all, err := s.Heads(ctx, 0, math.MaxInt64)
	for _, h := range all {
		start = max(start, h.Start)
	}
	return start, err
}
