package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/congctl/congctl/internal/app/control"
)

// window is the measuring window of the demo, 3 s in place of 5 min; all of
// congctl's durations shrink alike.
const (
	window = 3 * time.Second
	block  = 6 * window // congctl's own proportion
)

// daemon is the real `congctl up` on the edge, and its verbs.
type daemon struct {
	*child
	binary, config, log string
	client              *control.Client
	ready               bool // it has answered
}

// up starts congctl on the edge with a configuration of its own and waits until it answers.
func (e *edge) up(ctx context.Context, binary, dir string) (*daemon, error) {
	d := &daemon{binary: binary, config: filepath.Join(dir, "congctl.yml"), log: filepath.Join(dir, "log")}
	socket := filepath.Join(dir, "socket")
	if err := os.WriteFile(d.config, []byte(e.configText(dir, socket)), 0o600); err != nil {
		return nil, fmt.Errorf("write configuration: %w", err)
	}
	log, err := os.Create(d.log)
	if err != nil {
		return nil, fmt.Errorf("write log: %w", err)
	}
	defer log.Close()
	cmd := exec.Command(binary, "up", "--config", d.config)
	cmd.Stdout, cmd.Stderr = log, log
	if d.child, err = e.spawn(cmd); err != nil {
		return nil, err
	}
	d.client = control.NewClient(socket)
	return d, d.answers(ctx)
}

// answers waits for the socket. A daemon that ended says why in its log.
func (d *daemon) answers(ctx context.Context) error {
	const patience = 10 * time.Second
	for end := time.Now().Add(patience); time.Now().Before(end); {
		if _, err := d.client.Status(ctx); err == nil {
			d.ready = true
			return nil
		}
		if !sleep(ctx, 100*time.Millisecond) {
			return ctx.Err()
		}
	}
	return fmt.Errorf("start congctl up: no answer within %s; it says:\n%s", patience, d.tail())
}

// tail is the end of the log.
func (d *daemon) tail() string {
	b, _ := os.ReadFile(d.log)
	lines := strings.Split(strings.TrimSpace(string(b)), "\n")
	return strings.Join(lines[max(0, len(lines)-20):], "\n")
}

// configText is the whole configuration: what it does not name has its default.
func (e *edge) configText(dir, socket string) string {
	var b bytes.Buffer
	set := func(format string, a ...any) { fmt.Fprintf(&b, format+"\n", a...) }
	set("pop: demo\nstate_dir: %s\nsocket: %s", dir, socket)
	set("cgroup: %s", e.Cgroup.Path)
	set("window: %s\npoll: 500ms", window)
	set("treatment:\n  cong: %s\n  default_cong: %s", treatment, defaultCong)
	set("experiment:\n  mode: \"off\"")
	set("policy:\n  guards:\n    low_rtt: false")
	set("plan:\n  deny: [%s]", e.deniedNetwork())
	// Neighbours on this machine must not end the show.
	set("starved:\n  steal_share: 1\n  run_queue_per_cpu: 1000")
	return b.String()
}

func (e *edge) deniedNetwork() netip.Prefix {
	for _, n := range e.list {
		if n.denied {
			return n.prefix
		}
	}
	return netip.Prefix{}
}

// verb runs a verb of congctl and gives what it prints.
func (d *daemon) verb(ctx context.Context, args ...string) (string, error) {
	cmd := d.command(ctx, args...)
	out, err := cmd.Output()
	return text(args, out, err)
}

// verbInside runs a verb in the edge's namespace.
func (e *edge) verbInside(ctx context.Context, d *daemon, args ...string) (string, error) {
	var out []byte
	err := e.Edge.Do(func() (err error) {
		out, err = d.command(ctx, args...).Output()
		return err
	})
	return text(args, out, err)
}

func (d *daemon) command(ctx context.Context, args ...string) *exec.Cmd {
	return exec.CommandContext(ctx, d.binary, append(args, "--config", d.config)...)
}

func text(args []string, out []byte, err error) (string, error) {
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		err = fmt.Errorf("congctl %s: %w: %s", strings.Join(args, " "), err, bytes.TrimSpace(exit.Stderr))
	}
	return string(out), err
}
