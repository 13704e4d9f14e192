package carry

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/congctl/congctl/internal/change"
)

// Place reads and writes the targets of one kind. Write makes the target have exactly
// the value, or not exist.
type Place interface {
	Read(target string) (change.Value, error)
	Write(target string, v change.Value) error
}

// ErrInUse means that a target cannot be removed because it is in use: a module with
// connections, a directory with other files. An undo leaves it.
var ErrInUse = errors.New("in use")

// files is the place of files: each is replaced whole, so that a reader sees the old or
// the new one, even after a power cut.
type files struct{ disk Disk }

func (f files) Read(target string) (change.Value, error) {
	return f.disk.Read(target)
}

// besides is the file that becomes the target. Its name ends in nothing that sysctl.d,
// modules-load.d or networkd would read.
func besides(target string) string {
	dir, base := path.Split(target)
	return dir + "." + base + ".congctl-new"
}

func (f files) Write(target string, v change.Value) error {
	dir := path.Dir(target)
	if !v.Present {
		if err := f.disk.Do(Op{Kind: OpRemove, Path: target}); err != nil {
			return err
		}
		return f.disk.Do(Op{Kind: OpSync, Path: dir})
	}
	fresh := besides(target)
	return inOrder(f.disk,
		Op{Kind: OpCreate, Path: fresh, Data: []byte(v.Text), Mode: v.Mode, UID: v.UID, GID: v.GID},
		Op{Kind: OpSync, Path: fresh},
		Op{Kind: OpRename, Path: fresh, To: target},
		Op{Kind: OpSync, Path: dir})
}

// sweep removes what an interrupted Write left beside the target.
func (f files) sweep(target string) error {
	v, err := f.disk.Read(besides(target))
	if err != nil || !v.Present {
		return err
	}
	return inOrder(f.disk, Op{Kind: OpRemove, Path: besides(target)}, Op{Kind: OpSync, Path: path.Dir(target)})
}

type dirs struct{ disk Disk }

func (d dirs) Read(target string) (change.Value, error) { return d.disk.Read(target) }

func (d dirs) Write(target string, v change.Value) error {
	op := Op{Kind: OpMakeDir, Path: target, Mode: v.Mode, UID: v.UID, GID: v.GID}
	if !v.Present {
		op = Op{Kind: OpRemove, Path: target}
	}
	err := inOrder(d.disk, op, Op{Kind: OpSync, Path: path.Dir(target)})
	if errors.Is(err, unix.ENOTEMPTY) || errors.Is(err, unix.EEXIST) {
		return fmt.Errorf("%w: it contains other files", ErrInUse)
	}
	return err
}

func inOrder(disk Disk, ops ...Op) error {
	for _, op := range ops {
		if err := disk.Do(op); err != nil {
			return err
		}
	}
	return nil
}

// Sysctls is the place of kernel settings: dotted keys below ROOT/proc/sys. Those below
// net. belong to the calling thread's network namespace, except a few global ones
// (net.core.default_qdisc).
type Sysctls struct{ Root string }

func (s Sysctls) path(key string) string {
	return filepath.Join(s.Root, "/proc/sys", strings.ReplaceAll(key, ".", "/"))
}

// Read reads a setting without its newline.
func (s Sysctls) Read(key string) (change.Value, error) {
	b, err := os.ReadFile(s.path(key))
	if errors.Is(err, fs.ErrNotExist) {
		return change.Absent, nil
	}
	if err != nil {
		return change.Absent, fmt.Errorf("read sysctl %s: %w", key, err)
	}
	return change.Text(strings.TrimSuffix(string(b), "\n")), nil
}

// Write sets a setting, which cannot be removed.
func (s Sysctls) Write(key string, v change.Value) error {
	if !v.Present {
		return fmt.Errorf("write sysctl %s: a sysctl cannot be removed", key)
	}
	// No O_CREATE: a setting that the kernel lacks is not created, not even in a fake
	// root.
	f, err := os.OpenFile(s.path(key), os.O_WRONLY|os.O_TRUNC, 0)
	if err != nil {
		return fmt.Errorf("write sysctl %s: %w", key, err)
	}
	_, err = f.WriteString(v.Text + "\n")
	if err = errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("write sysctl %s=%s: %w", key, v.Text, err)
	}
	return nil
}

// Modules is the place of kernel modules that are files; one that is built in is no
// target. Root is for the reading only: a module is loaded into this kernel.
type Modules struct{ Root string }

// Read reports whether a module is loaded.
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
// dependencies and the host's options count; or unloads it if it is unused.
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
		return fmt.Errorf("%w: in use by connections or interfaces; a reboot unloads it", ErrInUse)
	case errors.Is(err, unix.ENOSYS), errors.Is(err, unix.EPERM):
		return fmt.Errorf("%w: this kernel does not unload modules (%w); a reboot does", ErrInUse, err)
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
