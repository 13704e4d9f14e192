// Package distro runs a whole distribution in a virtual machine: its root file system on a
// disk image (tools/debian-image.sh), its init, its own boot order. A test runs commands
// in it, reboots it, and cuts its power. The package is the test bed for permanent changes
// to a host.
//
// It is not lab/kernel/vm, which has one program and virtual time and keeps nothing. Here time
// is the host's, and the disk persists.
//
// Its trap: a script's answer says nothing about the disk. What was written survives a
// power cut only if something synced it, and that is what the tests check: nothing here
// syncs.
package distro

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Machine is what to boot.
type Machine struct {
	Image   string // kernel
	Disk    string // raw image of the root file system, written to
	Program string // file that the guest sees as the disk /dev/vda, padded to whole sectors
	Console string // file for the guest's console, appended to
}

// Running is a machine that is up.
type Running struct {
	Up time.Duration // the guest's uptime when its last service was started

	cmd     *exec.Cmd
	port    *os.File
	in      *bufio.Reader
	console string
	ended   chan struct{}
	err     error // how QEMU ended; to be read when ended is closed
}

// ErrEnded: the machine turned itself off, or QEMU died.
var ErrEnded = errors.New("machine ended")

const qemuName = "qemu-system-x86_64"

// Boot starts the machine and waits until it takes scripts. When ctx ends, so does the machine.
func Boot(ctx context.Context, m Machine) (*Running, error) {
	near, far, err := pair()
	if err != nil {
		return nil, fmt.Errorf("boot machine: %w", err)
	}
	defer far.Close()
	r := &Running{cmd: exec.CommandContext(ctx, qemuName, m.args()...), port: near, in: bufio.NewReader(near), console: m.Console, ended: make(chan struct{})}
	r.cmd.ExtraFiles = []*os.File{far}
	if err := r.start(); err != nil {
		near.Close()
		return nil, fmt.Errorf("boot machine: %w", err)
	}
	line, err := r.line()
	if err == nil {
		r.Up, err = parseUp(line)
	}
	if err != nil {
		r.Cut()
		return nil, fmt.Errorf("boot machine: %w; its console ends:\n%s", err, tail(m.Console))
	}
	return r, nil
}

// start runs QEMU on a thread that waits for it: the kernel ends a child with the thread
// that started it, and the runtime may end any other.
func (r *Running) start() error {
	var stderr strings.Builder
	r.cmd.Stdout, r.cmd.Stderr = &stderr, &stderr
	r.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	started := make(chan error)
	go func() {
		runtime.LockOSThread()
		err := r.cmd.Start()
		started <- err
		if err != nil {
			return
		}
		if err := r.cmd.Wait(); err != nil {
			r.err = fmt.Errorf("%w: %s", err, strings.TrimSpace(stderr.String()))
		}
		r.port.Close() // a reader has waited long enough
		close(r.ended)
	}()
	return <-started
}

// answerLimit is for a guest that stands still: its drive ends a script after ten minutes. A boot takes 30 s of
// a processor; beside all else that CI does at once, some guests have had a fifth of one.
const answerLimit = 15 * time.Minute

func (r *Running) line() (string, error) {
	_ = r.port.SetReadDeadline(time.Now().Add(answerLimit)) // a closed port has no deadline and no line
	line, err := r.in.ReadString('\n')
	switch {
	case err == nil:
		return strings.TrimSuffix(line, "\n"), nil
	case errors.Is(err, os.ErrDeadlineExceeded):
		return "", fmt.Errorf("no answer in %s; the console ends:\n%s", answerLimit, tail(r.console))
	}
	<-r.ended
	return "", errors.Join(ErrEnded, r.err)
}

// Cut takes the power away: no script ends, nothing is synced.
func (r *Running) Cut() {
	_ = r.cmd.Process.Kill() // it may have ended by itself
	<-r.ended
}

// Off turns the machine off, or reboots it, with an administrator's command. It ends
// either way; boot it again.
func (r *Running) Off(command string) error {
	if err := r.send(command); err != nil {
		return err
	}
	select {
	case <-r.ended:
	case <-time.After(answerLimit):
		return fmt.Errorf("turn machine off: not off in %s; the console ends:\n%s", answerLimit, tail(r.console))
	}
	if r.err != nil {
		return fmt.Errorf("turn machine off: %w", r.err)
	}
	return nil
}

func parseUp(line string) (time.Duration, error) {
	text, ok := strings.CutPrefix(line, "up ")
	seconds, err := strconv.ParseFloat(text, 64)
	if !ok || err != nil {
		return 0, fmt.Errorf("read greeting: %q is not a greeting", line)
	}
	return time.Duration(seconds * float64(time.Second)), nil
}

// consoleTail in bytes: one screen.
const consoleTail = 2000

func tail(path string) string {
	b, err := os.ReadFile(path)
	if err != nil {
		return err.Error()
	}
	return string(b[max(0, len(b)-consoleTail):])
}

// pair makes two connected sockets. Ours can be closed during a read.
func pair() (near, far *os.File, err error) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, nil, fmt.Errorf("make sockets: %w", err)
	}
	near, far = nil, os.NewFile(uintptr(fds[1]), "far")
	if err := unix.SetNonblock(fds[0], true); err != nil {
		return nil, nil, errors.Join(fmt.Errorf("make sockets: %w", err), far.Close(), unix.Close(fds[0]))
	}
	return os.NewFile(uintptr(fds[0]), "near"), far, nil
}
