package guest

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// mounts in order; sysfs and devtmpfs are mounted already.
var mounts = []struct {
	kind, at string
	optional bool // not every kernel has it
}{
	{"proc", "/proc", false},
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

// loadModules loads the files of dir in the order of their names.
func loadModules(dir string) error {
	files, err := filepath.Glob(filepath.Join(dir, "*.ko"))
	if err != nil {
		return err
	}
	for _, name := range files {
		if err := loadModule(name); err != nil {
			return fmt.Errorf("load module %s: %w", filepath.Base(name), err)
		}
	}
	return nil
}

func loadModule(name string) error {
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := unix.FinitModule(int(f.Fd()), "", 0); err != nil && !errors.Is(err, unix.EEXIST) {
		return err
	}
	return nil
}
