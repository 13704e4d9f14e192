package vm

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"time"
)

// A kernel that is a program, User Mode Linux, needs no emulator: its processes run at full
// speed under ptrace(2), and its clock advances only while it waits ("time travel",
// Documentation/virt/uml in the kernel's source). An instruction takes no time, where in
// QEMU it takes a nanosecond.

// The numbers of its files, after standard input, output and error.
const (
	programInitramfsFD = 3 + iota
	programSharedFD
)

// programArgs are its options. What each is for:
//
//   - time-travel: the clock advances from timer to timer, from the same moment.
//   - iomem: the mailbox, as the memory of a device that the guest maps.
//   - con0: the console is written to a file. Any other console sends interrupts, at moments
//     of the host.
func (m *Machine) programArgs() []string {
	travel := "time-travel=inf-cpu"
	if m.CPUTakesTime {
		travel = "time-travel"
	}
	return []string{
		fmt.Sprintf("mem=%dM", m.MemoryMB), travel, fmt.Sprintf("time-travel-start=%d", programEpoch.UnixNano()),
		"initrd=" + inQEMU(programInitramfsFD), "iomem=mmapper," + inQEMU(programSharedFD),
		"con=null", "con0=null,fd:1", "CONGCTL_GUEST=1", "quiet", "panic=-1", "oops=panic",
	}
}

// programEpoch is the machine's first moment, the same as in QEMU (-rtc).
var programEpoch = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

const (
	asItIs          = 0xffffffff // personality(2): read only
	addrNoRandomize = 0x0040000  // ADDR_NO_RANDOMIZE: addresses are part of a run
)

// startsProgram is starts for a kernel that is a program. It writes only into a folder of
// its own: a number of its process, and a core file if it crashes.
func (m *Machine) startsProgram(p *parts, out *Outcome) (start func(context.Context) (time.Duration, error), end func(bool), err error) {
	dir, err := os.MkdirTemp("", "congctl-uml-")
	if err != nil {
		return nil, nil, fmt.Errorf("make folder for the guest: %w", err)
	}
	out.Args = append(m.programArgs(), "uml_dir=./") // dir: its name may not differ between runs
	start = func(ctx context.Context) (time.Duration, error) {
		cmd := exec.CommandContext(ctx, m.Kernel.Image, out.Args...)
		// The seed is of the boot: the job's own comes with the job. Without rseq, glibc's
		// registration would be inherited by each guest process, and the host would end it.
		cmd.Env = []string{"UML_SEED=1", "GLIBC_TUNABLES=glibc.pthread.rseq=0"}
		cmd.Dir, cmd.Stdout, cmd.Stderr = dir, p.console, p.console
		cmd.ExtraFiles = []*os.File{p.initramfs, p.shared}
		cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true}
		cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
		if err := startPinned(cmd, m.CPU, addrNoRandomize); err != nil {
			return 0, fmt.Errorf("start %s: %w", m.Kernel.Image, err)
		}
		ended := make(chan error, 1)
		go func() { ended <- cmd.Wait() }()
		return p.wait(cmd, ended, m)
	}
	return start, func(bool) { os.RemoveAll(dir) }, nil
}
