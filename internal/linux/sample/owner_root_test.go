package sample

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/congctl/congctl/internal/linux/nsthread"
)

// unshared starts a command that ends in its own network namespace, and returns the process. It
// skips where the user 65534 may make no user namespace.
func unshared(t *testing.T, command ...string) (pid int) {
	t.Helper()
	own, _ := inode(nsthread.Own)
	cmd := exec.Command(command[0], append(command[1:], "sleep", "60")...)
	var said strings.Builder
	cmd.Stderr = &said
	if err := cmd.Start(); err != nil {
		t.Skipf("needs util-linux: %v; minimum kernel 4.9", err)
	}
	ended := make(chan struct{})
	go func() { _ = cmd.Wait(); close(ended) }()
	t.Cleanup(func() { _ = cmd.Process.Kill(); <-ended })
	for {
		select {
		case <-ended:
			t.Skipf("an ordinary user may make no user namespace here: %s; minimum kernel 4.9", said.String())
		default:
		}
		comm, _ := os.ReadFile(fmt.Sprintf("/proc/%d/comm", cmd.Process.Pid))
		if ino, err := inode(processNetns(cmd.Process.Pid)); err == nil && ino != own && string(comm) == "sleep\n" {
			return cmd.Process.Pid
		}
		runtime.Gosched()
	}
}

// nobody runs a command as an ordinary user without groups.
func nobody(command ...string) []string {
	return append([]string{"setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups", "--"}, command...)
}

// mountAt makes a process's network namespace reachable at path, as `ip netns attach` does.
func mountAt(t *testing.T, path string, pid int) {
	t.Helper()
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := unix.Mount(processNetns(pid), path, "none", unix.MS_BIND, ""); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.Unmount(path, unix.MNT_DETACH); _ = os.Remove(path) })
}

// TestOnlyOurUsersNamespacesAreTrusted reaches network namespaces of several owners by every kind of name.
func TestOnlyOurUsersNamespacesAreTrusted(t *testing.T) {
	needRoot(t, "it makes network namespaces of other users and enters them")
	if os.Mkdir(namedDir, 0o755) == nil {
		t.Cleanup(func() { os.Remove(namedDir) })
	}
	for what, c := range map[string]struct {
		command []string
		trusted bool
	}{
		"the host's root":        {[]string{"unshare", "-n"}, true},
		"an ordinary user's":     {nobody("unshare", "-Urn"), false},
		"made by that one later": {nobody("unshare", "-Ur", "unshare", "-n"), false},
		"nested":                 {nobody("unshare", "-Ur", "unshare", "-Urn"), false},
		"root's user namespace":  {[]string{"unshare", "-Urn"}, false},
	} {
		t.Run(what, func(t *testing.T) {
			pid := unshared(t, c.command...)
			ino, err := inode(processNetns(pid))
			if err != nil {
				t.Fatal(err)
			}
			mounted := filepath.Join(t.TempDir(), "ns")
			mountAt(t, mounted, pid)
			linked := filepath.Join(t.TempDir(), "link")
			if err := os.Symlink(processNetns(pid), linked); err != nil {
				t.Fatal(err)
			}
			named := fmt.Sprintf("congctl-test-%d", pid)
			mountAt(t, filepath.Join(namedDir, named), pid)
			for _, names := range [][]string{{All}, {Own, processNetns(pid)}, {Own, mounted}, {Own, linked}, {Own, named}} {
				s, err := OpenTrusted(names...)
				if err != nil && !slices.Contains(names, All) {
					t.Fatal(err)
				}
				change, _ := s.Refresh()
				open := slices.ContainsFunc(s.All(), func(n *Namespace) bool { return n.Inode == ino })
				if open != c.trusted || s.All()[0].Name != Own {
					t.Errorf("%v: open %v, want %v; all %d", names, open, c.trusted, len(s.All()))
				}
				if cut := len(change.NotTrusted) > 0; !cut && !c.trusted || cut && c.trusted && names[0] != All {
					t.Errorf("%v: left out %q", names, change.NotTrusted)
				}
				s.Close()
				if s, _ := OpenNamespaces(names...); !slices.ContainsFunc(s.All(), func(n *Namespace) bool { return n.Inode == ino }) {
					t.Errorf("%v: not even without the question of trust", names)
				} else {
					s.Close()
				}
			}
		})
	}
}

// TestOwnIsTrusted: where congctl was started in another's namespace, that one is its own.
func TestOwnIsTrusted(t *testing.T) {
	needRoot(t, "it enters a network namespace of another user")
	pid := unshared(t, nobody("unshare", "-Urn")...)
	fd, err := unix.Open(processNetns(pid), unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	err = nsthread.Run(fd, func() error {
		s, err := OpenTrusted(Own)
		if err == nil && len(s.All()) != 1 {
			t.Errorf("%d namespaces", len(s.All()))
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}
