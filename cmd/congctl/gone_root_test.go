package main

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/congctl/congctl/internal/loop/control"
	"github.com/congctl/congctl/internal/tcp/record"
)

// TestStateTakenAway deletes the store, replaces it, and deletes the lock or all of the state
// directory under a running `up`: it says so within a round, treats nothing more and forgets
// nothing that it was told.
func TestStateTakenAway(t *testing.T) {
	for name, take := range map[string]func(e *edge) error{
		"store deleted": func(e *edge) error { return os.Remove(e.storePath()) },
		"store replaced": func(e *edge) error {
			return errors.Join(os.Remove(e.storePath()), os.WriteFile(e.storePath(), nil, 0o600))
		},
		"lock deleted": func(e *edge) error { return os.Remove(filepath.Join(e.dir, "state", "lock")) },
		"all deleted":  func(e *edge) error { return os.RemoveAll(filepath.Join(e.dir, "state")) },
	} {
		t.Run(name, func(t *testing.T) {
			e := newEdge(t, quickSettings())
			from := client(e.networksIn(record.ArmTreatment, 1)[0], 1)
			e.keepPlan(e.planFor(prefixOf(t, from)))
			e.start()
			s := newServer(t)
			if got := s.transfer(from, large); got != "bbr" {
				t.Fatalf("before: %s", got)
			}
			check(t, take(e))
			e.awaitStatus("alarm, and stopped", func(s control.Status) bool {
				return s.Agent.Stopped && slices.ContainsFunc(s.Agent.Alarms, func(a string) bool {
					return strings.HasPrefix(a, "round: treatment is stopped: ") && strings.Contains(a, "restart congctl")
				})
			})
			if got := s.transfer(from, large); got != "cubic" {
				t.Errorf("after: %s", got)
			}
			if name != "lock deleted" {
				if _, errs, code := e.verb("resume"); code != exitFailed || !strings.Contains(errs, "store deleted or replaced while it was open") {
					t.Errorf("resume: exit code %d: %s", code, errs)
				}
			}
			e.kill()
		})
	}
}

// TestSecondStateDirectoryOnOneCgroup: another state directory and another socket, the same
// sockets, or some of them.
func TestSecondStateDirectoryOnOneCgroup(t *testing.T) {
	own := os.Getenv(cgroupEnv)
	child := filepath.Join(own, "child")
	for name, at := range map[string]struct{ first, second string }{"same": {own, own}, "above": {child, own}, "below": {own, child}} {
		t.Run(name, func(t *testing.T) {
			e := newEdge(t, quickSettings())
			check(t, os.Mkdir(child, 0o755))
			t.Cleanup(func() { check(t, os.Remove(child)) })
			e.program = func(args ...string) *exec.Cmd { return program(append(args, "--cgroup", at.first)...) }
			e.start()
			other := filepath.Join(e.dir, "other.yml")
			text := strings.NewReplacer("/state", "/other", "/sock", "/sock2", "/records", "/records2").Replace(e.cfg.yaml(e.dir))
			check(t, os.WriteFile(other, []byte(text), 0o600))
			second := program("up", "-c", other, "--cgroup", at.second)
			defer time.AfterFunc(patience, func() { _ = second.Process.Kill() }).Stop() // it runs, and should not
			out, err := second.CombinedOutput()
			if err == nil || !strings.Contains(string(out), "another congctl is attached to the same sockets") {
				t.Errorf("%v: %s", err, out)
			}
			e.kill()
			e.start() // at once: the program of a killed one is no second one
			e.stop()
		})
	}
}
