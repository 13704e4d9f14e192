package sample

import (
	"errors"

	"golang.org/x/sys/unix"
)

var errNotTrusted = errors.New("owned by another user namespace")

// ownUser is the user namespace that this process runs in: on a host the first one, whose root is
// root. In a container it is the host's too, unless the container has a user namespace of its own;
// then that one's root is as much as we are. /proc/1/ns/user would be what the container's first
// process has, and is closed to a process without CAP_SYS_PTRACE.
const ownUser = "/proc/thread-self/ns/user"

// ownedHere reports whether our user namespace owns a network namespace: its maker was privileged
// in ours. One inside ours, however deep, is another one. Before Linux 4.9 no owner is known, and
// no namespace trusted.
func ownedHere(fd int) (bool, error) {
	owner, err := unix.IoctlRetInt(fd, unix.NS_GET_USERNS)
	switch {
	case errors.Is(err, unix.ENOTTY), errors.Is(err, unix.EPERM): // EPERM: outside of ours
		return false, nil
	case err != nil:
		return false, err
	}
	defer unix.Close(owner)
	var theirs, ours unix.Stat_t
	if err := errors.Join(unix.Fstat(owner, &theirs), unix.Stat(ownUser, &ours)); err != nil {
		return false, err
	}
	return theirs.Dev == ours.Dev && theirs.Ino == ours.Ino, nil
}
