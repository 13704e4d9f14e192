package main

import (
	"errors"
	"fmt"
	"io/fs"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/congctl/congctl/internal/core/record"
)

// TestOrderlyEnd ends `up` by SIGTERM in the middle of its work. Five seconds are
// the promise that service managers are told.
func TestOrderlyEnd(t *testing.T) {
	e := newEdge(t, quickSettings())
	e.start()
	s := newServer(t)
	v := s.dial(client(0, 1))
	done := make(chan error, 1)
	go func() { done <- v.get(1 << 30) }()
	ids := bpfOf(t, e.cmd.Process.Pid)
	info, err := os.Stat(e.socketPath())
	check(t, err)
	if info.Mode().Perm() != 0o660 || info.Mode().Type() != fs.ModeSocket {
		t.Errorf("socket has mode %s", info.Mode())
	}

	began := time.Now()
	e.signal(syscall.SIGTERM)
	eventually(t, "end after SIGTERM", 5*time.Second, func() bool { return len(e.done) > 0 })
	took := time.Since(began)
	if code := e.ended(); code != 0 {
		t.Errorf("exit code %d", code)
	}
	if _, err := os.Stat(e.socketPath()); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("socket file is left: %v", err)
	}
	eventually(t, "eBPF gone after SIGTERM", time.Second, func() bool { return ids.left() == 0 })
	v.Close()
	<-done
	t.Logf("ended after %s", took.Round(time.Millisecond))
}

func TestSecondInstanceIsRefused(t *testing.T) {
	e := newEdge(t, quickSettings())
	e.start()
	_, errs, code := e.verb("up")
	if code != 1 || !strings.Contains(errs, fmt.Sprintf("(pid %d)", e.cmd.Process.Pid)) || !strings.Contains(errs, "try: congctl status") {
		t.Errorf("exit code %d: %s", code, errs)
	}

	// Another state directory and the same socket: refused too, and the first still answers.
	other := filepath.Join(e.dir, "other.yml")
	text := strings.Replace(e.cfg.yaml(e.dir), "state_dir: "+e.dir+"/state", "state_dir: "+e.dir+"/other", 1)
	check(t, os.WriteFile(other, []byte(text), 0o600))
	out, err := program("up", "-c", other).CombinedOutput()
	if err == nil || !strings.Contains(string(out), "another congctl answers on this socket") {
		t.Errorf("same socket: %v: %s", err, out)
	}
	if status, err := e.status(); err != nil || status.PID != e.cmd.Process.Pid {
		t.Errorf("the first one: %+v, %v", status, err)
	}
	e.stop()
}

// TestReload changes clients and deny list by SIGHUP, after files that are refused.
func TestReload(t *testing.T) {
	e := newEdge(t, quickSettings())
	nets := e.networksIn(record.ArmTreatment, 2)
	excluded, denied := client(nets[0], 1), client(nets[1], 1)
	e.keepPlan(e.planFor(prefixOf(t, excluded), prefixOf(t, denied)))
	e.start()
	s := newServer(t)
	good := e.cfg

	e.cfg.Plan = "{max: many}"
	e.reload("the old configuration stays")
	if !strings.Contains(e.log.String(), "plan.max") {
		t.Errorf("the refusal does not name the key:\n%s", tail(e.log.String(), 5))
	}
	e.cfg = good
	e.cfg.Window = "6s"
	e.reload("window changed, which needs a restart")
	for _, from := range []netip.Addr{excluded, denied} {
		if got := s.transfer(from, large); got != "bbr" {
			t.Errorf("old configuration: a transfer from %s ran %s", from, got)
		}
	}

	e.cfg = good
	e.cfg.Clients = fmt.Sprintf("{exclude: [%s]}", prefixOf(t, excluded))
	e.cfg.Plan = fmt.Sprintf("{deny: [%s/32]}", denied)
	e.reload("msg=reloaded")
	out := s.visit(t, excluded, "bbr")
	// A window's end falls into one of two at most, and only the part that crossed tells.
	in := []record.Cookie{s.visit(t, denied, "cubic"), s.visit(t, denied, "cubic")}
	e.stop()
	found := map[record.Applied]int{}
	seen := false
	for _, c := range e.records() {
		switch {
		case c.Cookie == out:
			seen = true
			if c.ClientFacing {
				t.Errorf("excluded by the reload: %+v", c)
			}
		case slices.Contains(in, c.Cookie):
			found[c.Applied]++
			if !c.ClientFacing || c.Applied != record.AppliedNoneDenied && c.CrossedNs/1e9 >= c.Window {
				t.Errorf("denied by the reload: %+v", c)
			}
		}
	}
	if !seen || found[record.AppliedNoneDenied] == 0 {
		t.Errorf("after the reload: excluded seen %t, denied %v", seen, found)
	}
}

// reload writes the configuration, sends SIGHUP and waits for a new such line in the log.
func (e *edge) reload(line string) {
	e.t.Helper()
	e.writeConfig()
	before := strings.Count(e.log.String(), line)
	e.signal(syscall.SIGHUP)
	eventually(e.t, line, patience, func() bool { return strings.Count(e.log.String(), line) > before })
}

// visit is a transfer that must run want; it gives the connection's cookie.
func (s *server) visit(t *testing.T, from netip.Addr, want string) record.Cookie {
	t.Helper()
	v := s.dial(from)
	defer v.Close()
	check(t, v.get(large))
	if v.runs() != want {
		t.Errorf("from %s: ran %s, want %s", from, v.runs(), want)
	}
	return v.cookie()
}
