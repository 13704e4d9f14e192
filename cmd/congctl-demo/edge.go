package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"

	"github.com/congctl/congctl/internal/kernel/netns"
)

const tag = "demo" // of namespaces and the cgroup: congctl-demo-PID-...

// edge is the stage: the networks, and the server inside.
type edge struct {
	*netns.Rig
	list   []network
	netem  bool
	loaded []string // congestion controls whose module came for us
	server *child
}

// raise builds the networks and starts the server. each gets every response.
func raise(list []network, each func(response)) (e *edge, err error) {
	if _, err := netns.Sweep(tag); err != nil { // of a run that was killed outright
		return nil, fmt.Errorf("sweep an earlier run: %w", err)
	}
	loaded, err := haveCongs()
	if err != nil {
		return nil, err
	}
	netem, err := netns.HasNetem()
	if err != nil {
		return nil, fmt.Errorf("try netem: %w", err)
	}
	rig, err := netns.Build(spec(tag, list, netem))
	if err != nil {
		return nil, err
	}
	e = &edge{Rig: rig, list: list, netem: netem, loaded: loaded}
	if err := e.startServer(each); err != nil {
		return nil, errors.Join(err, e.Close())
	}
	return e, nil
}

func (e *edge) startServer(each func(response)) error {
	cmd := exec.Command("/proc/self/exe", "serve")
	out, err := cmd.StdoutPipe()
	if err != nil {
		return fmt.Errorf("start server: %w", err)
	}
	cmd.Stderr = os.Stderr
	if e.server, err = e.spawn(cmd); err != nil {
		return err
	}
	lines := bufio.NewScanner(out)
	if !lines.Scan() || lines.Text() != readyLine {
		return fmt.Errorf("start server: it says %q", lines.Text())
	}
	e.server.reading.Go(func() { readResponses(lines, each) })
	return nil
}

func readResponses(lines *bufio.Scanner, each func(response)) {
	for lines.Scan() {
		var r response
		if json.Unmarshal(lines.Bytes(), &r) == nil {
			each(r)
		}
	}
}

// load sets every network to work until ctx ends.
func (e *edge) load(ctx context.Context) *load {
	l := &load{}
	for i, n := range e.list {
		l.start(ctx, i, n, e.Clients[i])
	}
	return l
}

// child is a process of ours on the edge.
type child struct {
	cmd     *exec.Cmd
	reading sync.WaitGroup // readers of its output
}

// spawn starts a process in the edge's namespace and the demo's cgroup. It has a
// process group of its own, so that Ctrl-C comes to us and we end it in order;
// should we be killed outright, the kernel ends it.
func (e *edge) spawn(cmd *exec.Cmd) (*child, error) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	if err := e.Start(e.Edge, cmd); err != nil {
		return nil, err
	}
	return &child{cmd: cmd}, nil
}

// end asks a child to stop, waits, and kills it after the grace.
func (c *child) end(grace time.Duration) error {
	if c == nil {
		return nil
	}
	_ = c.cmd.Process.Signal(syscall.SIGTERM) // it may have ended
	kill := time.AfterFunc(grace, func() { _ = c.cmd.Process.Kill() })
	defer kill.Stop()
	c.reading.Wait() // before Wait, which closes the pipe
	return c.cmd.Wait()
}

// Close ends the server and takes the networks down.
func (e *edge) Close() error {
	if e.server != nil {
		_ = e.server.end(2 * time.Second)
	}
	return e.Rig.Close()
}
