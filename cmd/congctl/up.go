package main

import (
	"context"
	"errors"

	"io"
	"log/slog"
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

	"github.com/congctl/congctl/internal/app/agent"
	"github.com/congctl/congctl/internal/app/config"
	"github.com/congctl/congctl/internal/app/controller"
	"github.com/congctl/congctl/internal/app/weblog"
	"github.com/congctl/congctl/internal/core/record"
	"github.com/congctl/congctl/internal/data/sqlite"
	"github.com/congctl/congctl/internal/kernel/clock"
	"github.com/congctl/congctl/internal/kernel/cpu"
	"github.com/congctl/congctl/internal/kernel/enforce"
	"github.com/congctl/congctl/internal/kernel/instance"
	"github.com/congctl/congctl/internal/kernel/route"
)

func newUp(g *global) *cobra.Command {
	var cgroup string
	cmd := &cobra.Command{
		Use:   "up",
		Short: "Run the whole loop on this host: agent, controller and store",
		Long: `up measures this host's TCP connections, decides once a window which client
prefixes to treat, and treats them, until SIGTERM or SIGINT. SIGHUP reads the
configuration again. It needs root (or CAP_BPF, CAP_PERFMON, CAP_NET_ADMIN and
CAP_SYS_ADMIN for other namespaces) and Linux 5.15 to treat by connection; the
log's first lines say what this kernel can do.`,
		Example: "  sudo congctl up\n  sudo congctl up -c /etc/congctl/congctl.yml",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			g.cgroup = cgroup
			cfg, err := g.config()
			if err != nil {
				return err
			}
			return runUp(cmd.Context(), g, cfg, cmd.ErrOrStderr())
		},
	}
	cmd.Flags().StringVar(&cgroup, "cgroup", "", "attach to this cgroup2 directory instead of what the configuration says")
	return cmd
}

// gcPercent: the loop's heap is mostly the ledger, which lives as long as the
// connections do. Collecting at half its size again costs little CPU and keeps
// 100,000 connections under 120 MB.
const gcPercent = 50

// up is one run of the loop.
type up struct {
	g     *global
	cfg   config.Config
	log   *slog.Logger
	close []func() error

	sampler    *sampler
	follower   *follower     // nil below tier good
	router     *route.Router // nil but on tiers route and basic
	probe      enforce.Probe
	store      *sqlite.Store
	controller *controller.Controller
	agent      *agent.Agent
	meter      *weblog.Meter // nil where no access log is followed
	clients    atomic.Pointer[agent.Clients]
	keep       atomic.Pointer[config.Store]
	alarms     chan alarm

	reloading sync.Mutex    // guards held: SIGHUP and the socket may both ask
	held      config.Config // the configuration in force; cfg is the one of the start
}

func runUp(ctx context.Context, g *global, cfg config.Config, stderr io.Writer) (err error) {
	debug.SetGCPercent(gcPercent)
	u := &up{g: g, cfg: cfg, held: cfg, log: newLog(cfg.Log, stderr), alarms: make(chan alarm, 64)}
	defer func() { err = errors.Join(err, u.shut()) }()
	// From here on: SIGHUP ends a process that does not ask for it.
	hup := make(chan os.Signal, 1)
	signal.Notify(hup, unix.SIGHUP)
	defer signal.Stop(hup)
	for _, step := range []func(context.Context) error{u.lock, u.openStore, u.openKernel, u.openController, u.openMeter, u.openAgent, u.serve} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	return u.run(ctx, hup)
}

// later runs fn at the end, in reverse order.
func (u *up) later(fn func() error) { u.close = append(u.close, fn) }

func (u *up) shut() error {
	var errs []error
	for i := len(u.close) - 1; i >= 0; i-- {
		errs = append(errs, u.close[i]())
	}
	return errors.Join(errs...)
}

func (u *up) lock(context.Context) error {
	l, err := instance.Acquire(u.cfg.StateDir)
	if errors.Is(err, instance.ErrRunning) {
		return failed("congctl status", err)
	} else if err != nil {
		return err
	}
	u.later(l.Release)
	return nil
}

func (u *up) openStore(ctx context.Context) error {
	s, err := sqlite.Open(ctx, storePath(u.cfg), sqlite.Options{CreatedBy: "congctl " + version, At: time.Now()})
	if err != nil {
		return err
	}
	u.store = s
	u.later(s.Close)
	return nil
}

func (u *up) openController(ctx context.Context) (err error) {
	rules, err := rulesOf(u.cfg)
	if err != nil {
		return err
	}
	holdout, aa := u.cfg.Experiment.Permille()
	u.controller, err = controller.New(ctx, controller.Options{
		PoP: u.cfg.PoP, Rules: rules, Window: u.cfg.Window, Block: u.cfg.Experiment.Block, Washout: u.cfg.Experiment.Washout,
		ControlEvery: u.cfg.Experiment.ControlEvery, Treatment: u.cfg.Treatment.Cong, MinBytes: u.cfg.Treatment.MinBytes,
		HoldoutPermille: holdout, AAPermille: aa, TreatmentIsDefault: u.treatmentIsDefault,
	}, u.store, u.store, u.log, time.Now)
	return err
}

// treatmentIsDefault reports whether there is nothing to treat anywhere.
func (u *up) treatmentIsDefault() bool {
	spaces, err := u.sampler.Namespaces()
	if err != nil || len(spaces) == 0 {
		return false
	}
	for _, ns := range spaces {
		if ns.DefaultCong.String() != u.cfg.Treatment.Cong {
			return false
		}
	}
	return true
}

