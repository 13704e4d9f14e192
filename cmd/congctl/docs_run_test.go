package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"os/user"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/sys/unix"

	"github.com/congctl/congctl/internal/linux/netns"
	"github.com/congctl/congctl/internal/loop/agent"
	"github.com/congctl/congctl/internal/loop/control"
	"github.com/congctl/congctl/internal/loop/controller"
	"github.com/congctl/congctl/internal/loop/ledger"
	"github.com/congctl/congctl/internal/loop/store/sqlite"
)

var rewriteDocs = flag.Bool("rewrite-docs", false, "write the real output into the console blocks of the documentation")

// TestExamples runs every console block of the pages that a newcomer reads. Each
// page has a store of its own; a block "console running" has a congctl that
// answers on the socket, any other block has none; a block "console qemu" is not run,
// a block "console root" by root only, in a network namespace with a link eth0; with
// "console host=NAME" the page goes on on the host testdata/hosts/NAME.host.
func TestExamples(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0") // so that `sockets` has one to show
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	db := docsDB(t)
	for _, page := range examplePages(t) {
		t.Run(page, func(t *testing.T) { runPage(t, page, db) })
	}
}

func runPage(t *testing.T, page string, db []byte) {
	path := filepath.Join(docsRoot, page)
	src, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	path, err = filepath.Abs(path)
	if err != nil {
		t.Fatal(err)
	}
	s := newStage(t, db)
	lines := strings.Split(string(src), "\n")
	for _, b := range slices.Backward(s.play(t, parseBlocks(lines))) {
		lines = slices.Replace(lines, b.first, b.last, b.lines()...)
	}
	if fresh := strings.Join(lines, "\n"); *rewriteDocs && fresh != string(src) {
		if err := os.WriteFile(path, []byte(fresh), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

var consoles = []string{"console", "console running", "console qemu", "console root"}

// ownNetwork tells whether the tests have a network namespace of their own, and puts a
// link eth0 into it, as a host has one.
func ownNetwork(t *testing.T) bool {
	t.Helper()
	if os.Getenv(cgroupEnv) == "" {
		return false
	}
	ns, err := netns.Current()
	check(t, err)
	defer ns.Close()
	if _, err := net.InterfaceByName("eth0"); err == nil {
		return true
	}
	check(t, errors.Join(netns.Veth(ns, "eth0", ns, "peer0"), ns.Up("eth0"), ns.Up("peer0")))
	return true
}

// stage is where a page's examples run: a directory with its files and store.
type stage struct {
	dir, state string
	agent      func() agent.Status // of the running congctl
	alive      func(context.Context) error
	code       int // exit code of the last command
	running    bool
}

func newStage(t *testing.T, db []byte) *stage {
	t.Helper()
	// os/signal starts its goroutine at the first use; it must not be born in a bubble.
	c := make(chan os.Signal, 1)
	signal.Notify(c, unix.SIGUSR2)
	signal.Stop(c)
	state, err := os.MkdirTemp("", "d") // short: a socket's path has at most 107 bytes
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(state) })
	s := &stage{dir: t.TempDir(), state: state, agent: docsAgent, alive: func(context.Context) error { return nil }}
	if err := os.WriteFile(filepath.Join(state, "congctl.db"), db, 0o600); err != nil {
		t.Fatal(err)
	}
	docsFiles(t, s.dir, state)
	t.Chdir(s.dir)
	topSockets = docsSockets
	t.Cleanup(func() { topSockets = socketSource })
	return s
}

// play runs the blocks in order and returns those with examples, with their real output.
func (s *stage) play(t *testing.T, blocks []block) (played []block) {
	for _, b := range blocks {
		if _, name, ok := strings.Cut(b.info, " file="); ok {
			if err := os.WriteFile(filepath.Join(s.dir, filepath.Base(name)), []byte(strings.Join(b.body, "\n")+"\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			continue
		}
		if console, name, ok := strings.Cut(b.info, " host="); ok {
			onHost(t, hostOf(t, name))
			b.info = console
		}
		if !slices.Contains(consoles, b.info) {
			continue
		}
		b.examples = parseExamples(b)
		if b.info == "console qemu" { // a minute, and a kernel to boot: only the command lines are checked
			checkCommands(t, b.examples)
			continue
		}
		if b.info == "console root" && !ownNetwork(t) {
			checkCommands(t, b.examples)
			continue
		}
		s.withRunning(t, b.info == "console running", func() {
			for i := range b.examples {
				s.check(t, &b.examples[i])
			}
		})
		played = append(played, b)
	}
	return played
}

func checkCommands(t *testing.T, examples []example) {
	for _, e := range examples {
		if _, err := parseCommand(e.command); err != nil && e.command != "echo $?" {
			t.Errorf("line %d: %v", e.line, err)
		}
	}
}

// check runs one example and compares; with -rewrite-docs it takes the real output over.
func (s *stage) check(t *testing.T, e *example) {
	got, compare := s.perform(t, e)
	if !compare || matches(e.want, got) {
		return
	}
	if *rewriteDocs && !slices.Contains(e.want, elision) {
		e.want = got
		return
	}
	t.Errorf("line %d: $ %s\nthe page says:\n%s\nreally:\n%s", e.line, e.command, strings.Join(e.want, "\n"), strings.Join(got, "\n"))
}

// perform runs what may run here and returns its output; compare is false where
// the output is of this machine and only its head was checked, or nothing ran.
func (s *stage) perform(t *testing.T, e *example) (out []string, compare bool) {
	if e.command == "echo $?" {
		return []string{fmt.Sprint(s.code)}, true
	}
	c, err := parseCommand(e.command)
	if err != nil {
		t.Errorf("line %d: %v", e.line, err)
		return nil, false
	}
	if c.target != "" || c.args[0] == "up" { // needs root, and a host to itself
		return nil, false
	}
	text := s.congctl(t, c)
	if s.code != exitOK && !e.tellsCode {
		t.Errorf("line %d: $ %s\nexit code %d, and the page does not say so (\"$ echo $?\"):\n%s", e.line, e.command, s.code, text)
	}
	if c.file != "" {
		if err := os.WriteFile(filepath.Join(s.dir, filepath.Base(c.file)), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		text = ""
	}
	if c.pipe != "" {
		if _, err := exec.LookPath(strings.Fields(c.pipe)[0]); err != nil {
			return nil, false
		}
		text = through(t, text, c.pipe)
	}
	out = outputLines(text)
	if c.args[0] == "sockets" && s.code == exitOK { // of this machine
		if !sameHead(e.want, out) {
			t.Errorf("line %d: $ %s\nthe page begins with %q, really %q", e.line, e.command, firstLine(e.want), firstLine(out))
		}
		return nil, false
	}
	return out, true
}

// congctl runs one command on the page's store, never on this host's.
func (s *stage) congctl(t *testing.T, c command) string {
	args := slices.Clone(c.args)
	if !slices.Contains(args, "-c") {
		args = append(args, "-c", filepath.Join(s.dir, "congctl.yml"))
	} else if args[0] != "config" {
		t.Fatalf("$ congctl %s: only config may name a file: any other verb would use this host's store", strings.Join(args, " "))
	}
	var out bytes.Buffer
	act := func() { s.code = run(args, &out, &out) }
	if s.running || args[0] == "sockets" || args[0] == "host" {
		act()
	} else {
		synctest.Test(t, func(*testing.T) {
			time.Sleep(time.Until(docsNow)) // the examples run on one morning for ever
			act()
		})
	}
	return s.publicText(out.String())
}

// publicText puts the default paths and an ordinary name in place of this run's.
func (s *stage) publicText(text string) string {
	text = strings.ReplaceAll(text, filepath.Join(s.state, "s"), "/run/congctl/congctl.sock")
	text = strings.ReplaceAll(text, s.state, "/var/lib/congctl")
	text = strings.ReplaceAll(text, s.dir, "$PWD")
	if u, err := user.Current(); err == nil {
		text = strings.ReplaceAll(text, " by "+u.Username+", while nothing ran", " by root, while nothing ran")
		text = strings.ReplaceAll(text, fmt.Sprintf("%s (uid %s, pid %d)", u.Username, u.Uid, os.Getpid()), "root (uid 0, pid 4242)")
	}
	return text
}

func through(t *testing.T, text, command string) string {
	c := exec.Command("sh", "-c", command)
	c.Stdin = strings.NewReader(text)
	out, err := c.Output()
	if err != nil {
		t.Errorf("| %s: %v", command, err)
	}
	return string(out)
}

// withRunning runs fn while a controller answers on the page's socket.
func (s *stage) withRunning(t *testing.T, on bool, fn func()) {
	if !on {
		fn()
		return
	}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	store, err := sqlite.Open(ctx, filepath.Join(s.state, "congctl.db"), sqlite.Options{At: docsNow})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	c, err := docsController(ctx, store, slog.New(slog.DiscardHandler), func() time.Time { return docsNow })
	if err != nil {
		t.Fatal(err)
	}
	server, err := control.Listen(control.Options{Path: filepath.Join(s.state, "s"), Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	live := &controller.View{Controller: c, Agent: s.agent,
		Base: control.Status{Version: "devel", PoP: "ams1", PID: 4100, StartedUnixS: docsStart.Unix(), Tier: "full",
			TierReason: "sock_ops, marks, close records, and an iterator that gives stolen callbacks back"}}
	control.HandleView(server.Handler, live)
	control.HandleActions(server.Handler, live)
	control.HandleAlive(server.Handler, s.alive)
	done := make(chan error, 1)
	go func() { done <- server.Serve(ctx) }()
	s.running = true
	fn()
	s.running = false
	stop()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// docsAgent is what an agent of the imagined edge would say of itself.
func docsAgent() agent.Status {
	return agent.Status{
		Namespaces: []string{"own"}, DefaultCongs: []string{"cubic"}, Polls: 1440, Sockets: 4_318_200, InterruptedDumps: 2, Coverage: 1, CoverageOf: 1204,
		Plan: 9, InForce: 3, Alarms: []string{},
		Ledger: ledger.Stats{Live: 3012, Emitted: [3]uint64{133_870, 86_104, 12}},
	}
}
