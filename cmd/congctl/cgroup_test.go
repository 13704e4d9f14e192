package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/congctl/congctl/internal/linux/cgroup"
)

// testCgroup is a child cgroup2 of ours. eBPF attached to it sees only what runs inside.
type testCgroup struct {
	Path string
	dir  *os.File
}

// newCgroup makes a child of the root.
func newCgroup(name string) (*testCgroup, error) {
	root, err := cgroup.Root()
	if err != nil {
		return nil, err
	}
	path := filepath.Join(root, name)
	if err := os.Mkdir(path, 0o755); err != nil {
		return nil, fmt.Errorf("make cgroup: %w", err)
	}
	dir, err := os.Open(path)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("make cgroup: %w", err), os.Remove(path))
	}
	return &testCgroup{Path: path, dir: dir}, nil
}

// Add moves a whole process, with its threads, into the cgroup. Sockets that it
// already has stay where they were made.
func (c *testCgroup) Add(pid int) error { return moveTo(c.Path, pid) }

// Fd is the cgroup's directory, for attaching programs and starting processes.
func (c *testCgroup) Fd() int { return int(c.dir.Fd()) }

// Close moves what is left inside to the parent and removes the cgroup and its
// children. It kills nothing: that is its caller's to decide. Idempotent.
func (c *testCgroup) Close() error {
	if c.dir == nil {
		return nil
	}
	c.dir.Close()
	c.dir = nil
	return removeCgroup(c.Path)
}

func removeCgroup(path string) error {
	children, err := os.ReadDir(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	for _, child := range children {
		if child.IsDir() {
			err = errors.Join(err, removeCgroup(filepath.Join(path, child.Name())))
		}
	}
	// A process that was just killed stays in the list until it is reaped: try for a
	// second, then name what is left.
	for range 100 {
		pids, _ := procsOf(path)
		for _, pid := range pids {
			_ = moveTo(filepath.Dir(path), pid) // it may be gone
		}
		rmErr := unix.Rmdir(path)
		if rmErr == nil || errors.Is(rmErr, unix.ENOENT) {
			return err
		}
		if !errors.Is(rmErr, unix.EBUSY) {
			return errors.Join(err, fmt.Errorf("remove cgroup %s: %w", path, rmErr))
		}
		time.Sleep(10 * time.Millisecond)
	}
	pids, _ := procsOf(path)
	return errors.Join(err, fmt.Errorf("remove cgroup %s: busy; processes inside: %v", path, pids))
}

func moveTo(path string, pid int) error {
	err := os.WriteFile(filepath.Join(path, "cgroup.procs"), []byte(strconv.Itoa(pid)), 0)
	if err != nil {
		return fmt.Errorf("move process %d to cgroup: %w", pid, err)
	}
	return nil
}

func procsOf(path string) (pids []int, err error) {
	b, err := os.ReadFile(filepath.Join(path, "cgroup.procs"))
	if err != nil {
		return nil, fmt.Errorf("list cgroup: %w", err)
	}
	for _, w := range strings.Fields(string(b)) {
		if pid, err := strconv.Atoi(w); err == nil {
			pids = append(pids, pid)
		}
	}
	return pids, nil
}
