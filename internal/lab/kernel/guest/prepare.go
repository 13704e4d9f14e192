package guest

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// mounts in order; sysfs is there already.
var mounts = []struct {
	kind, at string
	optional bool // not every kernel has it
}{
	{"devtmpfs", "/dev", false}, {"proc", "/proc", false},
	{"tmpfs", "/run", false}, {"tmpfs", "/tmp", false},
	{"cgroup2", "/sys/fs/cgroup", true}, {"bpf", "/sys/fs/bpf", true},
}

func mount() error {
	for _, m := range mounts {
		err := mountOne(m.kind, m.at)
		if err != nil && !(m.optional && (errors.Is(err, unix.ENODEV) || errors.Is(err, unix.ENOENT))) {
			return err
		}
	}
	return nil
}

func mountOne(kind, at string) error {
	if err := os.MkdirAll(at, 0o755); err != nil {
		return fmt.Errorf("mount %s: %w", kind, err)
	}
	if err := unix.Mount(kind, at, kind, 0, ""); err != nil && !errors.Is(err, unix.EBUSY) {
		return fmt.Errorf("mount %s: %w", kind, err)
	}
	return nil
}
