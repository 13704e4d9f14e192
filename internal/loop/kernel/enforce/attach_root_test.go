package enforce

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// TestCgroupMadeAgain removes the cgroup that the program is attached to, or one above it, while a socket of it lives
// on or none does, and makes it again.
func TestCgroupMadeAgain(t *testing.T) {
	needRoot(t)
	for name, below := range map[string]string{"itself": "", "one above": "service"} {
		for _, alive := range []bool{false, true} {
			t.Run(name, func(t *testing.T) {
				top, err := os.MkdirTemp(os.Getenv(cgroupEnv), "again-")
				check(t, err)
				path := filepath.Join(top, below)
				t.Cleanup(func() { os.Remove(path); os.Remove(top) })
				check(t, os.MkdirAll(path, 0o755))
				e, err := Open(Options{Cgroup: path, MinBytes: 1000, MaxPlanned: 10, RingBytes: 1 << 18})
				check(t, err)
				t.Cleanup(func() { e.Close() })
				expect := func(what string, again bool, text string) {
					t.Helper()
					got, err := e.Attached()
					if got != again || (err == nil) != (text == "") || err != nil && !strings.Contains(err.Error(), text) {
						t.Errorf("%s, a socket alive %v: %v, %v", what, alive, got, err)
					}
				}
				expect("at first", false, "")
				if alive {
					heldIn(t, path)
				}
				check(t, unix.Rmdir(path))
				expect("removed", false, path+" was removed")
				expect("still removed", false, path+" was removed")
				if below != "" {
					check(t, unix.Rmdir(top))
					expect("with all above it", false, path+" was removed")
				}
				check(t, os.MkdirAll(path, 0o755))
				expect("made again", true, "")
				expect("after that", false, "")
				check(t, unix.Rmdir(path))
				check(t, os.MkdirAll(path, 0o755))
				expect("made again between two looks", true, "")
				expect("after that", false, "")
			})
		}
	}
}

// TestCgroupReplaced: the path leads to another cgroup, or out of the hierarchy.
func TestCgroupReplaced(t *testing.T) {
	needRoot(t)
	one, err := os.MkdirTemp(os.Getenv(cgroupEnv), "one-")
	check(t, err)
	two, err := os.MkdirTemp(os.Getenv(cgroupEnv), "two-")
	check(t, err)
	t.Cleanup(func() { os.Remove(one); os.Remove(two) })
	link := filepath.Join(t.TempDir(), "cgroup")
	check(t, os.Symlink(one, link))
	e, err := Open(Options{Cgroup: link, MinBytes: 1000, MaxPlanned: 10, RingBytes: 1 << 18})
	check(t, err)
	t.Cleanup(func() { e.Close() })
	point := func(to string) { check(t, os.Remove(link)); check(t, os.Symlink(to, link)) }
	point(two)
	if again, err := e.Attached(); !again || err != nil {
		t.Errorf("another cgroup: %v, %v", again, err)
	}
	point(t.TempDir())
	if again, err := e.Attached(); again || err == nil || !strings.Contains(err.Error(), "not on a cgroup2 file system") {
		t.Errorf("no cgroup: %v, %v", again, err)
	}
	point(two)
	if again, err := e.Attached(); again || err != nil {
		t.Errorf("back: %v, %v", again, err)
	}
}

// heldIn keeps a socket alive that was made in a cgroup, and so the removed cgroup's programs.
func heldIn(t *testing.T, path string) {
	t.Helper()
	enter := func(path string) {
		check(t, os.WriteFile(filepath.Join(path, "cgroup.procs"), []byte("0"), 0))
	}
	enter(path)
	defer enter(os.Getenv(cgroupEnv))
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	check(t, err)
	t.Cleanup(func() { unix.Close(fd) })
}
