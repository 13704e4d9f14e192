package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"net/netip"
	"os"
	"os/signal"
	"runtime/debug"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"github.com/congctl/congctl/internal/goodput/weblog"
	"github.com/congctl/congctl/internal/linux/clock"
	"github.com/congctl/congctl/internal/linux/instance"
	"github.com/congctl/congctl/internal/loop/agent"
	"github.com/congctl/congctl/internal/loop/config"
	"github.com/congctl/congctl/internal/loop/controller"
	"github.com/congctl/congctl/internal/loop/journal"
	"github.com/congctl/congctl/internal/loop/kernel/cpu"
	"github.com/congctl/congctl/internal/loop/kernel/enforce"
	"github.com/congctl/congctl/internal/loop/kernel/route"
	"github.com/congctl/congctl/internal/loop/logline"
	"github.com/congctl/congctl/internal/loop/policy"
	"github.com/congctl/congctl/internal/loop/store/sqlite"
	"github.com/congctl/congctl/internal/tcp/record"
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

// gcPercent: most of the heap is the ledger, which lives as long as its connections.
// Collecting at half its size again costs little CPU and keeps 100,000 connections
// under 120 MB.
const gcPercent = 50

// up is one run of the loop.
type up struct {
	g     *global
	cfg   config.Config
	log   *slog.Logger
	close []func() error

	sampler    *sampler
	follower   *follower     // nil below tier good
	router     *route.Router // nil except on tiers route and basic
	probe      enforce.Probe
	store      *sqlite.Store
	instance   *instance.Lock
	controller *controller.Controller
	agent      *agent.Agent
	meter      *weblog.Meter // nil if no access log is followed
	clients    atomic.Pointer[agent.Clients]
	keep       atomic.Pointer[config.Config]
	alarms     chan alarm

	held  config.Config // the configuration in force; cfg is that of the start
	rules policy.Rules  // in force, with the lists as their files had them then
}

func runUp(ctx context.Context, g *global, cfg config.Config, rules policy.Rules, stderr io.Writer) (err error) {
	debug.SetGCPercent(gcPercent)
	u := &up{g: g, cfg: cfg, held: cfg, rules: rules, log: newLog(cfg.Log, stderr), alarms: make(chan alarm, 64)}
	defer func() { err = errors.Join(err, u.shut()) }()
	// From here on, since SIGHUP ends a process that does not handle it.
	hup := make(chan os.Signal, 1)
	signal.Notify(hup, unix.SIGHUP)
	defer signal.Stop(hup)
	for _, step := range []func(context.Context) error{u.lock, u.openStore, u.openKernel, u.openController, u.openMeter, u.openAgent, u.runMeter, u.serve, u.drop} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	return u.run(ctx, hup)
}

// later runs fn at the end, in reverse order.
func (u *up) later(fn func() error) { u.close = append(u.close, fn) }

// beside runs fn until u shuts down, or until ctx ends, whichever is first.
func (u *up) beside(ctx context.Context, fn func(context.Context) error) {
	ctx, stop := context.WithCancel(ctx)
	done := make(chan error, 1)
	go func() { done <- fn(ctx) }()
	u.later(func() error {
		stop()
		return <-done
	})
}

func (u *up) shut() error {
	var errs []error
	for i := len(u.close) - 1; i >= 0; i-- {
		errs = append(errs, u.close[i]())
	}
	return errors.Join(errs...)
}

func (u *up) lock(context.Context) error {
	l, err := lockState(u.cfg)
	if errors.Is(err, instance.ErrRunning) {
		return failed("congctl status", err)
	} else if err != nil {
		return err
	}
	u.instance = l
	u.later(l.Release)
	return nil
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
	u.controller, err = controller.New(ctx, o, u.store, u.log, time.Now)
	return err
}

