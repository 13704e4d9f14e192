package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"testing"

	"github.com/congctl/congctl/internal/linux/cgroup"
)

// This binary plays several parts. With asEnv=program it is the real program, so
// that tests start the real `up` as a process of its own. As root the tests run in
// a child that has a network namespace and a cgroup of its own: what `up` attaches
// sees only their connections.
const (
	asEnv     = "CONGCTL_TEST_AS"
	cgroupEnv = "CONGCTL_TEST_CGROUP"
)

func TestMain(m *testing.M) {
	switch as := os.Getenv(asEnv); {
	case as == "program":
		main()
	case as != "":
		os.Exit(play(as))
	case os.Geteuid() != 0 || os.Getenv(cgroupEnv) != "" || os.Getenv(labCacheEnv) != "":
		os.Exit(m.Run())
	}
	if _, err := cgroup.Root(); err != nil {
		os.Exit(m.Run()) // what needs it skips
	}
	code, err := inCgroup()
	if err != nil {
		fmt.Println("prepare root tests:", err)
		code = 1
	}
	os.Exit(code)
}

func inCgroup() (code int, err error) {
	cg, err := newCgroup(fmt.Sprintf("congctl-test-%d", os.Getpid()))
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, cg.Close()) }()
	cmd := exec.Command("/proc/self/exe", os.Args[1:]...)
	cmd.Env = append(os.Environ(), cgroupEnv+"="+cg.Path)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET, Unshareflags: syscall.CLONE_NEWNS, UseCgroupFD: true, CgroupFD: cg.Fd(), Pdeathsig: syscall.SIGKILL}
	err = cmd.Run()
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		return exit.ExitCode(), nil
	}
	return 0, err
}

func needRoot(t testing.TB) {
	t.Helper()
	if os.Getenv(cgroupEnv) == "" {
		t.Skip("needs root: starts the real `congctl up` in a network namespace and a cgroup2 of its own; minimum kernel 5.15")
	}
}

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// play is what a child process of a test does besides being the program.
func play(part string) int {
	parts := map[string]func() error{"acceptlog": keepAcceptLog, "panic": panicOnScreen, "crowd": holdCrowd, "island": liveOnIsland, "here": become, "untraced": runUntraced, "cache": runCache, "enemies": attack}
	if err := parts[part](); err != nil {
		fmt.Fprintln(os.Stderr, part+":", err)
		return 1
	}
	return 0
}

func notShort(t testing.TB, why string) {
	t.Helper()
	if testing.Short() {
		t.Skip("slow: " + why + "; no minimum kernel")
	}
}
