package main

import (
	"bytes"
	"context"
	"errors"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/congctl/congctl/internal/loop/agent"
)

// TestStatusCodes: the exit code is that of systemctl, for a table and for JSON.
func TestStatusCodes(t *testing.T) {
	s := newStage(t, docsDB(t))
	healthy := docsAgent()
	alarmed, unpolled := healthy, healthy
	alarmed.Alarms = []string{"theft: by x", "coverage: 71 %"}
	unpolled.Polls = 0
	for _, c := range []struct {
		name    string
		running bool
		agent   agent.Status
		args    string
		code    int
		says    string
	}{
		{"healthy", true, healthy, "", exitOK, ""},
		{"healthy, waited for", true, healthy, "--wait 1m", exitOK, ""},
		{"alarms", true, alarmed, "", exitFailed, "alarms: 2\ntry: congctl events"},
		{"not polled", true, unpolled, "", exitOK, ""},
		{"not polled, waited for", true, unpolled, "--wait 300ms", exitFailed, "within 300ms it has not polled"},
		{"down", false, healthy, "", exitDown, "no congctl is running here\ntry: sudo congctl up"},
		{"down, waited for", false, healthy, "--wait 300ms", exitDown, "within 300ms"},
		{"bad time", false, healthy, "--wait -1s", exitUsage, "--wait -1s"},
	} {
		for _, format := range []string{"table", "json"} {
			s.agent = func() agent.Status { return c.agent }
			var out, errs bytes.Buffer
			s.withRunning(t, c.running, func() {
				args := append(strings.Fields("status "+c.args), "-c", filepath.Join(s.dir, "congctl.yml"), "-o", format)
				s.code = run(args, &out, &errs)
			})
			if s.code != c.code || !strings.Contains(errs.String(), c.says) || (c.code == exitUsage) != (out.Len() == 0) {
				t.Errorf("%s, %s: exit code %d, want %d and %q: %s%s", c.name, format, s.code, c.code, c.says, out.String(), errs.String())
			}
		}
	}
}

// TestStatusAlive: the code is whether the process does its work, alarms or not, and nothing is printed but why not.
func TestStatusAlive(t *testing.T) {
	s := newStage(t, docsDB(t))
	alarmed := docsAgent()
	alarmed.Alarms = []string{"theft: by x"}
	s.agent = func() agent.Status { return alarmed }
	for _, c := range []struct {
		name    string
		running bool
		fault   error
		args    string
		code    int
		says    string
	}{
		{"alive", true, nil, "", exitOK, ""},
		{"hangs", true, errors.New("poll sockets: the last was 90s ago"), "", exitFailed, "poll sockets: the last was 90s ago"},
		{"down", false, nil, "", exitDown, "no congctl is running here"},
		{"with a wait", true, nil, "--wait 1s", exitUsage, "alive"},
		{"of a PoP", true, nil, "--pop chi", exitUsage, "alive"},
	} {
		s.alive = func(context.Context) error { return c.fault }
		var out, errs bytes.Buffer
		s.withRunning(t, c.running, func() {
			s.code = run(append(strings.Fields("status --alive "+c.args), "-c", filepath.Join(s.dir, "congctl.yml")), &out, &errs)
		})
		if s.code != c.code || out.Len() > 0 || !strings.Contains(errs.String(), c.says) {
			t.Errorf("%s: exit code %d, want %d and %q: %s%s", c.name, s.code, c.code, c.says, out.String(), errs.String())
		}
	}
}

// TestStatusKeepsTheAnswer: a congctl that has answered, and is slow when the wait is over, has answered.
func TestStatusKeepsTheAnswer(t *testing.T) {
	s := newStage(t, docsDB(t))
	unpolled := docsAgent()
	unpolled.Polls = 0
	var asked atomic.Int32
	over := make(chan struct{})
	s.agent = func() agent.Status {
		if asked.Add(1) > 1 {
			<-over
		}
		return unpolled
	}
	var out, errs bytes.Buffer
	s.withRunning(t, true, func() {
		s.code = run([]string{"status", "--wait", "1s", "-c", filepath.Join(s.dir, "congctl.yml")}, &out, &errs)
		close(over)
	})
	if s.code != exitFailed || out.Len() == 0 || !strings.Contains(errs.String(), "within 1s it has not polled") {
		t.Errorf("exit code %d: %s%s", s.code, out.String(), errs.String())
	}
}
