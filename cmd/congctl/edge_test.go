package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/congctl/congctl/internal/loop/control"
	"github.com/congctl/congctl/internal/loop/policy"
	"github.com/congctl/congctl/internal/loop/store/sqlite"
	"github.com/congctl/congctl/internal/loop/store/wire"
	"github.com/congctl/congctl/internal/tcp/record"
)

// edge is a host of one test: a state directory, a configuration, and the real
// `congctl up` as a process of its own when it runs.
type edge struct {
	t    testing.TB
	dir  string
	cfg  settings
	cmd  *exec.Cmd
	log  fmt.Stringer
	done chan error
	as   string // the verb that runs; "" is up
	// program makes the process of `up`.
	program func(args ...string) *exec.Cmd
}

// settings are the keys that tests change.
type settings struct {
	Window, Poll, Block, Washout, Expiry string
	ControlEvery                         int
	Netns, Clients, Plan, More           string
	Lists                                string // further keys of treatment, each behind a comma
	Cong                                 string // treatment.cong; "" is bbr
	Select                               string // policy.select; "" is slowest-fifth
	Metrics                              string // metrics.listen; "" is off: many run at once
	Store                                string // keys of store; "" is a records file with full addresses
}

func quickSettings() settings {
	return settings{Window: "3s", Poll: "500ms", Block: "1h", Washout: "0s", Expiry: "9s", ControlEvery: 8, Netns: "own", Clients: "{" + allowLoopback + "}", Plan: "{}"}
}

func (c settings) yaml(dir string) string {
	return fmt.Sprintf(`pop: test
state_dir: %[1]s/state
socket: %[1]s/sock
window: %[2]s
poll: %[3]s
netns: %[4]s
cgroup: %[5]s
clients: %[6]s
plan: %[7]s
treatment: {cong: %[16]s, default_cong: cubic, expiry: %[8]s%[13]s}
experiment: {block: %[9]s, washout: %[10]s, control_every: %[11]d}
policy: {guards: {low_rtt: false, tiny_rtt_us: 0}, select: %[17]s}
starved: {steal_share: 1, run_queue_per_cpu: 1000}
metrics: {listen: %[14]s}
store: {%[15]s}
%[12]s
`, dir, c.Window, c.Poll, c.Netns, os.Getenv(cgroupEnv), c.Clients, c.Plan, c.Expiry, c.Block, c.Washout, c.ControlEvery, c.More, c.Lists, cmp.Or(c.Metrics, "off"),
		cmp.Or(c.Store, "addresses: full, records_file: "+dir+"/records"), cmp.Or(c.Cong, "bbr"), cmp.Or(c.Select, policy.SelectSlowest))
}

func newEdge(t testing.TB, cfg settings) *edge {
	t.Helper()
	needRoot(t)
	check(t, prepareLoopback())
	dir, err := os.MkdirTemp("", "edge") // short: a unix socket's path is
	check(t, err)
	e := &edge{t: t, dir: dir, cfg: cfg, program: program}
	t.Cleanup(func() {
		e.kill()
		if t.Failed() && e.log != nil {
			t.Logf("log of up:\n%s", tail(e.log.String(), 60))
		}
		os.RemoveAll(dir)
	})
	e.writeConfig()
	return e
}

func tail(s string, lines int) string {
	all := strings.Split(s, "\n")
	return strings.Join(all[max(0, len(all)-lines):], "\n")
}

func (e *edge) configPath() string { return filepath.Join(e.dir, "congctl.yml") }
func (e *edge) socketPath() string { return filepath.Join(e.dir, "sock") }
func (e *edge) storePath() string  { return filepath.Join(e.dir, "state", "congctl.db") }

func (e *edge) writeConfig() {
	e.t.Helper()
	check(e.t, os.WriteFile(e.configPath(), []byte(e.cfg.yaml(e.dir)), 0o600))
}

func program(args ...string) *exec.Cmd {
	cmd := exec.Command("/proc/self/exe", args...)
	if bin := os.Getenv("CONGCTL_TEST_BINARY"); bin != "" {
		cmd = exec.Command(bin, args...) // to measure what is shipped
	}
	cmd.Env = append(os.Environ(), asEnv+"=program")
	return cmd
}

// launch starts `up` and does not wait for anything.
func (e *edge) launch(env ...string) {
	e.t.Helper()
	out, err := os.CreateTemp(e.dir, "log")
	check(e.t, err)
	defer out.Close()
	e.log = &logFile{out.Name()}
	e.launchTo(out, env...)
}

func (e *edge) launchTo(stderr io.Writer, env ...string) {
	e.t.Helper()
	e.cmd = e.program(cmp.Or(e.as, "up"), "-c", e.configPath())
	e.cmd.Env = append(e.cmd.Env, env...)
	e.cmd.Stderr = stderr
	e.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	check(e.t, e.cmd.Start())
	done, cmd := make(chan error, 1), e.cmd
	go func() { done <- cmd.Wait() }()
	e.done = done
}

// start starts `up` and waits until it has polled once: from then on it follows
// every new connection.
func (e *edge) start(env ...string) {
	e.t.Helper()
	e.launch(env...)
	e.awaitStatus("first poll", func(s control.Status) bool { return s.Agent.Polls > 0 })
}

func (e *edge) signal(s syscall.Signal) {
	e.t.Helper()
	check(e.t, e.cmd.Process.Signal(s))
}

