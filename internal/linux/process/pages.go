package process

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// Much of a program runs once, every package's init among it, and the kernel maps 64 kB around each touch. What goes on
// needs a third of that.

// KeepPages, set to 1 in the environment, has Forget do nothing, for a machine in which the same run is to come out the same.
// The kernel takes pages out first and flushes the CPU's TLB afterwards, and other threads may run in between. Which of their
// accesses fault depends on what the TLB still holds, and QEMU sizes its TLB by the host's clock.
const KeepPages = "CONGCTL_KEEP_PAGES"

// Forget takes the program's own pages out of this process: they stay in the page cache, and those that are used again are
// mapped again without a read. It leaves out mappings that are writable or have a page that is not the file's, as those of a
// relocated program have.
func Forget() error {
	if os.Getenv(KeepPages) == "1" {
		return nil
	}
	self, err := os.Readlink("/proc/self/exe")
	if err != nil {
		return fmt.Errorf("find this program: %w", err)
	}
	f, err := os.Open("/proc/self/smaps")
	if err != nil {
		return fmt.Errorf("read mappings: %w", err)
	}
	defer f.Close()
	list, err := untouched(f, self)
	for _, m := range list {
		if _, _, errno := syscall.Syscall(unix.SYS_MADVISE, m[0], m[1]-m[0], unix.MADV_DONTNEED); errno != 0 {
			return fmt.Errorf("forget pages of %s: %w", self, errno)
		}
	}
	return err
}

// mapping is from and to.
type mapping [2]uintptr

// untouched returns the read-only mappings of a file that have no page of their own.
func untouched(smaps io.Reader, file string) (list []mapping, err error) {
	var last mapping
	ours := false
	s := bufio.NewScanner(smaps)
	for s.Scan() {
		var m mapping
		var perms string
		if n, _ := fmt.Sscanf(s.Text(), "%x-%x %s", &m[0], &m[1], &perms); n == 3 {
			last, ours = m, strings.HasSuffix(s.Text(), " "+file) && strings.HasPrefix(perms, "r-") && strings.HasSuffix(perms, "p")
			continue
		}
		if f := strings.Fields(s.Text()); ours && len(f) > 1 && f[0] == "Anonymous:" && f[1] == "0" {
			list = append(list, last)
		}
	}
	if err := s.Err(); err != nil {
		return nil, fmt.Errorf("read mappings: %w", err)
	}
	return list, nil
}
