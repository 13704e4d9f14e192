package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/congctl/congctl/internal/loop/control"
)

// TestStopWithoutKafka: two controllers share PoP chi, and the broker is killed. `stop --pop` reaches the kernel within seconds all
// the same. First the controller that took it is killed with it: the agent, which was restarted, takes the stop to the other
// one, which stores it when Kafka is back. Then it comes when the controller has given the PoP up already. Each time resume
// works when Kafka is back; and a stop that was resumed, or that nobody signed, stops nothing again.
func TestStopWithoutKafka(t *testing.T) {
	s := newSharedPoP(t)
	owner, other := s.one, s.two
	if other.took() > 0 {
		owner, other = other, owner
	}
	s.connected()
	s.server.visit(t, s.treated, "bbr")

	s.pipe.broker.Kill()
	s.stopped("--controller", owner.url)
	file := filepath.Join(s.host.dir, "state", "stopped")
	carried, err := os.ReadFile(file)
	check(t, err)
	owner.kill()
	s.host.kill()
	s.host.start()
	s.host.awaitStatus("stopped after a restart", func(s control.Status) bool { return s.Stopped })
	s.pipe.broker.Start()
	eventually(t, "the other takes over", wholeTime, func() bool { return other.took() == 1 })
	s.resumed(", who asked controller ")

	owner.launchUntil()
	s.pipe.broker.Kill()
	refused := func(verb string) (ok bool, said string) {
		_, errs, code := s.ann.verb(append(strings.Fields(verb), "--pop", "chi")...)
		return code == exitFailed && strings.Contains(errs, "Kafka names no controller"), errs
	}
	eventually(t, "the other gives up", wholeTime, func() bool { ok, _ := refused("fleet status"); return ok })
	s.stopped("--evict")
	for _, verb := range []string{"resume", "plan freeze"} {
		if ok, said := refused(verb); !ok {
			t.Errorf("%s: %s", verb, said)
		}
	}
	s.pipe.broker.Start()
	s.resumed(", who asked controller ")

	// The owner may not know yet that the other one decides again. It would give the agent its own stop in place of these.
	owner.stop()
	for what, text := range map[string][]byte{"a stop that was resumed": carried, "a stop without a signature": []byte("{}\n{}")} {
		s.host.stop()
		check(t, os.WriteFile(file, text, 0o600))
		s.host.start()
		s.host.awaitStatus(what+" ends", func(s control.Status) bool { return !s.Stopped && s.Agent.InForce == 1 })
	}
	if st := s.ann.fleetStatus(); st.Stopped || !other.logHas("no controller signed") {
		t.Errorf("%+v", st)
	}
	s.server.visit(t, s.treated, "bbr")
	s.host.stop()
	if t.Failed() || testing.Verbose() {
		t.Logf("log of one:\n%s\nlog of two:\n%s", tail(s.one.log.String(), 60), tail(s.two.log.String(), 60))
	}
}

// stopped stops PoP chi, as often as it takes until its one agent is here, and looks at its kernel.
func (s *sharedPoP) stopped(how ...string) {
	s.t.Helper()
	began := time.Now()
	eventually(s.t, "an answer that its agent is stopped", wholeTime, func() bool {
		asked := time.Now()
		_, errs, code := s.ann.verbWithin(15*time.Second, append([]string{"stop", "--pop", "chi"}, how...)...)
		s.t.Logf("after %.1f s, answered within %.1f s: %s", asked.Sub(began).Seconds(), time.Since(asked).Seconds(), errs)
		if code != exitFailed || !strings.Contains(errs, "is not stored yet") {
			s.t.Fatalf("exit code %d: %s", code, errs)
		}
		return strings.Contains(errs, "1 of 1 agents")
	})
	s.host.awaitStatus("stopped", func(s control.Status) bool { return s.Stopped && s.StoppedNext })
	s.server.visit(s.t, s.treated, "cubic")
}

// resumed waits until the stop is stored, with who did it, and takes it back.
func (s *sharedPoP) resumed(by string) {
	s.t.Helper()
	eventually(s.t, "the stop in the store", wholeTime, func() bool {
		out, _, code := s.ann.verb("fleet", "status", "--pop", "chi", "-o", "json")
		var st FleetStatus
		return code == 0 && json.Unmarshal([]byte(out), &st) == nil && st.Stopped
	})
	eventually(s.t, "who stopped, in the store", wholeTime, func() bool {
		out, _, code := s.ann.verb("events", "--kind", "audit", "-n", "0", "--pop", "chi")
		return code == 0 && strings.Contains(out, "stop by congctl://operator/ann"+by)
	})
	s.host.awaitStatus("stopped still", func(s control.Status) bool { return s.Stopped })
	s.server.visit(s.t, s.treated, "cubic")
	eventually(s.t, "resume", wholeTime, func() bool { _, _, code := s.ann.verb("resume", "--pop", "chi"); return code == 0 })
	s.host.awaitStatus("resumed", func(s control.Status) bool { return !s.Stopped && s.Agent.InForce == 1 })
	s.server.visit(s.t, s.treated, "bbr")
}
