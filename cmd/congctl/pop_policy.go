//go:build !small

package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/congctl/congctl/internal/linux/cubiclt"
	"github.com/congctl/congctl/internal/loop/config"
	"github.com/congctl/congctl/internal/loop/policy"
	"github.com/congctl/congctl/internal/popday/kernel/popworld"
	"github.com/congctl/congctl/internal/popday/pop"
)

// The policies of a day, which the report compares.
const (
	policyCubic   = "cubic"         // no congctl, everything CUBIC
	policyBBR     = "bbr"           // no congctl, everything BBR
	policyLT      = cubiclt.Name    // no congctl, everything cubic_lt
	policyStatic  = "static"        // no congctl, the classes of `static` on BBR by their routes
	policyObserve = "observe"       // congctl measures and decides, and treats no network
	policyLoop    = "loop"          // congctl as configured: with its defaults, but for what the day sets
	policySlowest = "slowest-fifth" // the same, with policy.select slowest-fifth
	policyBenefit = "benefit"       // the same, with policy.select benefit and no pacing cap
	policyCapped  = "benefit-cap"   // the same, with policy.cap: the default, by a name that stays when it changes
	policySwitch  = "switch"        // congctl moves every large response: what the loop could reach at most
	policyAllCap  = "all-cap"       // congctl treats every network from the first window, without control, with the pacing cap: only caps are learnt
	policyBpftune = "bpftune"       // no congctl, bpf/bandit.bpf.c: the rule of another tuner, in the lab only
	policyTuneCap = "bpftune-cap"   // the same with the pacing cap
)

var policies = []string{policyCubic, policyBBR, policyLT, policyStatic, policyObserve, policyLoop, policySlowest, policyBenefit, policyCapped, policySwitch, policyAllCap, policyBpftune, policyTuneCap}

func popPolicy(name string, d *pop.Day) (p popworld.Policy, err error) {
	p = popworld.Policy{Name: name, Cong: "cubic", Treated: "bbr"}
	switch name {
	case policyCubic:
	case policyBBR, policyLT:
		p.Cong = name
	case policyBpftune, policyTuneCap:
		p.Bandit, p.Caps = true, name == policyTuneCap
	case policyStatic:
		if p.OnRoute = d.Static; len(p.OnRoute) == 0 {
			return p, fmt.Errorf("--policy %s: %s names no networks in static", name, d.Name)
		}
	case policyObserve, policyLoop, policySlowest, policyBenefit, policyCapped, policySwitch, policyAllCap:
		p.Cong = d.Default
		text, cfg, err := popConfig(d, name)
		if err != nil {
			return p, err
		}
		p.Product = &popworld.Product{Args: []string{"up", "--config", popworld.ConfigPath}, Config: text,
			Store: storePath(cfg), Records: cfg.Store.RecordsFile}
	default:
		return p, fmt.Errorf("--policy %q: use %s", name, strings.Join(policies, ", "))
	}
	return p, nil
}

// popConfig returns the guest's congctl.yml: what the lab sets, then what the day sets.
func popConfig(d *pop.Day, policy string) (text string, cfg config.Config, err error) {
	text = fmt.Sprintf("pop: %s\nstate_dir: %s\nsocket: %s\nwindow: %s\nmetrics: {listen: off}\n", d.Name, popworld.StateDir, popworld.Socket,
		time.Duration(d.WindowUs)*time.Microsecond)
	if policy == policyObserve {
		text += "tier: " + config.TierObserve + "\n"
	}
	text += d.Congctl + "\n"
	cfg, err = config.Parse([]byte(text))
	if change := selections[policy]; err == nil && change != nil {
		change(&cfg, d)
		var b []byte
		if b, err = cfg.Text(); err == nil {
			cfg, err = config.Parse(b)
		}
		text = string(b)
	}
	if err != nil {
		err = fmt.Errorf("congctl of day %s: %w", d.Name, err)
	}
	return text, cfg, err
}

// selections change what the day configures.
var selections = map[string]func(*config.Config, *pop.Day){
	policySlowest: func(c *config.Config, _ *pop.Day) {
		c.Policy.Select, c.Policy.Cap, c.Experiment.ControlEvery = policySlowest, false, policy.GroupByLevel
	},
	policyBenefit: func(c *config.Config, _ *pop.Day) { c.Policy.Select, c.Policy.Cap = policyBenefit, false },
	policyCapped:  func(c *config.Config, _ *pop.Day) { c.Policy.Select, c.Policy.Cap = policyBenefit, true },
	policySwitch:  selectAll,
	policyAllCap:  listAll,
}

// selectAll makes congctl select every network known in one window, without guards, trials
// or a hold-out. One block in 1024 is control: the day has none.
func selectAll(c *config.Config, _ *pop.Day) {
	e, p, g := &c.Experiment, &c.Policy, &c.Policy.Guards
	e.ControlEvery, e.Holdout, e.AA = 1024, 0, 0
	p.MinSamples, p.MinKnown, p.MinRanked = 1, 1, 1
	p.GroupShare, p.SelectDuty, p.SelectFlap, p.ReleaseDuty = 0.99, 0, 1, 0
	p.HoldoutPrefixes, p.AAPrefixes, p.Cap, p.Select = nil, nil, false, policySlowest
	g.LowRTT, g.TinyRTTUs, g.MaxRwndShare, g.MinBusyShare, g.PolicerSpread, g.MaxConnShare = false, 0, 1, 0, 0, 1
	c.Plan.MaxChange = 1
}

// listAll has every network of the edge in treatment.always.
func listAll(c *config.Config, d *pop.Day) {
	c.Treatment.Control, c.Policy.Cap, c.Experiment.Holdout, c.Experiment.AA = config.ControlOff, true, 0, 0
	c.Policy.HoldoutPrefixes, c.Policy.AAPrefixes, c.Treatment.Always = nil, nil, nil
	for _, n := range d.World(1).Networks { // whose prefixes are those of every seed
		if !n.Theirs {
			c.Treatment.Always = append(c.Treatment.Always, policy.Listed{Net: n.Prefix, Reason: "all"})
		}
	}
}
