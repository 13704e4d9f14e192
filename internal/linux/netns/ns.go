package netns

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/congctl/congctl/internal/core/record"
	"github.com/congctl/congctl/internal/kernel/nsthread"
	"golang.org/x/sys/unix"
)

// Dir is where iproute2 looks for named namespaces.
const Dir = "/run/netns"

// NS is a network namespace, held by an open file. Close it.
type NS struct {
	Name string // below Dir; "" is anonymous
	file *os.File
	made bool // the name is ours to remove
}

// Anonymous makes a namespace without a name: it ends with the last descriptor,
// socket or process in it, so that even a killed test leaves nothing behind.
func Anonymous() (*NS, error) { return create("") }

// Create makes a namespace that `ip netns exec` can enter. It outlives this
// process unless it is closed.
func Create(name string) (*NS, error) {
	if name == "" || filepath.Base(name) != name || name[0] == '.' {
		return nil, fmt.Errorf("create network namespace %q: not a plain name", name)
	}
	return create(name)
}

// Current opens the namespace of the calling process.
func Current() (*NS, error) {
	f, err := os.Open("/proc/self/ns/net")
	if err != nil {
		return nil, fmt.Errorf("open network namespace: %w", err)
	}
	return &NS{file: f}, nil
}

func create(name string) (*NS, error) {
	n := &NS{Name: name, made: name != ""}
	err := nsthread.Keep(func() error {
		if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
			return fmt.Errorf("create network namespace: %w (needs root)", err)
		}
		f, err := os.Open(nsthread.Own)
		if err != nil {
			return fmt.Errorf("create network namespace: %w", err)
		}
		n.file = f
		if name == "" {
			return nil
		}
		return pin(name)
	})
	if err != nil {
		n.made = false
		return nil, errors.Join(err, n.Close())
	}
	return n, nil
}

// pin gives the calling thread's namespace a name, as `ip netns add` does.
func pin(name string) error {
	if err := os.MkdirAll(Dir, 0o755); err != nil {
		return fmt.Errorf("name network namespace: %w", err)
	}
	path := filepath.Join(Dir, name)
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_RDONLY, 0o444)
	if err != nil {
		return fmt.Errorf("name network namespace: %w", err)
	}
	f.Close()
	if err := unix.Mount(nsthread.Own, path, "none", unix.MS_BIND, ""); err != nil {
		return errors.Join(fmt.Errorf("name network namespace %s: mount: %w", name, err), os.Remove(path))
	}
	return nil
}

func unpin(name string) error {
	path := filepath.Join(Dir, name)
	if err := unix.Unmount(path, unix.MNT_DETACH); err != nil && !errors.Is(err, unix.EINVAL) && !errors.Is(err, unix.ENOENT) {
		return fmt.Errorf("remove network namespace %s: unmount: %w", name, err)
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("remove network namespace: %w", err)
	}
	return nil
}

// Close lets go of the namespace and removes its name if Create gave it. The
// kernel ends it when no process and no socket is left inside. Idempotent.
func (n *NS) Close() (err error) {
	if n.made {
		n.made = false
		err = unpin(n.Name)
	}
	if n.file != nil {
		n.file.Close()
		n.file = nil
	}
	return err
}

// Path is an absolute path at which the namespace can be opened by this process.
func (n *NS) Path() string {
	if n.made {
		return filepath.Join(Dir, n.Name)
	}
	return fmt.Sprintf("/proc/%d/fd/%d", os.Getpid(), n.file.Fd())
}

// Do runs fn inside the namespace, on a thread of its own. See the package's trap.
func (n *NS) Do(fn func() error) error {
	if n.file == nil {
		return errors.New("enter network namespace: closed")
	}
	return nsthread.Run(int(n.file.Fd()), fn)
}

// ID is the kernel's cookie of the namespace (SO_NETNS_COOKIE, 5.14), the key that
// records and eBPF use.
func (n *NS) ID() (id record.NetnsID, err error) {
	err = n.Do(func() error {
		fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
		if err != nil {
			return err
		}
		defer unix.Close(fd)
		cookie, err := unix.GetsockoptUint64(fd, unix.SOL_SOCKET, unix.SO_NETNS_COOKIE)
		id = record.NetnsID(cookie)
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("read namespace cookie: %w", err)
	}
	return id, nil
}

// inode is the number of a namespace file; 0 when the file is none.
func (n *NS) inode() uint64 {
	var fs unix.Statfs_t
	var st unix.Stat_t
	if unix.Fstatfs(int(n.file.Fd()), &fs) != nil || fs.Type != unix.NSFS_MAGIC || unix.Fstat(int(n.file.Fd()), &st) != nil {
		return 0
	}
	return st.Ino
}
