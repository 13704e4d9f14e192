package main

import (
	"bytes"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

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
)

var policies = []string{policyCubic, policyBBR, policyStatic, policyObserve, policyLoop}

func popPolicy(name string, d *pop.Day) (p kernelpop.Policy, err error) {
	p = kernelpop.Policy{Name: name, Cong: "cubic", Treated: "bbr"}
	switch name {
	case policyCubic:
	case policyBBR:
		p.Cong = "bbr"
	case policyStatic:
		if p.OnRoute = d.Static; len(p.OnRoute) == 0 {
			return p, fmt.Errorf("--policy %s: %s names no networks in static", name, d.Name)
		}
	case policyObserve, policyLoop:
		text := popConfigText(d, name)
		if _, err := popConfig(d, name); err != nil {
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
func popConfigText(d *pop.Day, policy string) string {
	var b bytes.Buffer
	fmt.Fprintf(&b, "pop: %s\nstate_dir: %s\nsocket: %s\nwindow: %s\n", d.Name, kernelpop.StateDir, kernelpop.Socket,
		time.Duration(d.WindowUs)*time.Microsecond)
	if policy == policyObserve {
		b.WriteString("tier: " + config.TierObserve + "\n")
	}
	b.WriteString(d.Congctl + "\n")
	return b.String()
}

// popConfig is what that text means.
func popConfig(d *pop.Day, policy string) (config.Config, error) {
	cfg, err := config.Parse([]byte(popConfigText(d, policy)))
	if err != nil {
		return cfg, fmt.Errorf("congctl of day %s: %w", d.Name, err)
	}
	return cfg, nil
}

// inFolder tells whether a name is one of a day's files.
func inFolder(name string) bool {
	return filepath.Base(name) == name && slices.Contains([]string{factsFile, responsesFile, storeFile, logFile}, name)
}
