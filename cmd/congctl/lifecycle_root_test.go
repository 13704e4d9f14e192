package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/netip"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/congctl/congctl/internal/loop/control"
	"github.com/congctl/congctl/internal/loop/journal"
	"github.com/congctl/congctl/internal/tcp/record"
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
	check(t, os.WriteFile(other, []byte(text+"tier: observe\n"), 0o600))
	out, err := program("up", "-c", other).CombinedOutput()
	if err == nil || !strings.Contains(string(out), "another congctl answers on this socket") {
		t.Errorf("same socket: %v: %s", err, out)
	}
	if status, err := e.status(); err != nil || status.PID != e.cmd.Process.Pid {
		t.Errorf("the first one: %+v, %v", status, err)
	}
	e.stop()
}

// TestReload changes clients and treatment.never by SIGHUP, after files that are refused.
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
	e.reload("window, fleet changed, which needs a restart")
	for _, from := range []netip.Addr{excluded, denied} {
		if got := s.transfer(from, large); got != "bbr" {
			t.Errorf("old configuration: a transfer from %s ran %s", from, got)
		}
	}

	e.cfg = good
	e.cfg.Clients = fmt.Sprintf("{%s, exclude: [%s]}", allowLoopback, prefixOf(t, excluded))
	e.cfg.Lists = fmt.Sprintf(", never: [%s/32 a probe]", denied)
	e.reload("reload: by SIGHUP; ")
	e.judgeReloads()
	out := s.visit(t, excluded, "cubic") // no client: neither measured nor treated
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

// judgeReloads compares the events of three reloads with the log: one list.
func (e *edge) judgeReloads() {
	e.t.Helper()
	var events []journal.Event
	e.ask(&events, "events")
	var kinds []string
	last := ""
	for _, x := range events {
		if !strings.HasPrefix(x.Kind, "reload") {
			continue
		}
		last = x.Text
		kinds = append(kinds, x.Kind)
		if !strings.Contains(e.log.String(), x.Kind+": "+x.Text+"\n") {
			e.t.Errorf("event %q is not in the log:\n%s", x.Text, e.log.String())
		}
	}
	if want := []string{"reload-refused", "reload-refused", "reload"}; !slices.Equal(kinds, want) {
		e.t.Errorf("events %q, want %q", kinds, want)
	}
	if !strings.Contains(last, "clients.exclude is [") || !strings.Contains(last, "treatment.never is [") {
		e.t.Errorf("the reload does not say what changed: %q", last)
	}
}

// TestJournal starts `up` with its standard error as systemd connects it, a stream
// socket that JOURNAL_STREAM names, and reads what journald would.
func TestJournal(t *testing.T) {
	e := newEdge(t, quickSettings())
	pair, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	check(t, err)
	stderr, journald := os.NewFile(uintptr(pair[0]), "stderr"), os.NewFile(uintptr(pair[1]), "journald")
	defer journald.Close()
	var st syscall.Stat_t
	check(t, syscall.Fstat(pair[0], &st))
	e.launchTo(stderr, fmt.Sprintf("JOURNAL_STREAM=%d:%d", st.Dev, st.Ino))
	check(t, stderr.Close()) // the child has it
	e.awaitStatus("a round", func(s control.Status) bool { return s.RoundUnixS > 0 })
	e.must("stop")
	e.signal(syscall.SIGHUP)
	eventually(t, "reload", patience, func() bool { return strings.Contains(e.must("events"), "reload ") })
	e.stop()
	b, err := io.ReadAll(journald)
	check(t, err)
	for line := range strings.Lines(string(b)) {
		if !journalLine.MatchString(line) {
			t.Errorf("no line for journald: %q", line)
		}
	}
	for _, want := range []string{"<6>kernel ", "<6>up: pop test, window 3s, poll 500ms, ", "<6>round of ", "<4>stop: no new treatment, by ",
		"<6>reload: by SIGHUP; no key changed\n", "<6>down\n"} {
		if !strings.Contains(string(b), want) {
			t.Errorf("the journal lacks %q:\n%s", want, b)
		}
	}
}

// journalLine has a level, no time of its own, and nothing that a program prints for itself.
var journalLine = regexp.MustCompile(`^<[3467]>[a-z][^\[\]{}=]*(\[[^\[\]]*\])?[^\[\]{}=]*\n$`)

// reload writes the configuration, sends SIGHUP and waits for a new such line in the log.
func (e *edge) reload(line string) {
	e.t.Helper()
	e.writeConfig()
	before := strings.Count(e.log.String(), line)
	e.signal(syscall.SIGHUP)
	eventually(e.t, line, patience, func() bool { return strings.Count(e.log.String(), line) > before })
}

// visit is a transfer that must run want; it returns the connection's cookie.
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
