package main

import (
	"errors"
	"math/rand/v2"
	"os"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/congctl/congctl/internal/loop/control"
	"github.com/congctl/congctl/internal/tcp/record"
)

// TestStopOfAStoppedProcess: `stop` comes back and says what holds; `stop --force` ends
// the process with its treatment, and the next start knows.
func TestStopOfAStoppedProcess(t *testing.T) {
	e := newEdge(t, quickSettings())
	from := client(e.networksIn(record.ArmTreatment, 1)[0], 1)
	e.keepPlan(e.planFor(prefixOf(t, from)))
	e.start()
	s := newServer(t)
	if got := s.transfer(from, large); got != "bbr" {
		t.Fatalf("before: %s", got)
	}

	e.pause()
	for verb, want := range map[string][]string{
		"stop":   {"did not answer within", "nothing was changed", "stopped by a signal", "treatment goes on, and ends at", "try: sudo congctl stop --force"},
		"resume": {"did not answer within", "nothing was changed", "stopped by a signal"},
		"status": {"did not answer within", "stopped by a signal"},
	} {
		began := time.Now()
		out, errs, code := e.verbWithin(control.DefaultTimeout, verb)
		t.Logf("%s took %s: %s", verb, time.Since(began).Round(time.Millisecond), errs)
		if code != exitFailed || out != "" {
			t.Errorf("%s: exit code %d: %s%s", verb, code, out, errs)
		}
		for _, w := range want {
			if !strings.Contains(errs, w) {
				t.Errorf("%s does not say %q: %s", verb, w, errs)
			}
		}
	}
	e.signal(syscall.SIGCONT)
	e.awaitActions(2)
	if s, err := e.status(); err != nil || s.Stopped || s.Agent.Stopped {
		t.Errorf("stopped after all: %+v, %v", s, err)
	}

	e.pause()
	ids := bpfOf(t, e.cmd.Process.Pid)
	out, errs, code := e.verb("stop", "--force")
	if code != exitOK || !strings.Contains(out, "recorded for the next start: no new connection is treated") {
		t.Errorf("--force: exit code %d: %s%s", code, out, errs)
	}
	if got := s.transfer(from, large); got != "cubic" { // detached by then; what was attached is freed a moment later
		t.Errorf("ended by force: a transfer ran %s", got)
	}
	eventually(t, "eBPF gone after --force", patience, func() bool { return ids.left() == 0 })
	e.ended()
	if out := e.must("stop"); !strings.Contains(out, "not running") { // its socket is still there
		t.Errorf("of a dead process: %s", out)
	}
	e.start()
	if s, err := e.status(); err != nil || !s.Stopped || !s.Agent.Stopped {
		t.Errorf("started after stop --force: %+v, %v", s, err)
	}
	e.stop()
	if out := e.must("stop", "--force"); !strings.Contains(out, "not running") {
		t.Errorf("--force where nothing runs: %s", out)
	}
	e.eventsHave("stop")
}

// TestStopWithAFaultyConfiguration: a file that `up` would refuse by now does not keep
// `stop` from the process; without its socket it can still be ended.
func TestStopWithAFaultyConfiguration(t *testing.T) {
	e := newEdge(t, quickSettings())
	e.start()
	f, err := os.OpenFile(e.configPath(), os.O_APPEND|os.O_WRONLY, 0)
	check(t, err)
	_, err = f.WriteString("\nwindw: 2m\n")
	check(t, errors.Join(err, f.Close()))
	out, errs, code := e.verb("stop")
	if code != exitOK || !strings.Contains(out, "no new connection is treated") || !strings.Contains(errs, "windw: unknown key") {
		t.Errorf("stop: exit code %d: %s%s", code, out, errs)
	}
	if s, err := e.status(); err != nil || !s.Stopped || !s.Agent.Stopped {
		t.Errorf("not stopped: %+v, %v", s, err)
	}
	check(t, os.Remove(e.socketPath()))
	if out, errs, code := e.verb("stop"); code != exitFailed || !strings.Contains(errs, "or sudo congctl stop --force\n") {
		t.Errorf("without a socket: exit code %d: %s%s", code, out, errs)
	}
	if out, errs, code := e.verb("stop", "--force"); code != exitOK || !strings.Contains(out, "was ended") {
		t.Errorf("--force: exit code %d: %s%s", code, out, errs)
	}
	e.ended()
}

// handled finds the line of the log that each action leaves, done or refused.
var handled = regexp.MustCompile(`no new treatment, by|treatment resumed by|, asked by`)

