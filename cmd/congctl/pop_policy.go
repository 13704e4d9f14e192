package main

import (
	"bytes"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/congctl/congctl/internal/app/config"
	"github.com/congctl/congctl/internal/core/pop"
	kernelpop "github.com/congctl/congctl/internal/kernel/pop"
)

// Policies of a day: what is compared.
const (
	policyCubic   = "cubic"   // no congctl, everything CUBIC
	policyBBR     = "bbr"     // no congctl, everything BBR
	policyStatic  = "static"  // no congctl, the classes of `static` on BBR by their routes
	policyObserve = "observe" // congctl measures and decides, and treats nobody
	policyLoop    = "loop"    // congctl as configured
	policySwitch  = "switch"  // congctl moves every large response: what the loop could reach at most
	policyBpftune = "bpftune" // no congctl, core/bandit: the rule of another tuner, in the lab only
)

var policies = []string{policyCubic, policyBBR, policyStatic, policyObserve, policyLoop, policySwitch, policyBpftune}

func popPolicy(name string, d *pop.Day) (p kernelpop.Policy, err error) {
	p = kernelpop.Policy{Name: name, Cong: "cubic", Treated: "bbr"}
	switch name {
	case policyCubic:
	case policyBBR:
		p.Cong = "bbr"
	case policyBpftune:
		p.Bandit = true
	case policyStatic:
		if p.OnRoute = d.Static; len(p.OnRoute) == 0 {
			return p, fmt.Errorf("--policy %s: %s names no networks in static", name, d.Name)
		}
	case policyObserve, policyLoop, policySwitch:
		p.Cong = d.Default
		text, err := popConfigText(d, name)
		if err == nil {
			_, err = popConfig(d, name)
		}
		if err != nil {
			return p, err
		}
		p.Product = &kernelpop.Product{Args: []string{"up", "--config", kernelpop.ConfigPath}, Config: text,
			Store: storePath(config.Config{StateDir: kernelpop.StateDir})}
	default:
		return p, fmt.Errorf("--policy %q: use %s", name, strings.Join(policies, ", "))
	}
	return p, nil
}

// popConfigText is congctl.yml in the guest: what the lab sets, then what the day sets.
func popConfigText(d *pop.Day, policy string) (string, error) {
	var b bytes.Buffer
	fmt.Fprintf(&b, "pop: %s\nstate_dir: %s\nsocket: %s\nwindow: %s\n", d.Name, kernelpop.StateDir, kernelpop.Socket,
		time.Duration(d.WindowUs)*time.Microsecond)
	if policy == policyObserve {
		b.WriteString("tier: " + config.TierObserve + "\n")
	}
	b.WriteString(d.Congctl + "\n")
	if policy == policySwitch {
		return overlaid(b.String(), everybody)
	}
	return b.String(), nil
}

// everybody is a configuration by which each network that is known in one window is
// selected, without guard, trial or hold-out. One block in a thousand is control: the
// day has none.
const everybody = `
experiment: {mode: "off", control_every: 1024, holdout: 0, aa: 0}
policy:
  {min_samples: 1, min_known: 1, min_ranked: 1, group_share: 0.99, select_duty: 0, select_flap: 1, release_duty: 0,
   holdout_prefixes: [], aa_prefixes: [],
   guards: {low_rtt: false, tiny_rtt_us: 0, max_rwnd_share: 1, min_busy_share: 0, policer_spread: 0, max_conn_share: 1}}
plan: {max_change: 1}
`

// overlaid is a YAML text with the keys of another set in it, those of mappings one by one.
func overlaid(text, keys string) (string, error) {
	var under, over map[string]any
	if err := errors.Join(yaml.Unmarshal([]byte(text), &under), yaml.Unmarshal([]byte(keys), &over)); err != nil {
		return "", fmt.Errorf("overlay configuration: %w", err)
	}
	overlay(under, over)
	b, err := yaml.Marshal(under)
	return string(b), err
}

func overlay(under, over map[string]any) {
	for k, v := range over {
		a, isMap := under[k].(map[string]any)
		b, ok := v.(map[string]any)
		if isMap && ok {
			overlay(a, b)
		} else {
			under[k] = v
		}
	}
}

// popConfig is what that text means.
func popConfig(d *pop.Day, policy string) (config.Config, error) {
	text, err := popConfigText(d, policy)
	if err != nil {
		return config.Config{}, err
	}
	cfg, err := config.Parse([]byte(text))
	if err != nil {
		return cfg, fmt.Errorf("congctl of day %s: %w", d.Name, err)
	}
	return cfg, nil
}

// inFolder tells whether a name is one of a day's files.
func inFolder(name string) bool {
	return filepath.Base(name) == name && slices.Contains([]string{factsFile, responsesFile, storeFile, emptiedFile, logFile}, name)
}
