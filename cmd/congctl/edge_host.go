package main

import (
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
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

	"golang.org/x/sys/unix"

	"github.com/congctl/congctl/internal/linux/clock"
	"github.com/congctl/congctl/internal/linux/instance"
	"github.com/congctl/congctl/internal/linux/notify"
	"github.com/congctl/congctl/internal/linux/process"
	"github.com/congctl/congctl/internal/loop/agent"
	"github.com/congctl/congctl/internal/loop/config"
	"github.com/congctl/congctl/internal/loop/controller"
	"github.com/congctl/congctl/internal/loop/kernel/cpu"
	"github.com/congctl/congctl/internal/loop/kernel/enforce"
	"github.com/congctl/congctl/internal/loop/policy"
	"github.com/congctl/congctl/internal/metrics"
	"github.com/congctl/congctl/internal/metrics/listener"
	"github.com/congctl/congctl/internal/tcp/record"
)

// gcPercent: most of the heap is the ledger, which lives as long as its connections.
// Collecting at half its size again costs little CPU and keeps 100,000 connections
// under 120 MB.
const gcPercent = 50

// edgeHost measures this host's connections and treats them, for `up` and for `agent`.
type edgeHost struct {
	g     *global
	cfg   config.Config
	rules policy.Rules // in force, with the lists as their files had them then
	log   *slog.Logger
	close []func() error
	owner owner

	sampler  *sampler
	follower *follower // nil at tier observe
	probe    enforce.Probe
	instance *instance.Lock
	agent    *agent.Agent
	clients  atomic.Pointer[agent.Clients]
	alarms   chan alarm
	web      *listener.Server // nil with metrics.listen off
	begunNs  int64            // boot time
}

// owner is what an edgeHost works for.
type owner interface {
	// keys are those whose plans are taken.
	keys() []ed25519.PublicKey
	// records returns what takes each finished connection record; nil for nothing.
	records() (func(*record.Conn), error)
	onWindow(context.Context, agent.ClosedWindow)
	keepEvent(context.Context, alarm)
	reload(context.Context) error
	// collect writes all metrics, and ready says why what they show is of no use yet.
	collect(context.Context, *metrics.Page)
	ready(context.Context) error
}

func newEdgeHost(g *global, cfg config.Config, rules policy.Rules, stderr io.Writer) edgeHost {
	debug.SetGCPercent(gcPercent)
	return edgeHost{g: g, cfg: cfg, rules: rules, log: logOf(cfg, stderr), alarms: make(chan alarm, 64), begunNs: present().boot}
}

// start takes the steps, runs until ctx ends, and undoes the steps.
func (u *edgeHost) start(ctx context.Context, steps ...func(context.Context) error) (err error) {
	defer func() { err = errors.Join(err, u.shut()) }()
	// From here on, since SIGHUP ends a process that does not handle it.
	hup := make(chan os.Signal, 1)
	signal.Notify(hup, unix.SIGHUP)
	defer signal.Stop(hup)
	for _, step := range steps {
		if err := step(ctx); err != nil {
			return err
		}
	}
	u.beside(ctx, u.slim)
	return u.run(ctx, hup)
}

// slim gives back what the start took, and in the middle of each window what the end of the one before took: half of the
// memory, for some 5 ms of CPU.
func (u *edgeHost) slim(ctx context.Context) error {
	for ctx.Err() == nil {
		debug.FreeOSMemory()
		if err := process.Forget(); err != nil {
			u.log.Warn("memory is not given back", "err", err)
			return nil
		}
		middle := time.Now().Truncate(u.cfg.Window).Add(u.cfg.Window * 3 / 2)
		select {
		case <-ctx.Done():
		case <-time.After(time.Until(middle)):
		}
	}
	return nil
}

// later runs fn at the end, in reverse order.
func (u *edgeHost) later(fn func() error) { u.close = append(u.close, fn) }

// beside runs fn until u shuts down, or until ctx ends, whichever is first.
func (u *edgeHost) beside(ctx context.Context, fn func(context.Context) error) {
	ctx, stop := context.WithCancel(ctx)
	done := make(chan error, 1)
	go func() { done <- fn(ctx) }()
	u.later(func() error {
		stop()
		return <-done
	})
}

func (u *edgeHost) shut() error {
	var errs []error
	for i := len(u.close) - 1; i >= 0; i-- {
		errs = append(errs, u.close[i]())
	}
	return errors.Join(errs...)
}

