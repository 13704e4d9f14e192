package sample

import (
	"fmt"

	"golang.org/x/sys/unix"

	"github.com/congctl/congctl/internal/linux/nsthread"
)

// Inside runs fn on a thread of this namespace, for work that asks the kernel
// "the namespace that I am in". It needs CAP_SYS_ADMIN where that is another one.
func (n *Namespace) Inside(fn func() error) error {
	if own, err := inode(nsthread.Own); err == nil && own == n.Inode {
		return fn()
	}
	// The dumper's socket knows where it was opened, so no second descriptor is kept.
	fd, err := unix.IoctlRetInt(n.dump.sock.fd, unix.SIOCGSKNS)
	if err != nil {
		return fmt.Errorf("enter network namespace %s: %w", n.Name, err)
	}
	defer unix.Close(fd)
	return nsthread.Run(fd, fn)
}
