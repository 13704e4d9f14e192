package sample

import "golang.org/x/sys/unix"

// inode is the number of the namespace behind a path: its identity while any
// descriptor or process holds it.
func inode(path string) (uint64, error) {
	var st unix.Stat_t
	if err := unix.Stat(path, &st); err != nil {
		return 0, err
	}
	return st.Ino, nil
}
