// Package guest is the first process inside a machine of lab/kernel/vm: it mounts what
// programs expect, loads the modules, lets the host take a snapshot, seeds the kernel's
// random numbers from the job, runs the job, leaves the report in the mailbox, and turns
// the machine off.
//
// It does not know the job.
//
// Its trap: there is one CPU and time is counted in its instructions. A loop that waits by
// reading the clock, or a ticker of microseconds, costs real seconds, where sleeping for
// an hour costs nothing.
package guest

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"time"

	"golang.org/x/sys/unix"

	"github.com/congctl/congctl/internal/lab/kernel/vm/mailbox"
)

// IsGuest reports whether this process is the first one of such a machine. The kernel
// passes unknown words of its command line to the first process.
func IsGuest() bool { return os.Getpid() == 1 && os.Getenv("CONGCTL_GUEST") == "1" }

// Run is a job: it returns a report, or why not.
type Run func(job []byte, progress func(string)) (report []byte, err error)

// Main does everything, and does not return.
func Main(run Run) {
	box, err := openMailbox()
	if err != nil {
		// Without a mailbox there is only the console: the kernel panics as its first
		// process ends, and that is what the host shows.
		fmt.Fprintln(os.Stderr, "guest:", err)
		os.Exit(1)
	}
	times := mailbox.Times{Up: uptime()}
	report, err := work(run, box, &times)
	times.Ended = uptime()
	if err == nil {
		err = box.Report(report, times)
	}
	if err != nil {
		box.Fault(err, times)
	}
	for {
		err = unix.Reboot(unix.LINUX_REBOOT_CMD_POWER_OFF)
		fmt.Fprintln(os.Stderr, "guest: power off:", err)
		time.Sleep(time.Second)
	}
}

func work(run Run, box mailbox.Box, times *mailbox.Times) (report []byte, err error) {
	defer func() {
		if thrown := recover(); thrown != nil {
			err = fmt.Errorf("panic: %v\n%s", thrown, debug.Stack())
		}
	}()
	if err := errors.Join(tuneRuntime(), mount()); err != nil {
		return nil, err
	}
	if err := loadModules("/modules"); err != nil {
		return nil, err
	}
	times.Loaded = uptime()
	// Up to here all machines are alike: the host may keep this one and start others from
	// it. A kernel without ioperm boots each time.
	box.Wait()
	if err := pause(); err != nil && !errors.Is(err, unix.ENOSYS) {
		return nil, err
	}
	job := box.Job()
	if err := seedRandom(job); err != nil {
		return nil, err
	}
	return run(job, box.Say)
}

// uptime is the guest's clock since its kernel started.
func uptime() time.Duration {
	var t unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_MONOTONIC, &t) // cannot fail: the clock exists and t is there
	return time.Duration(t.Nano())
}

// tuneRuntime: garbage is collected only when half of the memory is full. A collection
// costs instructions, which are time here, at times that depend on what was allocated. In User
// Mode Linux it takes no time, and memory is dear: each page may be a mapping of its own on the
// host, which allows a process 65,530 (vm.max_map_count).
func tuneRuntime() error {
	runtime.GOMAXPROCS(1)
	if isProgram() {
		return nil
	}
	var info unix.Sysinfo_t
	if err := unix.Sysinfo(&info); err != nil {
		return fmt.Errorf("read memory size: %w", err)
	}
	debug.SetGCPercent(-1)
	debug.SetMemoryLimit(int64(info.Totalram) * int64(info.Unit) / 2)
	return nil
}
