package main

import (
	"cmp"
	"context"
	"math"
	"os"
	"sync"
	"time"

	"github.com/congctl/congctl/internal/loop/control"
	"github.com/congctl/congctl/internal/loop/controller"
	"github.com/congctl/congctl/internal/loop/policy"
	"github.com/congctl/congctl/internal/metrics"
)

// roundMeter keeps what metrics say of a PoP's rounds, so that a request reads neither the store nor
// the policy's memory.
type roundMeter struct {
	mu   sync.Mutex // guards all below
	last measured
}

type measured struct {
	controller.Measured
	seconds        float64 // of the last round
	rounds, failed uint64
}

// round decides, measures how long that took, and asks what came of it.
func (m *roundMeter) round(ctx context.Context, c *controller.Controller, decide func() error) error {
	began := time.Now()
	err := decide()
	took := time.Since(began).Seconds()
	m.look(ctx, c)
	m.mu.Lock()
	defer m.mu.Unlock()
	m.last.rounds, m.last.seconds = m.last.rounds+1, took
	if err != nil {
		m.last.failed++
	}
	return err
}

// look reads what the last round left. What cannot be read stays as it was: the status has an alarm.
func (m *roundMeter) look(ctx context.Context, c *controller.Controller) {
	now, err := c.Measure(ctx)
	m.mu.Lock()
	defer m.mu.Unlock()
	if err == nil {
		m.last.Measured = now
	}
}

func (m *roundMeter) get() measured {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.last
}

// popView is a PoP as its metrics need it.
type popView struct {
	name string
	s    control.Status
	m    measured
	// Bytes of the store's files, and as many as store.max_bytes allows in use.
	storeBytes, maxBytes float64
}

func storeSize(path string) (n float64) {
	for _, suffix := range []string{"", "-wal"} {
		if info, err := os.Stat(path + suffix); err == nil {
			n += float64(info.Size())
		}
	}
	return n
}

// popGauge is a metric with one value for each PoP.
type popGauge struct {
	name, help string
	value      func(v *popView) float64
}

var popGauges = []popGauge{
	{"congctl_frozen", "1 while the plan is frozen.", func(v *popView) float64 { return oneIf(v.s.Frozen) }},
	{"congctl_latest_plan_serial", "Serial of the latest plan that was signed; 0 for none.", func(v *popView) float64 { return float64(v.s.Plan) }},
	{"congctl_latest_plan_timestamp_seconds", "When the latest plan was signed, Unix time, as of the last round; 0 for none.", func(v *popView) float64 { return float64(v.m.Plan.Created) }},
	{"congctl_last_round_timestamp_seconds", "End of the window that the last round judged, Unix time; 0 before the first.", func(v *popView) float64 { return float64(v.m.Round.RoundStart) }},
	{"congctl_last_round_duration_seconds", "How long the last round took.", func(v *popView) float64 { return v.m.seconds }},
	{"congctl_ranked_networks_needed", "With fewer ranked networks nothing is decided.", func(v *popView) float64 { return float64(v.s.MinRanked) }},
	{"congctl_windows_to_decision", "Known windows that the first network lacks for a decision; 0 for none.", func(v *popView) float64 { return float64(v.s.ToDecide) }},
	{"congctl_boundary_bytes_per_second", "Delivery rate up to which a network counts as slow; 0 if it was not drawn.", func(v *popView) float64 { return v.m.Round.BoundaryBytesPerS }},
	{"congctl_effect_pairs", "Pairs of treatment and control that count as evidence.", func(v *popView) float64 { return float64(v.m.Effect.Pairs) }},
	{"congctl_store_bytes", "Bytes of the store's files.", func(v *popView) float64 { return v.storeBytes }},
	{"congctl_store_limit_bytes", "store.max_bytes.", func(v *popView) float64 { return v.maxBytes }},
}

func oneIf(yes bool) float64 {
	if yes {
		return 1
	}
	return 0
}