func (u *up) openAgent(ctx context.Context) error {
	limits, err := limitsOf(u.cfg, u.rules)
	if err != nil {
		return err
	}
	u.keep.Store(&u.cfg)
	u.clients.Store(&agent.Clients{Allow: u.cfg.Clients.Allow, Exclude: u.cfg.Clients.Exclude})
	meter := cpu.NewMeter("/proc", cpu.Limits{StealShare: u.cfg.Starved.StealShare, RunQueuePerCPU: u.cfg.Starved.RunQueuePerCPU})
	records, err := u.records()
	if err != nil {
		return err
	}
	deps := agent.Deps{
		Sockets: u.sampler, Counters: u.sampler, Clock: clock.Now, Starved: meter.Starved,
		ClientFacing: u.clientFacing, Records: u.metered(records), OnWindow: func(w agent.ClosedWindow) { u.onWindow(ctx, w) }, OnAlarm: u.onAlarm, OnClear: u.onClear,
	}
	if u.follower != nil {
		deps.Follower, deps.Treater = u.follower, u.follower
		if u.follower.CanSweep() {
			deps.Sweeper = u.follower
		}
		deps.KernelCounts = u.follower.counts
	} else if u.router != nil {
		deps.Treater = u.router
	}
	u.agent = agent.New(agent.Options{
		Poll: u.cfg.Poll, Window: u.cfg.Window, Block: u.cfg.Experiment.Block, Washout: u.cfg.Experiment.Washout,
		MinBytes: u.cfg.Treatment.MinBytes, MaxConns: maxConns, MaxPrefixes: u.cfg.MaxPrefixes,
		PlanTTL: u.cfg.Treatment.Expiry, SweepEvery: sweepEvery, MaxQueuedCloses: maxQueuedCloses,
		CoverageLimit: coverageLimit, PublicKey: u.controller.PublicKey(), PlanLimits: limits,
	}, deps)
	if missing := u.store.Missing().String(); missing != "" {
		u.agent.RaiseAlarm("missing", missing) // stands as long as this run: what is gone does not come back
	}
	return u.controller.Attach(ctx, u.agent)
}

const (
	maxConns        = 4_000_000        // about 1 GB of ledger: beyond it a host needs sampling, and the loop says so
	sweepEvery      = 30 * time.Second // stolen callbacks are noticed within a minute
	maxQueuedCloses = 200_000          // 64 MB at the worst: four seconds of closes at 50,000/s
	coverageLimit   = 0.99
)

func (u *up) clientFacing(ns record.NetnsID, local, remote netip.AddrPort, passive bool) bool {
	if len(u.cfg.Ports) > 0 && !slices.Contains(u.cfg.Ports, local.Port()) {
		return false
	}
	return u.clients.Load().Facing(ns, local, remote, passive)
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
	return u.controller.Round(ctx, w)
}

// alarm is an event that begins or ends an alarm.
type alarm struct{ kind, text string }

func (u *up) onAlarm(kind, text string) { u.onEvent(controller.KindAlarm+kind, text) }
func (u *up) onClear(kind string)       { u.onEvent(controller.KindAlarmOver, kind) }

// onEvent never waits: the agent calls it from its loop, and a store that another
// process holds must not stop the polling.
func (u *up) onEvent(kind, text string) {
	select {
	case u.alarms <- alarm{kind, text}:
	default: // the alarm itself stands in the status
		u.log.Error("not kept in the store, too many events wait: " + kind + ": " + text)
	}
}

func (u *up) run(ctx context.Context, hup <-chan os.Signal) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	var wg sync.WaitGroup
	wg.Go(func() { u.attend(ctx, hup) })
	u.log.Info(fmt.Sprintf("up: pop %s, window %s, poll %s, treatment %s, socket %s", u.cfg.PoP,
		config.FormatDuration(u.cfg.Window), config.FormatDuration(u.cfg.Poll), u.cfg.Treatment.Cong, u.cfg.Socket))
	err := u.agent.Run(ctx)
	stop()
	wg.Wait()
	u.tellWaiting(ctx)
	if err == nil {
		u.log.Info("down")
	}
	return err
}

// attend stores alarms, and reloads on SIGHUP, until ctx ends.
func (u *up) attend(ctx context.Context, hup <-chan os.Signal) {
	for {
		select {
		case <-ctx.Done():
			return
		case a := <-u.alarms:
			u.keepEvent(ctx, a)
		case <-hup:
			_ = u.reload(ctx) // an event, refused or not
		}
	}
}

// tellWaiting stores the alarms that attend left: the last windows are closed after ctx ends.
func (u *up) tellWaiting(ctx context.Context) {
	for {
		select {
		case a := <-u.alarms:
			u.keepEvent(ctx, a)
		default:
			return
		}
	}
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

func newLog(l config.Log, w io.Writer) *slog.Logger {
	o := logline.Options{JSON: l.Format == "json"}
	_ = o.Level.UnmarshalText([]byte(l.Level)) // validated with the configuration
	if f, ok := raw(w).(*os.File); ok {
		o.Journal = logline.ToJournal(f, os.Getenv("JOURNAL_STREAM"))
	}
	return logline.New(w, o)
}
