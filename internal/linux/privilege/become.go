package privilege

import (
	"errors"
	"fmt"
	"os"
	"syscall"
)

// Become makes a process of root one of the user whose a directory is, for good: what it writes there that user's
// service can read, and a link that the user left there leads root nowhere. It does nothing where the process is not root's or
// the directory is root's, or not there.
func Become(dir string) error {
	var st syscall.Stat_t
	if err := syscall.Stat(dir, &st); err != nil || os.Geteuid() != 0 || st.Uid == 0 {
		return nil // whoever opens something there says what is wrong
	}
	if err := errors.Join(syscall.Setgroups(nil), syscall.Setgid(int(st.Gid)), syscall.Setuid(int(st.Uid))); err != nil {
		return fmt.Errorf("become user %d, whose %s is: %w", st.Uid, dir, err)
	}
	return nil
}