func (u *up) openAgent(ctx context.Context) error {
	limits, err := limitsOf(u.cfg)
	if err != nil {
		return err
	}
	u.keep.Store(&u.cfg.Store)
	u.clients.Store(&agent.Clients{Allow: u.cfg.Clients.Allow, Exclude: u.cfg.Clients.Exclude})
	meter := cpu.NewMeter("/proc", cpu.Limits{StealShare: u.cfg.Starved.StealShare, RunQueuePerCPU: u.cfg.Starved.RunQueuePerCPU})
	records, err := u.records()
	if err != nil {
		return err
	}
	rooms := agent.Rooms{
		Sockets: u.sampler, Counters: u.sampler, Clock: clock.Now, Starved: meter.Starved, Log: u.log,
		ClientFacing: u.clientFacing, Records: u.metered(records), OnWindow: func(out agent.Out) { u.onWindow(ctx, out) }, OnAlarm: u.onAlarm,
	}
	if u.follower != nil {
		rooms.Follower, rooms.Treater, rooms.Sweeper = u.follower, u.follower, u.follower
		rooms.KernelCounts = u.follower.counts
	} else if u.router != nil {
		rooms.Treater = u.router
	}
	u.agent = agent.New(agent.Options{
		Poll: u.cfg.Poll, Window: u.cfg.Window, Block: u.cfg.Experiment.Block, Washout: u.cfg.Experiment.Washout,
		MinBytes: u.cfg.Treatment.MinBytes, MaxConns: maxConns, MaxPrefixes: u.cfg.MaxPrefixes,
		PlanTTL: u.cfg.Treatment.Expiry, SweepEvery: sweepEvery, MaxQueuedCloses: maxQueuedCloses,
		CoverageLimit: coverageLimit, PublicKey: u.controller.PublicKey(), PlanLimits: limits,
	}, rooms)
	return u.controller.Attach(ctx, u.agent)
}

const (
	maxConns        = 4_000_000        // about 1 GB of ledger: beyond, a host needs sampling, and says so
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

func (u *up) onWindow(ctx context.Context, out agent.Out) {
	// A window that is being kept must be kept whole, also while we stop.
	if err := u.controller.Round(context.WithoutCancel(ctx), out); err != nil {
		u.log.Error("round", "window", out.Start, "err", err)
		u.onAlarm("round", err.Error())
	}
	if u.meter != nil {
		u.meter.Window(out.Start)
	}
	u.prune(ctx)
}

type alarm struct{ kind, text string }

// onAlarm never waits: the agent tells of alarms from its loop, and a store that
// another process holds must not stop the polling.
func (u *up) onAlarm(kind, text string) {
	select {
	case u.alarms <- alarm{kind, text}:
	default:
		u.log.Error("alarm not kept: too many wait", "kind", kind)
	}
}

func (u *up) run(ctx context.Context, hup <-chan os.Signal) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	var wg sync.WaitGroup
	wg.Go(func() { u.attend(ctx, hup) })
	u.log.Info("up", "pop", u.cfg.PoP, "window", u.cfg.Window, "poll", u.cfg.Poll, "treatment", u.cfg.Treatment.Cong, "socket", u.cfg.Socket)
	err := u.agent.Run(ctx)
	stop()
	wg.Wait()
	if err == nil {
		u.log.Info("down")
	}
	return err
}

// attend keeps alarms and reloads on SIGHUP until ctx ends.
func (u *up) attend(ctx context.Context, hup <-chan os.Signal) {
	for {
		select {
		case <-ctx.Done():
			return
		case a := <-u.alarms:
			u.controller.Alarm(a.kind, a.text)
		case <-hup:
			if err := u.reload(ctx); err != nil {
				u.log.Error("reload", "err", err)
			}
		}
	}
}

// prune forgets what is older than the configuration keeps. Once a window is
// often enough: each call deletes one window's worth.
func (u *up) prune(ctx context.Context) {
	now := time.Now().Unix()
	before := func(d time.Duration) int64 { return now - int64(d/time.Second) }
	k := u.keep.Load()
	_, err := u.store.Prune(ctx, sqlite.Before{
		Windows: before(k.KeepWindows), Rounds: before(k.KeepDecisions), Events: before(k.KeepEvents), Plans: before(k.KeepPlans),
	})
	if u.meter != nil {
		err = errors.Join(err, goodputDir(u.cfg).Prune(before(u.cfg.Goodput.Keep)))
	}
	if err != nil && ctx.Err() == nil {
		u.log.Error("prune", "err", err)
	}
}

func newLog(l config.Log, w io.Writer) *slog.Logger {
	var level slog.Level
	_ = level.UnmarshalText([]byte(l.Level)) // validated with the configuration
	opt := &slog.HandlerOptions{Level: level, ReplaceAttr: utc}
	if l.Format == "json" {
		return slog.New(slog.NewJSONHandler(w, opt))
	}
	return slog.New(slog.NewTextHandler(w, opt))
}

// utc: log, store and windows speak of one time.
func utc(groups []string, a slog.Attr) slog.Attr {
	if a.Key == slog.TimeKey && len(groups) == 0 {
		a.Value = slog.TimeValue(a.Value.Time().UTC())
	}
	return a
}
