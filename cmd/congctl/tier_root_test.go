package main

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/congctl/congctl/internal/loop/control"
	"github.com/congctl/congctl/internal/loop/policy"
)

// TestMissingCapabilityIsNamed: without CAP_PERFMON the kernel answers as an old one would. congctl
// names the capability and treats nothing.
func TestMissingCapabilityIsNamed(t *testing.T) {
	e := newEdge(t, quickSettings())
	self, err := os.Executable()
	check(t, err)
	e.program = func(args ...string) *exec.Cmd {
		cmd := program(args...)
		cmd.Args = append([]string{"setpriv", "--bounding-set=-perfmon,-sys_admin", self}, args...)
		cmd.Path, err = exec.LookPath("setpriv")
		check(t, err)
		return cmd
	}
	e.start()
	s, err := e.status()
	check(t, err)
	if !strings.Contains(s.TierReason, "CAP_PERFMON") {
		t.Errorf("the reason %q does not name the capability", s.TierReason)
	}
	if s.Tier != "observe" || strings.Contains(s.TierReason, "Linux 5.") || strings.Contains(s.TierReason, "ip-route") || strings.Contains(s.TierReason, "CAP_BPF,") {
		t.Errorf("tier %s: %s", s.Tier, s.TierReason)
	}
	e.stop()
}

// TestTakenCgroupIsObserved: a foreign program that excludes ours makes congctl watch.
func TestTakenCgroupIsObserved(t *testing.T) {
	e := newEdge(t, quickSettings())
	attachAlone(t)
	e.launch()
	e.awaitStatus("tier observe", func(s control.Status) bool {
		return s.Tier == "observe" && strings.Contains(s.TierReason, "BPF_F_ALLOW_MULTI") && !strings.Contains(s.TierReason, "ip-route")
	})
	e.stop()
}

// TestObservedIsNotTried: rounds of a host that treats nothing say so, and those of one that treats do not.
func TestObservedIsNotTried(t *testing.T) {
	const said = "nothing is treated: every trial restarts"
	for _, tier := range []string{"tier: observe", ""} {
		cfg := quickSettings()
		cfg.Block, cfg.Select, cfg.More = "18s", policy.SelectBenefit, tier
		e := newEdge(t, cfg)
		e.start()
		eventually(t, "a round", patience, func() bool { return strings.Contains(e.log.String(), "round of ") })
		if log := e.log.String(); strings.Contains(log, said) != (tier != "") {
			t.Errorf("%q: %s", tier, log)
		}
		e.stop()
	}
}
