package netns

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// SetSysctl sets a net.* sysctl of the namespace, dotted or with slashes. Under
// /proc/sys/net a thread sees its own namespace's values. It refuses to act in
// the namespace of this process: that is the host's.
func (n *NS) SetSysctl(key, value string) error {
	path, err := n.sysctlPath(key)
	if err != nil {
		return err
	}
	err = n.Do(func() error { return os.WriteFile(path, []byte(value), 0) })
	if err != nil {
		return fmt.Errorf("set sysctl %s=%s: %w", key, value, err)
	}
	return nil
}

// Sysctl reads a net.* sysctl of the namespace.
func (n *NS) Sysctl(key string) (value string, err error) {
	err = n.Do(func() error {
		b, err := os.ReadFile(procSys(key))
		value = strings.TrimSpace(string(b))
		return err
	})
	if err != nil {
		return "", fmt.Errorf("read sysctl %s: %w", key, err)
	}
	return value, nil
}

func procSys(key string) string {
	return filepath.Join("/proc/sys", strings.ReplaceAll(key, ".", "/"))
}

func (n *NS) sysctlPath(key string) (string, error) {
	own, err := Current()
	if err != nil {
		return "", err
	}
	defer own.Close()
	if n.file != nil && own.inode() == n.inode() {
		return "", fmt.Errorf("set sysctl %s: refused in the namespace of this process", key)
	}
	if !strings.HasPrefix(strings.ReplaceAll(key, "/", "."), "net.") {
		return "", fmt.Errorf("set sysctl %s: not below net.: it would be the whole host's", key)
	}
	return procSys(key), nil
}

// ErrRestricted says that a namespace may not default to a congestion control.
var ErrRestricted = errors.New("a namespace may default only to what net.ipv4.tcp_allowed_congestion_control of the host lists")

// SetDefaultCong sets net.ipv4.tcp_congestion_control of the namespace. The
// kernel (tcp_set_default_congestion_control) lets only the initial namespace
// default to a congestion control that is not on the allowed list, whoever asks:
// then the error is [ErrRestricted], and a route's congctl is the way left.
func (n *NS) SetDefaultCong(name string) error {
	err := n.SetSysctl("net.ipv4.tcp_congestion_control", name)
	if errors.Is(err, unix.EPERM) {
		return fmt.Errorf("%w: %w", err, ErrRestricted)
	}
	return err
}
