package change

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/congctl/congctl/internal/core/change"
)

// Modules is the place of kernel modules that are files; one that is built in is no
// target. Root is for the reading only: a module is loaded into this kernel.
type Modules struct{ Root string }

// Read tells whether a module is loaded.
func (m Modules) Read(name string) (change.Value, error) {
	_, err := os.Stat(filepath.Join(m.Root, "/sys/module", name, "initstate"))
	if errors.Is(err, os.ErrNotExist) {
		return change.Absent, nil
	}
	if err != nil {
		return change.Absent, fmt.Errorf("read module %s: %w", name, err)
	}
	return change.Text("loaded"), nil
}

// Write loads a module the way the kernel itself does, by modprobe, so that its
// dependencies and the host's options count; or takes it out if nobody uses it.
func (m Modules) Write(name string, v change.Value) error {
	if v.Present {
		out, err := exec.Command(m.modprobe(), "--", name).CombinedOutput()
		if err != nil {
			return fmt.Errorf("load module %s: %w: %s", name, err, strings.TrimSpace(string(out)))
		}
		return nil
	}
	err := unix.DeleteModule(name, unix.O_NONBLOCK)
	switch {
	case err == nil, errors.Is(err, unix.ENOENT):
		return nil
	case errors.Is(err, unix.EWOULDBLOCK), errors.Is(err, unix.EBUSY):
		return fmt.Errorf("%w: connections or interfaces use it; it goes with a reboot", ErrInUse)
	case errors.Is(err, unix.ENOSYS), errors.Is(err, unix.EPERM):
		return fmt.Errorf("%w: this kernel takes no module out (%w); it goes with a reboot", ErrInUse, err)
	}
	return fmt.Errorf("remove module %s: %w", name, err)
}

// modprobe is the program that the kernel would start.
func (m Modules) modprobe() string {
	b, err := os.ReadFile(filepath.Join(m.Root, "/proc/sys/kernel/modprobe"))
	if p := strings.TrimSpace(string(b)); err == nil && p != "" {
		return p
	}
	return "/sbin/modprobe"
}
