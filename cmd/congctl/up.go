package main

import (
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"os"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"

	"github.com/congctl/congctl/internal/goodput/weblog"
	"github.com/congctl/congctl/internal/loop/agent"
	"github.com/congctl/congctl/internal/loop/config"
	"github.com/congctl/congctl/internal/loop/control"
	"github.com/congctl/congctl/internal/loop/controller"
	"github.com/congctl/congctl/internal/loop/journal"
	"github.com/congctl/congctl/internal/loop/kernel/enforce"
	"github.com/congctl/congctl/internal/loop/logline"
	"github.com/congctl/congctl/internal/loop/policy"
	"github.com/congctl/congctl/internal/loop/store/sqlite"
	"github.com/congctl/congctl/internal/metrics/listener"
)

func newUp(g *global) *cobra.Command {
	var cgroup string
	cmd := &cobra.Command{
		Use:   "up",
		Short: "Run the whole loop on this host: agent, controller and store",
		Long: `up measures this host's TCP connections, decides once per window which client
networks to treat, and treats them, until SIGTERM or SIGINT. SIGHUP reloads the
configuration. It needs root (or CAP_BPF, CAP_PERFMON, CAP_NET_ADMIN, and
CAP_SYS_ADMIN for other namespaces) and Linux 5.15 to treat;
the first lines of the log say what this kernel can do.`,
		Example: "  sudo congctl up\n  sudo congctl up -c /etc/congctl/congctl.yml",
		RunE: func(cmd *cobra.Command, _ []string) error {
			g.cgroup = cgroup
			g.willTreat()
			cfg, rules, err := g.checked()
			if err != nil {
				return err
			}
			return runUp(cmd.Context(), g, cfg, rules, cmd.ErrOrStderr())
		},
	}
	pathVar(cmd.Flags(), &cgroup, "cgroup", "", "", "attach to this cgroup2 directory instead of the configured one")
	return cmd
}

// up is one run of the loop.
type up struct {
	edgeHost
	store      *sqlite.Store
	controller *controller.Controller
	meter      *weblog.Meter // nil if no access log is followed
	keep       atomic.Pointer[config.Config]
	live       *controller.View
	page       *listener.Server // of the dashboard: web, another one, or nil
	rounds     roundMeter
	refusals   control.Refusals
	held       config.Config // the configuration in force; cfg is that of the start
}

func runUp(ctx context.Context, g *global, cfg config.Config, rules policy.Rules, stderr io.Writer) (err error) {
	u := &up{edgeHost: newEdgeHost(g, cfg, rules, stderr), held: cfg}
	u.owner = u
	return u.start(ctx, u.lock, u.openMetrics, u.openPage, u.openStore, u.openKernel, u.openController, u.openMeter, u.openAgent, u.attach, u.runMeter, u.serve, u.serveDashboard, u.serveMetrics, u.drop)
}

func (u *up) openStore(ctx context.Context) error {
	s, err := openStore(ctx, u.cfg, sqlite.Options{CreatedBy: "congctl " + version, At: time.Now()})
	if err != nil {
		return err
	}
	u.store = s
	u.later(s.Close)
	return nil
}

func (u *up) openController(ctx context.Context) (err error) {
	o, done, err := withNames(optionsOf(u.cfg, u.rules), u.cfg)
	if err != nil {
		return err
	}
	u.later(done)
	o.Untreated = u.probe.Tier == enforce.TierObserve
	u.controller, err = controller.New(ctx, o, u.store, u.log, time.Now)
	return err
}

func (u *up) keys() []ed25519.PublicKey { return []ed25519.PublicKey{u.controller.PublicKey()} }

// attach gives the agent the plan of before the restart.
func (u *up) attach(ctx context.Context) error {
	u.keep.Store(&u.cfg)
	if missing := u.store.Missing().String(); missing != "" {
		u.agent.RaiseAlarm("missing", missing) // stands as long as this run: what is gone does not come back
	}
	return u.controller.Attach(ctx, u.agent)
}

