package main

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/congctl/congctl/internal/loop/control"
	"github.com/congctl/congctl/internal/tcp/record"
)

// TestCgroupMadeAgain: systemd removes a service's cgroup when it stops, and makes another one of that name when it
// starts. What runs there then is measured and treated, and meanwhile an alarm has the cause.
func TestCgroupMadeAgain(t *testing.T) {
	needRoot(t)
	home := os.Getenv(cgroupEnv)
	path := filepath.Join(home, "service")
	check(t, os.Mkdir(path, 0o755))
	t.Cleanup(func() { os.Remove(path) })
	cfg := quickSettings()
	cfg.Metrics = freePort(t)
	e := newEdge(t, cfg)
	e.program = func(args ...string) *exec.Cmd { return program(append(args, "--cgroup", path)...) }
	from := client(e.networksIn(record.ArmTreatment, 1)[0], 1)
	e.keepPlan(e.planFor(prefixOf(t, from)))
	e.start()
	served := uint64(0)
	serve := func(want string) {
		t.Helper()
		check(t, moveTo(path, os.Getpid()))
		s := newServer(t) // a connection has the cgroup of its listener's maker
		check(t, moveTo(home, os.Getpid()))
		if ran := s.transfers(from, 5); ran[want] != 5 {
			t.Errorf("transfers ran %v, want %s", ran, want)
		}
		s.close()
		served += 5 // the server's ends close after the clients'
		e.awaitStatus("closed", func(s control.Status) bool { return s.Agent.Ledger.Emitted[record.EndClose] >= served })
	}
	alarm := func(text string) func(control.Status) bool {
		return func(s control.Status) bool {
			return slices.ContainsFunc(s.Agent.Alarms, func(a string) bool { return strings.HasPrefix(a, "cgroup: ") && strings.Contains(a, text) })
		}
	}
	serve("bbr")
	check(t, os.Remove(path))
	e.awaitStatus("alarm", alarm(path+" was removed"))
	eventually(t, "not ready for that reason", patience, func() bool {
		status, body := webPage(t, cfg.Metrics, "/readyz")
		return status == http.StatusServiceUnavailable && strings.Contains(string(body), "was removed")
	})
	check(t, os.Mkdir(path, 0o755))
	e.awaitStatus("attached again, no alarm", func(s control.Status) bool { return len(s.Agent.Alarms) == 0 })
	serve("bbr")
	for _, again := range []func() error{func() error { return os.Remove(path) }, func() error { return os.Mkdir(path, 0o755) }} {
		check(t, again())
	}
	e.awaitStatus("an alarm that it was made again", alarm(""))
	e.awaitStatus("attached again, no alarm", func(s control.Status) bool { return len(s.Agent.Alarms) == 0 })
	serve("bbr")
	e.stop()
	accepted := map[record.Cookie]bool{}
	for _, c := range e.records() {
		if c.Passive && c.Prefix == prefixOf(t, from) && c.Assigned == record.ArmTreatment {
			accepted[c.Cookie] = true
		}
	}
	if len(accepted) != 15 {
		t.Errorf("records of %d treated connections, want 15", len(accepted))
	}
}

// A process moves in and out: Close puts back what it did not start. Not this process, which
// would leave the cgroup of all tests.
func TestCgroupGivesBackItsGuests(t *testing.T) {
	needRoot(t)
	cg, err := newCgroup(fmt.Sprintf("congctl-guest-%d", os.Getpid()))
	if err != nil {
		t.Fatal(err)
	}
	defer cg.Close()
	guest := exec.CommandContext(t.Context(), "sleep", "60")
	check(t, guest.Start())
	defer func() {
		check(t, guest.Process.Kill())
		_ = guest.Wait() // killed
	}()
	check(t, cg.Add(guest.Process.Pid))
	check(t, cg.Close())
	if err := guest.Process.Signal(syscall.Signal(0)); err != nil {
		t.Errorf("the guest ended: %v", err)
	}
	if _, err := os.Stat(cg.Path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("left behind: %v", err)
	}
}
