package instance

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

const holdEnv = "CONGCTL_TEST_HOLD"

// TestMain: with holdEnv this binary takes the lock of that directory and waits.
func TestMain(m *testing.M) {
	dir := os.Getenv(holdEnv)
	if dir == "" {
		os.Exit(m.Run())
	}
	l, err := Acquire(dir)
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	fmt.Println("held")
	time.Sleep(time.Hour) // not select {}, which Go ends as a deadlock
	l.Release()
}

func holder(t *testing.T, dir string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = append(os.Environ(), holdEnv+"="+dir)
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "held\n" {
		t.Fatalf("%q, %v", line, err)
	}
	return cmd
}

// TestKillStopped: the process is found, seen to be stopped, and ended; then the lock is free.
func TestKillStopped(t *testing.T) {
	dir := t.TempDir()
	cmd := holder(t, dir)
	if err := cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	for range 60_000 { // the signal is heeded soon
		if State(cmd.Process.Pid) == "stopped by a signal" {
			break
		}
		time.Sleep(time.Millisecond)
	}
	h, err := Find(dir)
	if err != nil || h.PID != cmd.Process.Pid {
		t.Fatalf("found %+v, %v", h, err)
	}
	defer h.Close()
	if err := h.Kill(time.Minute); err != nil {
		t.Fatal(err)
	}
	l, err := Acquire(dir)
	if err != nil {
		t.Fatal(err)
	}
	l.Release()
	if err := h.Kill(time.Minute); err != nil {
		t.Errorf("a second time: %v", err)
	}
	if _, err := Find(dir); !errors.Is(err, ErrFree) {
		t.Errorf("found after its end: %v", err)
	}
}

func TestStillThereNamesOnlyAKnownState(t *testing.T) {
	for state, want := range map[string]string{"": "it has not within 5s", "x": "it has not within 5s (x)"} {
		if got := stillThere(7, 5*time.Second, state).Error(); !strings.HasSuffix(got, want) {
			t.Errorf("%q: %s", state, got)
		}
	}
}

// TestInnocentIsNotFound: a process that the file names and that does not hold the
// lock is not the one: not with the file open, and not with a lock on another file.
func TestInnocentIsNotFound(t *testing.T) {
	dir := t.TempDir()
	if _, err := Find(dir); !errors.Is(err, ErrFree) {
		t.Errorf("no file: %v", err)
	}
	path := filepath.Join(dir, "lock")
	write := func(text string) {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	other := holder(t, t.TempDir())
	write(fmt.Sprintf("%d\n", other.Process.Pid))
	if _, err := Find(dir); !errors.Is(err, ErrFree) {
		t.Errorf("lock of another directory: %v", err)
	}
	if err := other.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	for range 60_000 { // dead, and not yet collected
		if State(other.Process.Pid) == uncollected {
			break
		}
		time.Sleep(time.Millisecond)
	}
	if _, err := Find(dir); !errors.Is(err, ErrFree) {
		t.Errorf("dead: %v", err)
	}
	write(fmt.Sprintf("%d\n", os.Getpid()))
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := Find(dir); !errors.Is(err, ErrFree) {
		t.Errorf("open without a lock: %v", err)
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_SH); err != nil {
		t.Fatal(err)
	}
	if _, err := Find(dir); !errors.Is(err, ErrFree) {
		t.Errorf("shared lock: %v", err)
	}
	for _, text := range []string{"", "x", "-1", "0"} {
		write(text)
		if _, err := Find(dir); !errors.Is(err, ErrFree) {
			t.Errorf("%q: %v", text, err)
		}
	}
}