func (u *edgeHost) lock(context.Context) error {
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

func (u *edgeHost) openAgent(ctx context.Context) error {
	limits, err := limitsHere(u.cfg, u.rules)
	if err != nil {
		return err
	}
	u.setClients(u.cfg.Clients)
	meter := cpu.NewMeter("/proc", cpu.Limits{StealShare: u.cfg.Starved.StealShare, RunQueuePerCPU: u.cfg.Starved.RunQueuePerCPU})
	records, err := u.owner.records()
	if err != nil {
		return err
	}
	deps := agent.Deps{
		Sockets: u.sampler, Counters: u.sampler, Clock: clock.Now, Starved: meter.Starved,
		NotTrusted: u.sampler.notTrusted, ClientFacing: u.clientFacing, Records: records, OnWindow: func(w agent.ClosedWindow) { u.owner.onWindow(ctx, w) }, OnAlarm: u.onAlarm, OnClear: u.onClear,
	}
	if u.follower != nil {
		deps.Follower, deps.Treater = u.follower, u.follower
		if u.follower.CanSweep() {
			deps.Sweeper = u.follower
		}
		deps.KernelCounts, deps.Attached = u.follower.counts, u.follower.Attached
	}
	u.agent = agent.New(agent.Options{
		Poll: u.cfg.Poll, Window: u.cfg.Window, Block: u.cfg.Experiment.Block, Washout: u.cfg.Experiment.Washout,
		MinBytes: u.cfg.Treatment.MinBytes, MaxConns: maxConns, MaxPrefixes: u.cfg.MaxPrefixes,
		PlanTTL: u.cfg.Treatment.Expiry, SweepEvery: sweepEvery, MaxQueuedCloses: maxQueuedCloses,
		CoverageLimit: coverageLimit, PublicKeys: u.owner.keys(), PlanLimits: limits,
	}, deps)
	return nil
}

const (
	maxConns        = 4_000_000        // about 1 GB of ledger: beyond it a host needs sampling, and the loop says so
	sweepEvery      = 30 * time.Second // stolen callbacks are noticed within a minute
	maxQueuedCloses = 200_000          // 64 MB at the worst: four seconds of closes at 50,000/s
	coverageLimit   = 0.99
)

func (u *edgeHost) setClients(c config.Clients) {
	u.clients.Store(&agent.Clients{Allow: c.Allow, Exclude: c.Exclude, Local: u.sampler.isLocal})
}

func (u *edgeHost) clientFacing(ns record.NetnsID, local, remote netip.AddrPort, passive bool) bool {
	at := local.Port()
	if len(u.cfg.Ports) > 0 && !slices.ContainsFunc(u.cfg.Ports, func(p config.PortRange) bool { return p.Lo <= at && at <= p.Hi }) {
		return false
	}
	return u.clients.Load().Facing(ns, local, remote, passive)
}

// alarm is an event that begins or ends an alarm.
type alarm struct{ kind, text string }

func (u *edgeHost) onAlarm(kind, text string) { u.onEvent(controller.KindAlarm+kind, text) }
func (u *edgeHost) onClear(kind string)       { u.onEvent(controller.KindAlarmOver, kind) }

// onEvent never waits: the agent calls it from its loop, and a store that another
// process holds must not stop the polling.
func (u *edgeHost) onEvent(kind, text string) {
	select {
	case u.alarms <- alarm{kind, text}:
	default: // the alarm itself stands in the status
		u.log.Error("not kept in the store, too many events wait: " + kind + ": " + text)
	}
}

func (u *edgeHost) run(ctx context.Context, hup <-chan os.Signal) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	var wg sync.WaitGroup
	wg.Go(func() { u.attend(ctx, hup) })
	wg.Go(func() {
		if u.measures(ctx) {
			tellSystemd(ctx, u.source(), u.log)
		}
	})
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

// measures reports that the first poll has succeeded, for which it waits, or false once ctx ends.
func (u *edgeHost) measures(ctx context.Context) bool {
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for ctx.Err() == nil && u.agent.Status().Polls == 0 {
		select {
		case <-ctx.Done():
		case <-tick.C:
		}
	}
	return ctx.Err() == nil
}

// attend stores alarms, and reloads on SIGHUP, until ctx ends.
func (u *edgeHost) attend(ctx context.Context, hup <-chan os.Signal) {
	for {
		select {
		case <-ctx.Done():
			return
		case a := <-u.alarms:
			u.owner.keepEvent(ctx, a)
		case <-hup:
			_ = notify.Send(notify.Reloading())
			_ = u.owner.reload(ctx) // an event, refused or not
			_ = notify.Send(notify.Ready)
		}
	}
}

// tellWaiting stores the alarms that attend left: the last windows are closed after ctx ends.
func (u *edgeHost) tellWaiting(ctx context.Context) {
	for {
		select {
		case a := <-u.alarms:
			u.owner.keepEvent(ctx, a)
		default:
			return
		}
	}
}