func (u *up) onWindow(ctx context.Context, w agent.ClosedWindow) {
	// A window being stored must be stored whole, even while we stop.
	if err := u.round(context.WithoutCancel(ctx), w); err != nil {
		u.agent.RaiseAlarm("round", err.Error())
	} else {
		u.agent.ClearAlarm("round")
	}
	if u.meter != nil {
		u.meter.Window(w.Start)
	}
	if w.Unknown == "" {
		u.prune(ctx, time.Now().Unix())
	}
}

// round decides, unless what it decides would be lost: with the store or the lock gone from
// their paths, a stop would be forgotten and a second congctl could start. Then nothing is
// treated until an operator resumes or restarts.
func (u *up) round(ctx context.Context, w agent.ClosedWindow) error {
	if err := errors.Join(u.store.InPlace(), u.instance.Held()); err != nil {
		u.agent.Kill(true)
		return fmt.Errorf("treatment is stopped: %w; then congctl resume, or restart congctl", err)
	}
	return u.rounds.round(ctx, u.controller, func() error { return u.controller.Round(ctx, w) })
}

// keepEvent stores an event. What the store cannot take is in the log, and an alarm of the
// status says so; that alarm's own event is not tried again.
func (u *up) keepEvent(ctx context.Context, a alarm) {
	err := u.controller.Tell(context.WithoutCancel(ctx), a.kind, a.text)
	if err == nil {
		u.agent.ClearAlarm("events")
	} else if a.kind != controller.KindAlarm+"events" {
		u.agent.RaiseAlarm("events", fmt.Sprintf("the store does not take events, the last was %s: %v", a.kind, err))
	}
}

// prune deletes what is older than the configuration keeps, once a window and by a clock
// that is believed: the window that has become too old. Of a store that has more windows than
// are to be kept, as after a shorter time to keep, two.
func (u *up) prune(ctx context.Context, now int64) {
	window := int64(u.cfg.Window / time.Second)
	believed, err := journal.Believed(ctx, u.store, now, window)
	if err == nil && believed {
		err = u.pruneSpan(ctx, now, window)
	}
	err = errors.Join(err, u.thin(ctx))
	if err != nil && ctx.Err() == nil {
		u.log.Error("drop what is older than store.keep_* and goodput.keep", "err", err)
	}
}

func (u *up) pruneSpan(ctx context.Context, now, window int64) error {
	heads, err := u.store.Heads(ctx, 0, math.MaxInt64)
	if err != nil {
		return err
	}
	keep := u.keep.Load()
	before := keep.Store.Before(now)
	if before.Span = window; len(heads) > int(keep.Store.KeepWindows/u.cfg.Window)+1 {
		before.Span = 2 * window
	}
	err = u.store.Prune(ctx, before)
	if u.meter != nil {
		err = errors.Join(err, goodputDir(u.cfg).Prune(now-int64(u.cfg.Goodput.Keep/time.Second)))
	}
	return err
}

// thin holds the store to its budget, by whatever clock.
func (u *up) thin(ctx context.Context) error {
	keep := u.keep.Load()
	most := keep.Store.MaxBytes
	used, err := u.store.Thin(ctx, most, keep.Newest())
	if err != nil {
		return err
	}
	if used > most+most/10 { // two windows a round work off more than one brings
		u.agent.RaiseAlarm("store", fmt.Sprintf("the store holds %d MiB of the %d that store.max_bytes allows: the oldest windows go, but for the last %s, which the policy needs; raise store.max_bytes",
			used>>20, most>>20, config.FormatDuration(keep.Remembered())))
	} else {
		u.agent.ClearAlarm("store")
	}
	return nil
}

// logOf returns the log of a run, which begins with the configuration's keys of earlier versions.
func logOf(cfg config.Config, w io.Writer) *slog.Logger {
	log := newLog(cfg.Log, w)
	warnOf(cfg, log)
	return log
}

func warnOf(cfg config.Config, log *slog.Logger) {
	for _, key := range cfg.Ignored {
		log.Warn("a key of an earlier version: " + key)
	}
}

func newLog(l config.Log, w io.Writer) *slog.Logger {
	o := logline.Options{JSON: l.Format == "json"}
	_ = o.Level.UnmarshalText([]byte(l.Level)) // validated with the configuration
	if f, ok := raw(w).(*os.File); ok {
		o.Journal = logline.ToJournal(f, os.Getenv("JOURNAL_STREAM"))
	}
	return logline.New(w, o)
}