// pause stops the process by SIGSTOP and waits until none of its threads runs: a
// signal is sent at once and heeded later. SIGCONT goes on.
func (e *edge) pause() {
	e.t.Helper()
	e.signal(syscall.SIGSTOP)
	eventually(e.t, "stopped by SIGSTOP", patience, func() bool {
		threads, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", e.cmd.Process.Pid))
		for _, name := range threads {
			text, err := os.ReadFile(name)
			_, state, _ := strings.Cut(string(text), ") ") // after the name in brackets
			if err != nil || !strings.HasPrefix(state, "T") {
				return false
			}
		}
		return len(threads) > 0
	})
}

// ended waits for the process and returns its exit code; -1 when a signal ended it.
func (e *edge) ended() int {
	e.t.Helper()
	select {
	case <-e.done:
	case <-time.After(patience):
		e.t.Fatalf("up did not end within %s", patience)
	}
	code := e.cmd.ProcessState.ExitCode()
	e.cmd = nil
	return code
}

// stop ends `up` in the orderly way.
func (e *edge) stop() {
	e.t.Helper()
	e.signal(syscall.SIGTERM)
	if code := e.ended(); code != 0 {
		e.t.Fatalf("up ended with %d:\n%s", code, tail(e.log.String(), 20))
	}
}

func (e *edge) kill() {
	if e.cmd == nil {
		return
	}
	_ = e.cmd.Process.Kill()
	<-e.done
	e.cmd = nil
}

// verb runs one verb as a user would, on a machine that may have much else to do.
func (e *edge) verb(args ...string) (stdout, stderr string, code int) {
	e.t.Helper()
	return e.verbWithin(patience, args...)
}

func (e *edge) verbWithin(timeout time.Duration, args ...string) (stdout, stderr string, code int) {
	e.t.Helper()
	var out, errs bytes.Buffer
	cmd := program(append(args, "-c", e.configPath(), "--timeout", timeout.String())...)
	cmd.Stdout, cmd.Stderr = &out, &errs
	defer time.AfterFunc(timeout+patience, func() { _ = cmd.Process.Kill() }).Stop() // exit code -1: it hung
	err := cmd.Run()
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		e.t.Fatalf("run %v: %v", args, err)
	}
	return out.String(), errs.String(), cmd.ProcessState.ExitCode()
}

// must runs a verb that must end well.
func (e *edge) must(args ...string) string {
	e.t.Helper()
	out, errs, code := e.verb(args...)
	if code != 0 {
		e.t.Fatalf("congctl %v: exit code %d\n%s%s", args, code, out, errs)
	}
	return out
}

// ask runs a verb with JSON output into v.
func (e *edge) ask(v any, args ...string) {
	e.t.Helper()
	out := e.must(append(args, "-o", "json")...)
	if err := json.Unmarshal([]byte(out), v); err != nil {
		e.t.Fatalf("congctl %v: %v in %s", args, err, out)
	}
}

// status asks the running process without a process of its own, so that it can
// be asked often.
func (e *edge) status() (control.Status, error) {
	c := control.NewClient(e.socketPath())
	c.Timeout = patience
	ctx, stop := context.WithTimeout(context.Background(), patience)
	defer stop()
	s, err := c.Status(ctx)
	if err == nil && s.Agent == nil {
		err = errors.New("no agent in the status")
	}
	return s, err
}

func (e *edge) awaitStatus(what string, ok func(control.Status) bool) (s control.Status) {
	e.t.Helper()
	eventually(e.t, what, patience, func() (ready bool) {
		select {
		case err := <-e.done:
			e.cmd = nil
			e.t.Fatalf("up ended, %v:\n%s", err, e.log.String())
		default:
		}
		var err error
		s, err = e.status()
		return err == nil && ok(s)
	})
	return s
}

// records reads all connection records of all starts so far; whole once `up` has ended.
func (e *edge) records() (all []record.Conn) {
	e.t.Helper()
	files, err := filepath.Glob(filepath.Join(e.dir, "records-*.pb"))
	check(e.t, err)
	for _, name := range files {
		f, err := os.Open(name)
		check(e.t, err)
		rep, err := wire.Read(f, func(_ *wire.Header, c *record.Conn) error {
			all = append(all, *c)
			return nil
		})
		f.Close()
		if err != nil || rep.TornBytes > 0 && e.cmd == nil {
			e.t.Fatalf("read %s: %+v, %v", name, rep, err)
		}
	}
	return all
}

// rows reads the stored windows.
func (e *edge) rows() []record.Window { e.t.Helper(); return e.rowsOf(e.storePath()) }

func (e *edge) rowsOf(store string) (rows []record.Window) {
	e.t.Helper()
	s, err := sqlite.Open(context.Background(), store, sqlite.Options{ReadOnly: true})
	check(e.t, err)
	defer s.Close()
	check(e.t, s.Windows(context.Background(), 0, time.Now().Unix()+3600, func(w *record.Window) error {
		rows = append(rows, *w)
		return nil
	}))
	return rows
}

// logFile is a process's output. A file and no pipe: what it wrote before it answered is there
// when the answer is.
type logFile struct{ name string }

func (l *logFile) String() string {
	b, _ := os.ReadFile(l.name)
	return string(b)
}

// lockedBuffer takes a process's output while a test reads it.
type lockedBuffer struct {
	mu sync.Mutex // guards b
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}
