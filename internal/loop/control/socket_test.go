package control

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// start serves on a socket in a directory of the test and returns its path. The
// caller registers routes in setup.
func start(t *testing.T, opt Options, setup func(*Server)) string {
	t.Helper()
	if opt.Path == "" {
		opt.Path = filepath.Join(t.TempDir(), "s")
	}
	s, err := Listen(opt)
	if err != nil {
		t.Fatal(err)
	}
	setup(s)
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		if _, err := os.Lstat(opt.Path); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("socket left behind: %v", err)
		}
	})
	return opt.Path
}

func TestSocketMode(t *testing.T) {
	path := start(t, Options{}, func(*Server) {})
	ofMode660(t, path)
}

// ofMode660 returns what is known of a socket that only its owner and group may use, and that is alone in its folder.
func ofMode660(t *testing.T, path string) fs.FileInfo {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if got := info.Mode().Perm(); got != 0o660 {
		t.Errorf("mode %o", got)
	}
	entries, _ := os.ReadDir(filepath.Dir(path))
	if len(entries) != 1 {
		t.Errorf("also there: %v", entries)
	}
	return info
}

func TestUnknownGroup(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	_, err := Listen(Options{Path: path, Group: "no-such-group-here"})
	if err == nil || !strings.Contains(err.Error(), "socket_group") {
		t.Errorf("got %v", err)
	}
	if entries, _ := os.ReadDir(filepath.Dir(path)); len(entries) > 0 {
		t.Errorf("left behind: %v", entries)
	}
}

func TestSecondServerIsRefused(t *testing.T) {
	path := start(t, Options{}, func(*Server) {})
	if _, err := Listen(Options{Path: path}); !errors.Is(err, ErrRunning) {
		t.Errorf("got %v", err)
	}
}

func TestStaleSocketIsReplaced(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	l.SetUnlinkOnClose(false) // as a killed process leaves it
	l.Close()
	c := NewClient(path)
	if _, err := Ask(t.Context(), c, echo, ask{}); !errors.Is(err, ErrNotRunning) {
		t.Errorf("before: %v", err)
	}
	start(t, Options{Path: path}, handleEcho)
	if _, err := Ask(t.Context(), c, echo, ask{}); err != nil {
		t.Errorf("after: %v", err)
	}
}

func TestForeignFileIsLeftAlone(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	if err := os.WriteFile(path, []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Listen(Options{Path: path}); err == nil || !strings.Contains(err.Error(), "not a socket") {
		t.Errorf("got %v", err)
	}
	if b, _ := os.ReadFile(path); string(b) != "mine" {
		t.Errorf("file is now %q", b)
	}
}

// A server that ends must not remove the socket that its successor put there.
func TestSuccessorKeepsItsSocket(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	old, err := Listen(Options{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	old.listen.Close() // it hangs in its shutdown: it no longer answers
	start(t, Options{Path: path}, handleEcho)
	old.remove()
	if _, err := Ask(t.Context(), NewClient(path), echo, ask{}); err != nil {
		t.Errorf("got %v", err)
	}
}

func TestNotRunning(t *testing.T) {
	_, err := Ask(t.Context(), NewClient(filepath.Join(t.TempDir(), "absent")), echo, ask{})
	if !errors.Is(err, ErrNotRunning) {
		t.Errorf("got %v", err)
	}
}

func TestPermissionDenied(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Skip("needs another user than root: root may open every socket; no minimum kernel")
	}
	path := start(t, Options{}, handleEcho)
	if err := os.Chmod(path, 0); err != nil {
		t.Fatal(err)
	}
	_, err := Ask(t.Context(), NewClient(path), echo, ask{})
	if e, ok := errors.AsType[*Error](err); !ok || !strings.Contains(e.Hint, "sudo") {
		t.Errorf("got %v", err)
	}
}

// textLog logs into a string.
func textLog(w *strings.Builder) *slog.Logger { return slog.New(slog.NewTextHandler(w, nil)) }