func roundMetrics(p *metrics.Page, all []popView) {
	for _, g := range popGauges {
		f := p.Gauge(g.name, g.help)
		for _, v := range all {
			f.Is(g.value(&v), "pop", v.name)
		}
	}
	f := p.Counter("congctl_rounds_total", "Rounds of decision, by whether what was decided could be kept.")
	for _, v := range all {
		f.Is(float64(v.m.rounds-v.m.failed), "pop", v.name, "kept", "true").Is(float64(v.m.failed), "pop", v.name, "kept", "false")
	}
	f = p.Gauge("congctl_round_networks", "Networks in the last round: known, ranked, slow (in the group), selected after it, new, released, refused by a guard.")
	for _, v := range all {
		r := v.m.Round.Summary
		for _, c := range []struct {
			what string
			n    int
		}{{"known", r.Known}, {"ranked", r.Ranked}, {"slow", r.InGroup}, {"selected", r.Selected}, {"new", r.New}, {"released", r.Released}, {"refused", r.Refused}} {
			f.Is(float64(c.n), "pop", v.name, "what", c.what)
		}
	}
	f = p.Gauge("congctl_selected_networks", "Networks selected after the last round, by state.")
	for _, v := range all {
		states := map[policy.State]int{}
		for _, s := range v.m.Selected {
			states[cmp.Or(s.State, policy.StateSelected)]++
		}
		for _, state := range []policy.State{policy.StateTrial, policy.StatePromoted, policy.StateSelected} {
			f.Is(float64(states[state]), "pop", v.name, "state", string(state))
		}
	}
	effectMetrics(p, all)
	takenMetrics(p, all)
}

// effectMetrics has no sample where there is too little evidence.
func effectMetrics(p *metrics.Page, all []popView) {
	f := p.Gauge("congctl_effect_ratio", "Delivery rate of treated connections over that of control connections, by traffic, of the pairs that count as evidence: the estimate, and its 95 % bounds.")
	for _, v := range all {
		e := v.m.Effect
		if e.Pairs > 0 {
			f.Is(math.Exp(e.LogRatio), "pop", v.name, "bound", "estimate")
		}
		if e.Known {
			f.Is(math.Exp(e.Low), "pop", v.name, "bound", "low").Is(math.Exp(e.High), "pop", v.name, "bound", "high")
		}
	}
	f = p.Gauge("congctl_retransmitted_ratio", "Share of bytes sent again, the mean of the pairs, by arm: what the effect costs.")
	for _, v := range all {
		if c := v.m.Cost; c.Pairs > 0 {
			f.Is(c.Treated, "pop", v.name, "arm", "treatment").Is(c.Control, "pop", v.name, "arm", "control")
		}
	}
}

// takenMetrics has no sample while too little is known.
func takenMetrics(p *metrics.Page, all []popView) {
	f := p.Gauge("congctl_taken_from_others_ratio", "Part of what treated networks gain that others of the PoP lose on lines they share: the estimate, and its 95 % bounds. Below 0 the others gain, too.")
	for _, v := range all {
		if t := v.m.Taken; t != nil {
			f.Is(t.Share, "pop", v.name, "bound", "estimate").Is(t.Low, "pop", v.name, "bound", "low").Is(t.High, "pop", v.name, "bound", "high")
		}
	}
}

// maxNetworks bounds the networks with metrics of their own: a scrape of 200 kB.
const maxNetworks = 1000

// networkMetrics are of single networks, where metrics.networks asks for them.
func networkMetrics(p *metrics.Page, all []popView, on bool) {
	f := p.Gauge("congctl_network_bytes_per_second", "Delivery rate at which a treated network was selected, with its state; with metrics.networks: treated only.")
	if !on {
		return
	}
	for _, v := range all {
		for _, s := range v.m.Selected[:min(maxNetworks, len(v.m.Selected))] {
			f.Is(s.PerfBytesPerS, "pop", v.name, "network", s.Prefix.String(), "state", string(s.State))
		}
	}
}
