// Package cgroup finds the cgroup2 hierarchy of this host.
//
// It makes and moves nothing: linux/netns has cgroups of our own.
//
// Its trap: on a hybrid host /sys/fs/cgroup is a tmpfs full of version 1
// hierarchies and cgroup2 is mounted below it, so the path is never a constant.
package cgroup

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// ErrNone means that no cgroup2 file system is mounted.
var ErrNone = errors.New("no cgroup2 in /proc/mounts; mount one: mount -t cgroup2 none /sys/fs/cgroup/unified")

// Root returns the directory where the cgroup2 hierarchy is mounted.
func Root() (string, error) {
	b, err := os.ReadFile("/proc/mounts")
	if err != nil {
		return "", fmt.Errorf("find cgroup2: %w", err)
	}
	if p := mountOf(b); p != "" {
		return p, nil
	}
	return "", ErrNone
}

// mountOf reads lines of "device path type options ...", where white space and
// backslashes in the path are written in octal (proc(5)).
func mountOf(mounts []byte) string {
	for line := range bytes.Lines(mounts) {
		f := strings.Fields(string(line))
		if len(f) > 2 && f[2] == "cgroup2" {
			return strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`).Replace(f[1])
		}
	}
	return ""
}

// Check refuses a path that is not in a cgroup2 hierarchy.
func Check(path string) error {
	var st unix.Statfs_t
	if err := unix.Statfs(path, &st); err != nil {
		return fmt.Errorf("check cgroup %s: %w", path, err)
	}
	if st.Type != unix.CGROUP2_SUPER_MAGIC {
		return fmt.Errorf("check cgroup %s: not on a cgroup2 file system; leave the cgroup setting empty to have it found", path)
	}
	return nil
}
