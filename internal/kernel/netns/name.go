package netns

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/congctl/congctl/internal/kernel/cgroup"
)

// What has a name outlives a process that is killed outright. Names therefore
// say whose they are, "congctl-TAG-PID-ROLE", and Sweep removes those of a tag
// whose process is gone. Nothing else is ever touched.

const nameHead = "congctl-"

// nameOf is the name of a role of this process's rig.
func nameOf(tag, role string) string {
	return fmt.Sprintf("%s%s-%d-%s", nameHead, tag, os.Getpid(), role)
}

// owner gives the process of a name with this tag; ok is false for other names.
func owner(tag, name string) (pid int, ok bool) {
	rest, ok := strings.CutPrefix(name, nameHead+tag+"-")
	if !ok {
		return 0, false
	}
	num, _, ok := strings.Cut(rest, "-")
	if !ok {
		return 0, false
	}
	pid, err := strconv.Atoi(num)
	return pid, err == nil && pid > 0
}

// Sweep removes the named namespaces and the cgroups of a tag whose process no
// longer lives, and says which.
func Sweep(tag string) (removed []string, err error) {
	for _, name := range stale(Dir, tag) {
		if e := unpin(name); e != nil {
			err = errors.Join(err, e)
			continue
		}
		removed = append(removed, filepath.Join(Dir, name))
	}
	root, e := cgroup.Root()
	if e != nil {
		return removed, err // no cgroup2, no cgroups of ours
	}
	for _, name := range stale(root, tag) {
		path := filepath.Join(root, name)
		if e := removeCgroup(path); e != nil {
			err = errors.Join(err, e)
			continue
		}
		removed = append(removed, path)
	}
	return removed, err
}

func stale(dir, tag string) (names []string) {
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		if pid, ok := owner(tag, e.Name()); ok && errors.Is(unix.Kill(pid, 0), unix.ESRCH) {
			names = append(names, e.Name())
		}
	}
	return names
}
