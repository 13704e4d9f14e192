package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/congctl/congctl/internal/kernel/cgroup"
	"github.com/congctl/congctl/internal/kernel/netns"
)

// leftovers looks in every place that the demo writes to for what is of this
// process: named namespaces, the cgroup, the directory, children.
func (s *show) leftovers() (list []string) {
	mine := fmt.Sprintf("congctl-%s-%d-*", tag, os.Getpid())
	dirs := []string{netns.Dir}
	if root, err := cgroup.Root(); err == nil {
		dirs = append(dirs, root)
	}
	for _, dir := range dirs {
		found, _ := filepath.Glob(filepath.Join(dir, mine))
		list = append(list, found...)
	}
	if _, err := os.Stat(s.dir); err == nil {
		list = append(list, s.dir)
	}
	for _, c := range s.children() {
		if unix.Kill(c.cmd.Process.Pid, 0) == nil {
			list = append(list, fmt.Sprintf("process %d (%s)", c.cmd.Process.Pid, c.cmd.Path))
		}
	}
	return list
}

// makeDir makes a directory that names its process, and removes those of runs that
// were killed outright.
func makeDir() (string, error) {
	old, _ := filepath.Glob(filepath.Join(os.TempDir(), dirHead+"*"))
	for _, dir := range old {
		var pid int
		if _, err := fmt.Sscanf(filepath.Base(dir), dirHead+"%d-", &pid); err == nil && unix.Kill(pid, 0) == unix.ESRCH {
			_ = os.RemoveAll(dir)
		}
	}
	return os.MkdirTemp("", fmt.Sprintf("%s%d-", dirHead, os.Getpid()))
}

const dirHead = "congctl-" + tag + "-"

func (s *show) children() (list []*child) {
	if s.edge != nil && s.edge.server != nil {
		list = append(list, s.edge.server)
	}
	if s.daemon != nil && s.daemon.child != nil {
		list = append(list, s.daemon.child)
	}
	return list
}

func leftText(list []string) string {
	if len(list) == 0 {
		return "left behind: nothing"
	}
	return "left behind: " + strings.Join(list, ", ")
}
