package change

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/congctl/congctl/internal/core/change"
)

// Sysctls is the place of kernel settings: dotted keys below ROOT/proc/sys. Those
// below net. are of the calling thread's network namespace, but for a few that are
// global everywhere (net.core.default_qdisc).
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

// Write sets a setting; one cannot be taken away.
func (s Sysctls) Write(key string, v change.Value) error {
	if !v.Present {
		return fmt.Errorf("write sysctl %s: a setting cannot be removed", key)
	}
	// No O_CREATE: what the kernel does not have is not made, in a fake root neither.
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
