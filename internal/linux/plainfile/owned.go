package plainfile

import (
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// What root believes of a file is as good as the least of those who could have written it: its
// owner, whoever its mode admits, and whoever may rename a directory above it.

// UntrustedError means that somebody else could have written what is at a path.
type UntrustedError struct{ Problem, Fix string }

func (e UntrustedError) Error() string { return e.Problem + ": " + e.Fix }

// Owned reports whether a file belongs to root, or to the user that this process runs as.
func Owned(uid uint32) bool { return uid == 0 || int(uid) == os.Geteuid() }

// ReadOwned reads a plain file that only root could have written, or the user that this process
// runs as. Its path below the root has no links.
func ReadOwned(root, name string, most int64) ([]byte, error) {
	f, err := open(root+name, unix.O_NOFOLLOW)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var st unix.Stat_t
	if err := unix.Fstat(int(f.Fd()), &st); err != nil {
		return nil, fmt.Errorf("look at %s: %w", name, err)
	}
	if err := judge(name, st, false); err != nil {
		return nil, err
	}
	if err := OwnedDir(root, path.Dir(name)); err != nil {
		return nil, err
	}
	return whole(f, most)
}

// OwnedDir checks that only root, or the user that this process runs as, may change what is in a
// directory, or rename it or one above it. It does not check above the root. What is yet to be
// made is trusted. A directory as /tmp, in which users cannot rename each other's files, will do
// above an owned one.
func OwnedDir(root, dir string) error {
	for d := dir; ; d = path.Dir(d) {
		var st unix.Stat_t
		switch err := unix.Stat(root+d, &st); {
		case errors.Is(err, unix.ENOENT): // it is to be made
		case err != nil:
			return fmt.Errorf("look at %s: %w", d, err)
		default:
			if err := judge(d, st, d != dir); err != nil {
				return err
			}
		}
		if d == "/" {
			return nil
		}
	}
}

// OwnedFile checks the same of a file, which may be absent, and of the directories above it, also
// of those that links lead to. It may not be a link itself.
func OwnedFile(name string) error {
	var st unix.Stat_t
	switch err := unix.Lstat(name, &st); {
	case errors.Is(err, unix.ENOENT):
	case err != nil:
		return fmt.Errorf("look at %s: %w", name, err)
	case st.Mode&unix.S_IFMT == unix.S_IFLNK:
		return UntrustedError{name + " is a link: the file itself must be there", "rm " + name}
	default:
		if err := judge(name, st, false); err != nil {
			return err
		}
	}
	dir := path.Dir(name)
	if to, err := filepath.EvalSymlinks(dir); err == nil && to != dir {
		if err := OwnedDir("", to); err != nil {
			return err
		}
	}
	return OwnedDir("", dir)
}

func judge(name string, st unix.Stat_t, above bool) error {
	switch {
	case !Owned(st.Uid):
		return UntrustedError{fmt.Sprintf("%s belongs to user %d, who could redirect it", name, st.Uid), "chown root " + name}
	case st.Mode&0o022 != 0 && !(above && st.Mode&unix.S_ISVTX != 0):
		return UntrustedError{fmt.Sprintf("%s has mode %o: others could redirect it", name, st.Mode&0o7777), "chmod go-w " + name}
	}
	return nil
}
