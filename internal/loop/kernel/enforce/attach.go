package enforce

import (
	"errors"
	"fmt"
	"io/fs"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/link"
	"golang.org/x/sys/unix"

	"github.com/congctl/congctl/internal/linux/cgroup"
)

func (e *Enforcer) attach() error {
	l, err := link.AttachCgroup(link.CgroupOptions{
		Path: e.opt.Cgroup, Attach: ebpf.AttachCGroupSockOps, Program: e.objs.CongctlSockops,
	})
	if errors.Is(err, unix.EPERM) {
		return fmt.Errorf("attach sock_ops to %s: %w: %s", e.opt.Cgroup, ErrTaken, e.namesOfOthers())
	} else if err != nil {
		return fmt.Errorf("attach sock_ops to %s: %w", e.opt.Cgroup, err)
	}
	old := e.link
	e.link = l
	if old != nil {
		err = old.Close()
	}
	return err
}

// Attached attaches again where the path leads to another cgroup than the one that the program is
// attached to, and reports that: systemd removes a service's cgroup when the service stops, and
// makes another one of the same name. The error is that no cgroup is there, or why it cannot
// be attached to.
//
// The link itself does not tell: it lives on while a socket of the removed cgroup does.
func (e *Enforcer) Attached() (again bool, err error) {
	err = cgroup.Check(e.opt.Cgroup)
	if errors.Is(err, fs.ErrNotExist) {
		return false, fmt.Errorf("cgroup %s was removed: connections are neither followed nor treated until it is there again", e.opt.Cgroup)
	} else if err != nil {
		return false, err
	}
	var at unix.Stat_t
	if err := unix.Stat(e.opt.Cgroup, &at); err != nil {
		return false, fmt.Errorf("look at cgroup %s: %w", e.opt.Cgroup, err)
	}
	info, err := e.link.Info()
	if err != nil {
		return false, fmt.Errorf("look at the attachment to cgroup %s: %w", e.opt.Cgroup, err)
	}
	// A cgroup's inode number is its id, cut to the size of a long; that of a link to one that is gone is 0.
	if c := info.Cgroup(); c != nil && uintptr(c.CgroupId) == uintptr(at.Ino) {
		return false, nil
	}
	return true, e.attach()
}
