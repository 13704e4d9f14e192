package nsthread

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// Identity names the network namespace of the calling thread, for as long as this boot lasts: by its cookie, which no other
// namespace ever gets (Linux 5.14), else by device and inode of its file, which one made later may get again.
func Identity() (string, error) {
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return "", fmt.Errorf("identify network namespace: %w", err)
	}
	defer unix.Close(fd)
	if cookie, err := unix.GetsockoptUint64(fd, unix.SOL_SOCKET, unix.SO_NETNS_COOKIE); err == nil {
		return fmt.Sprintf("cookie %d", cookie), nil
	}
	var st unix.Stat_t
	if err := unix.Stat(Own, &st); err != nil {
		return "", fmt.Errorf("identify network namespace: %w", err)
	}
	return fmt.Sprintf("inode %d %d", st.Dev, st.Ino), nil
}
