package vm

import (
	"errors"
	"fmt"
	"io"
	"os"

	"golang.org/x/sys/unix"

	"github.com/congctl/congctl/internal/lab/kernel/vm/mailbox"
)

// parts are the files of a machine. They are in memory and inherited by QEMU, which opens
// them by number: nothing is left behind, whichever process is killed, but for
// the empty folder of a program (program.go).
type parts struct {
	kernel, initramfs, shared, console *os.File
	drive, far                         *os.File // far: QEMU's end of the monitor
	near                               *os.File // our end

	box    mailbox.Box
	mapped []byte
}

// The numbers in QEMU, after standard input, output and error.
const (
	kernelFD = 3 + iota
	initramfsFD
	sharedFD
	consoleFD
	driveFD
	monitorFD
)

func (p *parts) files() []*os.File {
	return []*os.File{p.kernel, p.initramfs, p.shared, p.console, p.drive, p.far}
}

func inQEMU(fd int) string { return fmt.Sprintf("/proc/self/fd/%d", fd) }

func newParts(kernel, initramfs []byte) (p *parts, err error) {
	p = &parts{}
	defer func() {
		if err != nil {
			p.close()
			p, err = nil, fmt.Errorf("make memory for the guest: %w", err)
		}
	}()
	if p.kernel, err = memory("kernel", kernel); err != nil {
		return p, err
	}
	if p.initramfs, err = memory("initramfs", initramfs); err != nil {
		return p, err
	}
	if p.console, err = memory("console", nil); err != nil {
		return p, err
	}
	if p.near, p.far, err = pair(); err != nil {
		return p, err
	}
	if p.shared, err = memory("mailbox", nil); err != nil {
		return p, err
	}
	if err = p.shared.Truncate(mailbox.Size); err != nil {
		return p, err
	}
	if p.mapped, err = unix.Mmap(int(p.shared.Fd()), 0, mailbox.Size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED); err != nil {
		return p, err
	}
	p.box, err = mailbox.Open(p.mapped)
	return p, err
}

func memory(name string, content []byte) (*os.File, error) {
	fd, err := unix.MemfdCreate("congctl-"+name, unix.MFD_CLOEXEC)
	if err != nil {
		return nil, err
	}
	f := os.NewFile(uintptr(fd), name)
	if _, err := f.Write(content); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// pair makes two connected sockets. Ours can be waited for and closed meanwhile.
func pair() (near, far *os.File, err error) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, nil, err
	}
	if err := unix.SetNonblock(fds[0], true); err != nil {
		return nil, nil, errors.Join(err, unix.Close(fds[0]), unix.Close(fds[1]))
	}
	return os.NewFile(uintptr(fds[0]), "monitor"), os.NewFile(uintptr(fds[1]), "monitor"), nil
}

func (p *parts) close() {
	for _, f := range []*os.File{p.kernel, p.initramfs, p.shared, p.console, p.near, p.far} {
		if f != nil {
			f.Close()
		}
	}
	if p.mapped != nil {
		_ = unix.Munmap(p.mapped)
	}
}

// consoleTail in bytes: a panic's text and the messages before it are some KB.
const consoleTail = 16 << 10

func (p *parts) consoleEnd() string {
	size, err := p.console.Seek(0, io.SeekEnd)
	if err != nil {
		return ""
	}
	tail := make([]byte, min(size, consoleTail))
	n, _ := p.console.ReadAt(tail, size-int64(len(tail)))
	return string(tail[:n])
}
