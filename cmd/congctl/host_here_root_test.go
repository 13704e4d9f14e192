package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

const hereEnv = "CONGCTL_TEST_HERE"

// become takes away what the words of hereEnv name, and turns into the program. It is in
// namespaces of its own, in which /etc is read-only and nothing runs as init.
func become() error {
	runtime.LockOSThread() // capabilities belong to a thread
	if err := errors.Join(
		unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""),
		unix.Mount("none", "/run", "tmpfs", 0, ""), readOnlyMount("/etc")); err != nil {
		return fmt.Errorf("prepare: %w", err)
	}
	lo, err := netlink.LinkByName("lo")
	if err = errors.Join(err, netlink.LinkSetUp(lo)); err != nil {
		return err
	}
	for _, word := range strings.Fields(os.Getenv(hereEnv)) {
		if err := lacking(word); err != nil {
			return fmt.Errorf("%s: %w", word, err)
		}
	}
	if err := os.Setenv(asEnv, "program"); err != nil {
		return err
	}
	return syscall.Exec("/proc/self/exe", os.Args, os.Environ())
}

func lacking(word string) error {
	name, value, _ := strings.Cut(word, "=")
	switch name {
	case "cong":
		return os.WriteFile("/proc/sys/net/ipv4/tcp_congestion_control", []byte(value), 0)
	case "read-only":
		return readOnlyMount(value)
	case "no-net-admin":
		return unix.Prctl(unix.PR_CAPBSET_DROP, unix.CAP_NET_ADMIN, 0, 0, 0)
	case "nobody":
		return syscall.Setresuid(65534, 65534, 65534)
	}
	return errors.New("no such word")
}

func readOnlyMount(dir string) error {
	return errors.Join(unix.Mount(dir, dir, "", unix.MS_BIND|unix.MS_REC, ""), unix.Mount("", dir, "", unix.MS_BIND|unix.MS_REMOUNT|unix.MS_RDONLY, ""))
}

// TestHostHere: where something is missing, it is named, with who can grant it, and the
// value stays; what needs nothing is done by anybody.
func TestHostHere(t *testing.T) {
	needRoot(t)
	hidden, shown := t.TempDir(), t.TempDir()
	check(t, errors.Join(os.Chmod(hidden, 0o700), os.Chmod(shown, 0o755)))
	for _, c := range []struct {
		here, words string
		code        int
		says        []string
	}{
		{"cong=reno no-net-admin", "host enable bbr", 4, []string{"missing: root has no CAP_NET_ADMIN here", "docker run --cap-add NET_ADMIN", "nothing was changed"}},
		{"cong=reno nobody", "host enable bbr", 4, []string{"missing: user 65534 may not change network settings (no CAP_NET_ADMIN)", "run it as root: sudo congctl host enable bbr"}},
		{"cong=reno nobody", "host enable bbr --changes " + hidden, 4, []string{"missing: user 65534", "run it as root"}},
		{"cong=reno nobody", "host enable bbr --dry-run", 0, []string{"sysctl  net.ipv4.tcp_congestion_control  reno  bbr", "note: root: user 65534 may not", "nothing was"}},
		{"cong=reno read-only=/proc/sys", "host enable bbr", 4, []string{"missing: /proc/sys is mounted read-only", "net.ipv4.tcp_congestion_control=bbr"}},
		{"cong=bbr read-only=/proc/sys", "host enable bbr --dry-run", 0, []string{"BBR is on already"}},
		{"cong=bbr nobody", "host enable bbr", 0, []string{"BBR is on already", "a new connection to 127.0.0.1 bbr"}},
		{"cong=reno read-only=" + shown, "host enable bbr --changes " + shown + "/changes", 4,
			[]string{"missing: no journal can be kept in " + shown + "/changes: read-only file system", "--changes DIR"}},
		{"cong=reno no-net-admin", "host check", 1, []string{"may-change", "root without CAP_NET_ADMIN", "docker run --cap-add NET_ADMIN"}},
		{"cong=reno nobody", "host check", 1, []string{"this is user 65534 without CAP_NET_ADMIN", "run it as root: sudo congctl host check"}},
		{"cong=reno read-only=/proc/sys", "host check", 1, []string{"/proc/sys is mounted read-only", "docker run --sysctl net.ipv4.tcp_congestion_control=bbr"}},
		{"nobody", "host disable --changes " + hidden, 1, []string{hidden + ": permission denied", "try: sudo congctl host disable"}},
	} {
		out, code := here(t, c.here, strings.Fields(c.words))
		for _, s := range c.says {
			if code != c.code || !strings.Contains(out, s) {
				t.Errorf("%s: congctl %s: exit %d, wanted %d with %q\n%s", c.here, c.words, code, c.code, s, out)
				break
			}
		}
	}
	for _, dir := range []string{hidden, shown} {
		if left, _ := filepath.Glob(dir + "/*"); len(left) > 0 {
			t.Errorf("left: %v", left)
		}
	}
}

// here runs the program in namespaces of its own.
func here(t *testing.T, words string, args []string) (out string, code int) {
	t.Helper()
	cmd := exec.Command("/proc/self/exe", args...)
	var b bytes.Buffer
	cmd.Stdout, cmd.Stderr = &b, &b
	cmd.Env = append(os.Environ(), asEnv+"=here", hereEnv+"="+words)
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET | syscall.CLONE_NEWNS, Pdeathsig: syscall.SIGKILL}
	err := cmd.Run()
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return b.String(), cmd.ProcessState.ExitCode()
}
