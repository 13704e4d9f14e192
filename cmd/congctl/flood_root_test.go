package main

import (
	"errors"
	"net"
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// TestFloodOfTheSocket holds 10,000 connections to the control socket of an `up` that may open
// 1,024 files: it goes on polling, and `stop` is carried out.
func TestFloodOfTheSocket(t *testing.T) {
	e := newEdge(t, quickSettings())
	self, err := os.Executable()
	check(t, err)
	e.program = func(args ...string) *exec.Cmd {
		cmd := program(args...)
		cmd.Args = append([]string{"prlimit", "--nofile=1024:1024", self}, args...)
		cmd.Path, err = exec.LookPath("prlimit")
		check(t, err)
		return cmd
	}
	var limit unix.Rlimit
	check(t, unix.Getrlimit(unix.RLIMIT_NOFILE, &limit))
	flood := min(10_000, int(limit.Cur)/2)
	e.start()
	for range flood {
		eventually(t, "a connection of the flood", patience, func() bool {
			c, err := net.Dial("unix", e.socketPath())
			if errors.Is(err, syscall.EAGAIN) {
				time.Sleep(time.Millisecond)
				return false
			}
			check(t, err)
			t.Cleanup(func() { c.Close() })
			return true
		})
	}
	began := time.Now()
	out, errs, code := e.verbWithin(20*time.Second, "stop")
	t.Logf("stop behind %d connections took %s: %s", flood, time.Since(began).Round(time.Millisecond), out)
	if code != exitOK {
		t.Errorf("exit code %d: %s%s", code, out, errs)
	}
	s, err := e.status()
	if err != nil || !s.Stopped || !s.Agent.Stopped || len(s.Agent.Alarms) > 0 {
		t.Errorf("%+v, %v", s, err)
	}
	e.stop()
}
