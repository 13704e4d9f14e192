package main

import (
	"fmt"
	"strings"
	"syscall"
	"testing"

	"github.com/congctl/congctl/internal/fleet/store/mtls"
	"github.com/congctl/congctl/internal/loop/control"
)

// TestFleetKeys replaces the key of a PoP without locking its host out, and then revokes it: without a
// key that the host trusts its kernel treats nothing.
func TestFleetKeys(t *testing.T) {
	treated := client(0, 7)
	cfg := quickSettings()
	central := cfg
	central.Lists = fmt.Sprintf(`, always: [%s satellite link], control: "off"`, prefixOf(t, treated))
	f := newFleetOf(t, central, "")
	ann := f.operator(mtls.Operator)
	host := f.agent("edge-1", cfg)
	host.start()
	host.awaitStatus("the plan in force", inForce(1))
	old := f.key
	trust := func(keys ...string) {
		t.Helper()
		head, _, _ := strings.Cut(host.cfg.More, "plan_keys: [")
		host.cfg.More = head + "plan_keys: [" + strings.Join(keys, ", ") + "]}"
		host.writeConfig()
		host.signal(syscall.SIGHUP)
	}
	keys := func(more ...string) (k PlanKeys) {
		t.Helper()
		ann.ask(&k, append([]string{"plan", "key", "--pop", "chi"}, more...)...)
		return k
	}
	if k := keys(); k.Key != old || k.Next != "" {
		t.Fatalf("%+v", k)
	}
	next := keys("--next").Next
	if _, errs, code := ann.verb("plan", "key", "--switch", "--pop", "chi"); code != exitFailed || !strings.Contains(errs, "it would lock out edge-1: add "+next+" to fleet.plan_keys there and send SIGHUP") {
		t.Fatalf("a switch that locks out: exit code %d: %s", code, errs)
	}
	trust(old, next)
	eventually(t, "the host trusts both", patience, func() bool { return len(keys().Lacking) == 0 && len(ann.fleetStatus().Hosts) == 1 })
	before := host.awaitStatus("the plan in force", inForce(1)).Agent.Plan
	if k := keys("--switch"); k.Key != next || k.Next != "" {
		t.Fatalf("%+v", k)
	}
	host.awaitStatus("a plan of the next key", func(s control.Status) bool { return s.Agent.Plan > before && s.Agent.InForce == 1 })
	trust(next)
	f.awaitRounds(ann, 1)
	host.awaitStatus("the plan without the old key", inForce(1))
	trust(old)
	host.awaitStatus("nothing without the next key", func(s control.Status) bool { return s.Agent.Plan == 0 && s.Agent.InForce == 0 })
	trust(next)
	host.awaitStatus("the plan, trusted again", inForce(1))
	ann.audited("key-next by congctl://operator/ann: done", "key-switch by congctl://operator/ann: refused", "key-switch by congctl://operator/ann: done")
	host.stop()
	f.stop()
}
