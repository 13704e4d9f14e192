package main

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"runtime"
	"runtime/debug"
	"sync"
	"time"

	"github.com/congctl/congctl/internal/linux/clock"
	"github.com/congctl/congctl/internal/linux/loopback"
	"github.com/congctl/congctl/internal/linux/notify"
	"github.com/congctl/congctl/internal/linux/process"
	"github.com/congctl/congctl/internal/loop/config"
	"github.com/congctl/congctl/internal/loop/control"
	"github.com/congctl/congctl/internal/metrics"
	"github.com/congctl/congctl/internal/metrics/listener"
)

// Where metrics.listen is empty. A controller has 9477 for its agents, and an ingest may run beside both.
const (
	edgeListen       = "127.0.0.1:9477"
	controllerListen = "127.0.0.1:9478"
)

var processStarted = time.Now()

// openListener takes the port of metrics.listen; nil without one.
func openListener(ctx context.Context, address string, pprof bool, log *slog.Logger) (*listener.Server, error) {
	if address == "" {
		return nil, nil
	}
	s, err := listener.Listen(ctx, webOptions("metrics.listen", address, pprof, log))
	if err != nil {
		return nil, failed("another port as metrics.listen in the configuration, or off", err)
	}
	log.Info("metrics at http://" + s.Addr() + "/metrics")
	return s, nil
}

// webConns are few: a scraper, a probe and a browser have one to six.
const webConns = 32

func webOptions(key, address string, pprof bool, log *slog.Logger) listener.Options {
	return listener.Options{Key: key, Address: address, PProf: pprof, Log: log, Asked: requestBudget().pace, Bound: func(l net.Listener) listener.Bounded {
		return &control.Slots{Listener: l, Most: webConns, Whose: webHolder}
	}}
}

// webHolder is a user of this host or, where the kernel knows none, an address; of IPv6 a /64, which has one owner.
func webHolder(c net.Conn) control.Holder {
	local, _ := netip.ParseAddrPort(c.LocalAddr().String())
	remote, err := netip.ParseAddrPort(c.RemoteAddr().String())
	if err != nil {
		return control.Holder{}
	}
	if uid, ok := loopback.User(local, remote); ok {
		return control.Holder{Name: fmt.Sprintf("uid %d", uid), Root: uid == 0}
	}
	from := remote.Addr().Unmap()
	if from.Is6() {
		return control.Holder{Name: netip.PrefixFrom(from.WithZone(""), 64).Masked().String()}
	}
	return control.Holder{Name: from.String()}
}

// openMetrics takes the port before anything is treated.
func (u *edgeHost) openMetrics(ctx context.Context) (err error) {
	u.web, err = openListener(ctx, u.cfg.Metrics.Address(edgeListen), u.cfg.Metrics.PProf, u.log)
	if u.web != nil {
		u.later(func() error { _ = u.web.Close(); return nil })
	}
	return err
}

func (u *edgeHost) source() listener.Source {
	return listener.Source{Collect: u.owner.collect, Alive: u.alive, Ready: u.owner.ready}
}

func (u *edgeHost) serveMetrics(ctx context.Context) error {
	if u.web != nil {
		u.beside(ctx, func(ctx context.Context) error { return u.web.Serve(ctx, u.source()) })
	}
	return nil
}

// aliveFor is how long polls may fail: three in a row, and what a round and a busy store take of the
// same goroutine.
func aliveFor(poll time.Duration) time.Duration { return 3*poll + 30*time.Second }

// alive reports an error where polls do not advance.
func (u *edgeHost) alive(context.Context) error {
	_, boot := clock.Now()
	since, most := time.Duration(boot-max(u.agent.Status().PolledNs, u.begunNs)), aliveFor(u.cfg.Poll)
	if since > most {
		return fmt.Errorf("poll sockets: the last poll that succeeded was %s ago, more than %s", since.Round(time.Second), most)
	}
	return nil
}

// tellSystemd says that the service is ready, and until ctx ends what it lacks, and that it is alive, if it is.
func tellSystemd(ctx context.Context, from listener.Source, log *slog.Logger) {
	say := func(state string) {
		if err := notify.Send(state); err != nil {
			log.Warn("systemd does not know how the service is", "err", err)
		}
	}
	say(notify.Ready)
	defer say(notify.Stopping)
	var status sync.WaitGroup
	defer status.Wait()
	status.Go(func() { repeat(ctx, statusEvery, func() { say(notify.Status(shortcoming(from.Ready(ctx)))) }) })
	if every := notify.Every(); every > 0 {
		repeat(ctx, every, func() {
			if err := from.Alive(ctx); err == nil {
				say(notify.Watchdog)
			} else {
				log.Error("systemd will restart the service", "err", err)
			}
		})
	}
}

// statusEvery is how old the status may be that systemctl shows.
const statusEvery = 5 * time.Second

// shortcoming is what systemctl status shows.
func shortcoming(err error) string {
	if err == nil {
		return "all is well"
	}
	return "not of use yet, or no longer: " + err.Error()
}

// repeat calls fn now, and each so often until ctx ends.
func repeat(ctx context.Context, every time.Duration, fn func()) {
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		fn()
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// processMetrics are of any Go process, under the names that its dashboards know.
func processMetrics(p *metrics.Page) {
	info, _ := debug.ReadBuildInfo()
	v := versionInfo(info)
	p.Gauge("congctl_build_info", "Version and commit of congctl and of its compiler; always 1.").Is(1, "version", v.Version, "commit", v.Commit, "go", v.Go)
	u, err := process.Used()
	p.Gauge("process_start_time_seconds", "When the process started, Unix time.").Is(float64(processStarted.Unix()))
	p.Counter("process_cpu_seconds_total", "CPU time of the process, user and system.").Is(u.CPUSeconds)
	p.Gauge("process_resident_memory_bytes", "Resident memory of the process.").Is(u.ResidentBytes)
	p.Gauge("process_open_fds", "Open file descriptors.").Is(u.OpenFiles)
	p.Gauge("process_max_fds", "Most file descriptors that the process may open.").Is(u.MaxFiles)
	p.Gauge("go_goroutines", "Goroutines of the process.").Is(float64(runtime.NumGoroutine()))
	p.Gauge("congctl_process_unreadable", "1 if a number of the process could not be read and is 0.").On(err != nil)
}

// networksOf reports whether treated networks have metrics of their own.
func networksOf(c config.Config) bool { return c.Metrics.Networks == config.NetworksTreated }
