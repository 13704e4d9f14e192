package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/congctl/congctl/internal/loop/control"
)

// fill takes all room of the file system of dir, until the result is called.
func fill(t testing.TB, dir string) (free func()) {
	t.Helper()
	f, err := os.Create(filepath.Join(dir, "fill"))
	check(t, err)
	for err == nil {
		_, err = f.Write(make([]byte, 4096))
	}
	if !errors.Is(err, unix.ENOSPC) {
		t.Fatal(err)
	}
	return func() { check(t, errors.Join(f.Close(), os.Remove(f.Name()))) }
}

// TestFullDisk: on a full disk `stop` holds, `resume` is refused, and `status` says what the kernel
// does, what the next start will do, and that rounds fail.
func TestFullDisk(t *testing.T) {
	e := newEdge(t, quickSettings())
	state := filepath.Join(e.dir, "state")
	check(t, os.MkdirAll(state, 0o700))
	self, err := os.Executable()
	check(t, err)
	e.program = func(args ...string) *exec.Cmd {
		cmd := program(args...)
		script := fmt.Sprintf(`mount -t tmpfs -o size=2m,mode=700 none %s && exec "$0" "$@"`, state)
		cmd.Args = append([]string{"unshare", "--mount", "sh", "-c", script, self}, args...)
		cmd.Path, err = exec.LookPath("unshare")
		check(t, err)
		return cmd
	}
	e.start()
	free := fill(t, fmt.Sprintf("/proc/%d/root%s", e.cmd.Process.Pid, state))
	if _, errs, code := e.verb("stop"); code != exitFailed || !strings.Contains(errs, "treatment is stopped, but the next start will not know of it") {
		t.Errorf("stop: exit code %d: %s", code, errs)
	}
	stopped := func(want, next bool) func(control.Status) bool {
		return func(s control.Status) bool {
			return s.Stopped == want && s.StoppedNext == next && s.Agent.Stopped == want
		}
	}
	e.awaitStatus("stopped, and not in the store", stopped(true, false))
	if _, errs, code := e.verb("resume"); code != exitFailed || !strings.Contains(errs, "treatment stays as it is") {
		t.Errorf("resume: exit code %d: %s", code, errs)
	}
	e.awaitStatus("still stopped, and rounds fail", func(s control.Status) bool {
		return stopped(true, false)(s) && slices.ContainsFunc(s.Agent.Alarms, func(a string) bool { return strings.HasPrefix(a, "round: ") })
	})
	if out, _, code := e.verb("status"); code != exitFailed || !strings.Contains(out, "yes, but the store does not say so: the next start treats") {
		t.Errorf("status: exit code %d:\n%s", code, out)
	}
	free()
	e.must("stop")
	e.awaitStatus("stopped, and in the store", stopped(true, true))
	e.must("resume")
	e.awaitStatus("resumed, and nothing fails", func(s control.Status) bool { return stopped(false, false)(s) && len(s.Agent.Alarms) == 0 })
	e.stop()
}