// awaitActions waits until the process has handled n actions.
func (e *edge) awaitActions(n int) {
	e.t.Helper()
	eventually(e.t, "actions handled", patience, func() bool { return len(handled.FindAllString(e.log.String(), -1)) >= n })
}

// triesEnv is how many requests each of the tests below makes; 10 without it.
const triesEnv = "CONGCTL_STOP_TRIES"

func tries(t *testing.T) int {
	n, err := strconv.Atoi(os.Getenv(triesEnv))
	if os.Getenv(triesEnv) == "" {
		return 10
	}
	check(t, err)
	return n
}

// TestNoLateStop stops the process by SIGSTOP at a moment before, in or after the request, each
// time another, and lets it go on once the client has its word: what was reported
// as not done must not be done then.
func TestNoLateStop(t *testing.T) {
	e := newEdge(t, quickSettings())
	e.start()
	e.judgeStops(t, func() (undo func()) {
		sent := make(chan struct{})
		at := time.AfterFunc(time.Duration(rand.Int64N(int64(2*time.Millisecond))), func() { e.signal(syscall.SIGSTOP); close(sent) })
		time.Sleep(time.Duration(rand.Int64N(int64(2 * time.Millisecond))))
		return func() {
			if !at.Stop() {
				<-sent // or it would follow the SIGCONT
			}
			e.signal(syscall.SIGCONT)
		}
	})
	e.stop()
}

// TestNoLateStopOfAStarvedProcess is the same for a process that runs for a moment
// at a time.
func TestNoLateStopOfAStarvedProcess(t *testing.T) {
	e := newEdge(t, quickSettings())
	e.start()
	e.judgeStops(t, func() (undo func()) {
		end, ended := make(chan struct{}), make(chan struct{})
		e.signal(syscall.SIGSTOP)
		go func() {
			defer close(ended)
			for {
				select {
				case <-end:
					return
				case <-time.After(time.Duration(rand.Int64N(int64(600 * time.Millisecond)))):
				}
				e.signal(syscall.SIGCONT)
				time.Sleep(time.Duration(rand.Int64N(int64(200 * time.Microsecond))))
				e.signal(syscall.SIGSTOP)
			}
		}()
		return func() {
			close(end)
			<-ended
			e.signal(syscall.SIGCONT)
		}
	})
	e.stop()
}

// judgeStops asks often for a stop while disturb has its way, and compares the
// client's word with what became of it.
func (e *edge) judgeStops(t *testing.T, disturb func() (undo func())) {
	t.Helper()
	done, not, unknown, asked, slowest := 0, 0, 0, 0, time.Duration(0)
	c := control.NewClient(e.socketPath())
	for range tries(t) {
		c.Timeout = 500 * time.Millisecond
		undo := disturb()
		began := time.Now()
		err := c.Stop(t.Context(), false, "")
		slowest = max(slowest, time.Since(began))
		undo()
		asked++
		e.awaitActions(asked)
		s, statusErr := e.status()
		check(t, statusErr)
		var silent *control.NoAnswer
		switch {
		case err == nil:
			done++
			if !s.Stopped || !s.Agent.Stopped {
				t.Errorf("reported as done, and is not")
			}
		case !errors.As(err, &silent):
			t.Errorf("stop: %v", err)
		case silent.Taken:
			unknown++
		default:
			not++
			if s.Stopped || s.Agent.Stopped {
				t.Errorf("reported as not done, and was done later: %v", err)
			}
		}
		c.Timeout = patience
		check(t, c.Resume(t.Context(), ""))
		asked++
	}
	t.Logf("of %d stops: %d done, %d not done, %d unknown; the slowest answer after %s", done+not+unknown, done, not, unknown, slowest.Round(time.Millisecond))
}

// TestStatusWaits: a script that starts congctl knows by one command when it treats.
func TestStatusWaits(t *testing.T) {
	e := newEdge(t, quickSettings())
	from := client(e.networksIn(record.ArmTreatment, 1)[0], 1)
	e.keepPlan(e.planFor(prefixOf(t, from)))
	s := newServer(t)
	e.launch()
	if out, errs, code := e.verb("status", "--wait", patience.String()); code != exitOK || !strings.Contains(out, "0 of the 20 that a decision needs") {
		t.Errorf("exit code %d: %s%s", code, out, errs)
	}
	if got := s.transfer(from, large); got != "bbr" {
		t.Errorf("ready, and a transfer ran %s", got)
	}
	e.stop()
}
