//go:build !small

package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/congctl/congctl/internal/fleet/rollout"
	"github.com/congctl/congctl/internal/fleet/store/inbox"
	"github.com/congctl/congctl/internal/metrics"
	"github.com/congctl/congctl/internal/metrics/listener"
)

func (o *office) source() listener.Source {
	return listener.Source{Collect: o.collect, Alive: o.alive, Ready: o.ready}
}

// here returns the PoPs that are this controller's now, by name; leave gives them back.
func (o *office) here() (pops []*popOffice, leave func()) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, name := range slices.Sorted(maps.Keys(o.pops)) {
		p := o.pops[name]
		p.users.Add(1)
		pops = append(pops, p)
	}
	return pops, func() {
		for _, p := range pops {
			p.users.Done()
		}
	}
}

func (o *office) collect(ctx context.Context, p *metrics.Page) {
	processMetrics(p)
	var views []popView
	var rolls []popRoll
	pops, leave := o.here()
	defer leave()
	for _, pop := range pops {
		name := pop.cfg.PoP
		s, _ := pop.live.Status(ctx) // an error is an alarm of it
		views = append(views, popView{name, s, pop.rounds.get(), storeSize(storePath(pop.cfg)), float64(pop.cfg.Store.MaxBytes)})
		r := popRoll{name: name, state: pop.Hosts(), lag: pop.lag(pop.now()).Seconds(), kafka: pop.inbox == nil}
		if pop.inbox != nil {
			r.inbox = pop.inbox.Counts()
		}
		rolls = append(rolls, r)
	}
	roundMetrics(p, views)
	networkMetrics(p, views, networksOf(o.cfg))
	rollMetrics(p, rolls, time.Now())
}

// popRoll is a PoP's roll-out and what its hosts sent.
type popRoll struct {
	name  string
	state rollout.State
	inbox inbox.Counts
	kafka bool // the inbox is in ClickHouse, which ingest fills and counts
	lag   float64
}

// hosts counts those of which is says so.
func (r popRoll) hosts(is func(*rollout.Host) bool) (n float64) {
	for _, h := range r.state.Hosts {
		n += oneIf(is(h))
	}
	return n
}

func rollMetrics(p *metrics.Page, all []popRoll, now time.Time) {
	each := func(f metrics.Family, value func(popRoll) float64) {
		for _, r := range all {
			f.Is(value(r), "pop", r.name)
		}
	}
	f := p.Gauge("congctl_hosts", "Hosts of a PoP, connected or away.")
	for _, r := range all {
		up := r.hosts(func(h *rollout.Host) bool { return h.Connected })
		f.Is(up, "pop", r.name, "state", "connected").Is(float64(len(r.state.Hosts))-up, "pop", r.name, "state", "away")
	}
	each(p.Gauge("congctl_astray_hosts", "Hosts that did not take what all must have."), func(r popRoll) float64 {
		return r.hosts(func(h *rollout.Host) bool { return h.Astray })
	})
	each(p.Gauge("congctl_pop_stopped", "1 while the kill switch of the PoP is on."), func(r popRoll) float64 { return oneIf(r.state.Killed) })
	f = p.Gauge("congctl_rollout_stage", "1 for the stage of the roll-out (docs/fleet.md).")
	for _, r := range all {
		for _, s := range []rollout.Stage{rollout.StageSettled, rollout.StageCanary, rollout.StageShare, rollout.StageAll, rollout.StageBack, rollout.StageDirect} {
			f.On(r.state.Stage == s, "pop", r.name, "stage", stageName(s))
		}
	}
	each(p.Gauge("congctl_rollout_stage_seconds", "How long the roll-out has been at its stage."), func(r popRoll) float64 {
		if r.state.SinceNs == 0 {
			return 0
		}
		return max(0, now.Sub(time.Unix(0, r.state.SinceNs)).Seconds())
	})
	each(p.Gauge("congctl_settled_plan_serial", "Serial of the last plan that settled on all hosts."), func(r popRoll) float64 { return float64(r.state.Base.Serial) })
	each(p.Gauge("congctl_settled_plan_expiry_timestamp_seconds", "When that plan expires, Unix time."), func(r popRoll) float64 { return float64(r.state.Base.Expires) })
	each(p.Gauge("congctl_window_lag_seconds", "How long ago the window ended that is to be decided next; 0 while it is open."), func(r popRoll) float64 { return r.lag })
	inboxMetrics(p, all)
}

// inboxMetrics have no sample where records come through ClickHouse.
func inboxMetrics(p *metrics.Page, all []popRoll) {
	late := p.Counter("congctl_late_records_total", "Records that came after their window had been decided.")
	each := func(f metrics.Family, value func(inbox.Counts) float64) {
		for _, r := range all {
			if !r.kafka {
				f.Is(value(r.inbox), "pop", r.name)
			}
		}
	}
	each(late, func(c inbox.Counts) float64 { return float64(c.Late) })
	each(p.Counter("congctl_inbox_batches_total", "Batches taken from agents."), func(c inbox.Counts) float64 { return float64(c.Batches) })
	each(p.Counter("congctl_inbox_repeated_batches_total", "Batches that came again and were not counted twice."), func(c inbox.Counts) float64 { return float64(c.Doubled) })
	each(p.Gauge("congctl_inbox_damaged_files", "Files of the inbox that could not be read since the start: their records are missing."), func(c inbox.Counts) float64 { return float64(c.Damaged) })
}

func stageName(s rollout.Stage) string {
	if s == rollout.StageSettled {
		return "settled"
	}
	return string(s)
}

// lag is how long ago the window ended that is to be decided next.
func (p *popOffice) lag(now time.Time) time.Duration {
	return max(0, now.Sub(time.Unix(p.Next(), 0).Add(p.cfg.Window)))
}

// alive reports an error if a PoP does not answer, which the listener's limit turns into one.
func (o *office) alive(context.Context) error {
	pops, leave := o.here()
	defer leave()
	for _, p := range pops {
		p.Next()
	}
	return nil
}

// ready reports an error while Kafka was never reached, or a PoP has no plan, decides too late, or could not keep what it decides.
func (o *office) ready(context.Context) (err error) {
	if o.share != nil {
		err = o.share.lacks()
	}
	pops, leave := o.here()
	defer leave()
	for _, p := range pops {
		name := p.cfg.PoP
		if most := p.cfg.Window + p.cfg.Fleet.Lateness; p.lag(p.now()) > most {
			err = errors.Join(err, fmt.Errorf("pop %s: the next window ended %s ago, more than %s", name, p.lag(p.now()).Round(time.Second), most))
		}
		if p.rounds.get().Plan.Serial == 0 {
			err = errors.Join(err, fmt.Errorf("pop %s: wait for the first round: it writes the first plan", name))
		}
		if e := p.store.InPlace(); e != nil {
			err = errors.Join(err, fmt.Errorf("pop %s: %w", name, e))
		}
	}
	return err
}
