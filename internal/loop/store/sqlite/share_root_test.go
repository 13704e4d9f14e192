package sqlite

import (
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// unprivileged returns a folder that other users reach, a copy of this test
// binary in it, and a way to start it without rights on the folder.
func unprivileged(t *testing.T) (dir string, run func(path string) (string, error)) {
	t.Helper()
	dir, err := os.MkdirTemp("", "congctl-store-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.Chmod(dir, 0o700); _ = os.RemoveAll(dir) })
	exe := filepath.Join(dir, "exe")
	if err := errors.Join(os.Chmod(dir, 0o755), copyExecutable(exe)); err != nil {
		t.Fatal(err)
	}
	return dir, func(path string) (string, error) {
		cmd := child(t, exe, "read", path)
		cmd.Dir = dir
		if os.Geteuid() == 0 {
			cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
		}
		out, err := cmd.Output()
		return string(out), err
	}
}

func copyExecutable(to string) error {
	exe, err := os.Executable()
	if err != nil {
		return err
	}
	src, err := os.Open(exe)
	if err != nil {
		return err
	}
	defer src.Close()
	dst, err := os.OpenFile(to, os.O_CREATE|os.O_WRONLY, 0o755)
	if err != nil {
		return err
	}
	_, err = io.Copy(dst, src)
	return errors.Join(err, dst.Close())
}

func TestReadOnlyFolder(t *testing.T) {
	dir, run := unprivileged(t)
	path := filepath.Join(dir, "congctl.db")
	s := openTest(t, path, opts)
	commit := func(i int) {
		if err := s.CommitRound(bg, sampleCommit(rand.New(rand.NewPCG(1, 1)), i, 10)); err != nil {
			t.Fatal(err)
		}
	}
	commit(0)
	if err := errors.Join(s.Close(), os.Chmod(path, 0o644), os.Chmod(dir, 0o555)); err != nil {
		t.Fatal(err)
	}
	if out, err := run(path); err != nil || out != "rows 10\n" {
		t.Errorf("no writer, folder not writable: %q %v", out, err)
	}
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	s = openTest(t, path, opts)
	commit(1)
	if err := os.Chmod(dir, 0o555); err != nil {
		t.Fatal(err)
	}
	if out, err := run(path); err != nil || out != "rows 20\n" {
		t.Errorf("beside a writer, folder not writable: %q %v", out, err)
	}
}
