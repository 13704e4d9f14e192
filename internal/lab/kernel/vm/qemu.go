package vm

import (
	"context"
	"fmt"
	"os/exec"
	"strconv"
	"strings"

	"github.com/congctl/congctl/internal/lab/kernel/vm/mailbox"
)

const qemuName = "qemu-system-x86_64"

type qemu struct{ path, version string }

func findQEMU(ctx context.Context) (qemu, error) {
	path, err := exec.LookPath(qemuName)
	if err != nil {
		return qemu{}, fmt.Errorf("find %s: %w: apt-get install -y qemu-system-x86", qemuName, err)
	}
	out, err := exec.CommandContext(ctx, path, "--version").Output()
	if err != nil {
		return qemu{}, fmt.Errorf("run %s --version: %w", path, err)
	}
	first, _, _ := strings.Cut(string(out), "\n")
	return qemu{path, strings.TrimPrefix(first, "QEMU emulator version ")}, nil
}

// args are QEMU's options. What each is for:
//
//   - icount: an instruction takes one nanosecond of virtual time, and a guest that
//     waits skips to its next timer. That is what makes time virtual. Recording (to
//     nowhere) has the main loop take turns with the CPU: without, it may see the guest
//     halted before the last instructions are counted, and skip from a stale time. On a
//     busy host every second run came out otherwise.
//   - cpu: without cx16, which QEMU 7.2 emulates wrongly and Linux 6.12 dies of; without
//     the host's random numbers; without erms, which makes the kernel copy byte by
//     byte, each an instruction to the emulator, instead of eight at a time.
//   - seed: QEMU hands the guest random bytes at boot; these are always the same.
//   - rtc: the wall clock starts at the same moment and runs on virtual time.
//   - ivshmem-plain: the mailbox, as a PCI device's memory; without master QEMU would
//     not save it.
//   - pvpanic: how the guest asks for the pause in which it is saved (snapshot.go).
//   - drive: where it is saved. The guest has no such disk.
func (m *Machine) args(p *parts) []string {
	return []string{
		"-nodefaults", "-no-user-config", "-display", "none", "-no-reboot",
		"-machine", "pc,usb=off,vmport=off,smbus=off", "-accel", "tcg", "-icount", "shift=0,sleep=off,rr=record,rrfile=/dev/null",
		"-cpu", "max,-cx16,-rdrand,-rdseed,-erms", "-smp", "1", "-m", strconv.Itoa(m.MemoryMB),
		"-seed", "1", "-rtc", "base=2026-01-01T00:00:00,clock=vm",
		"-chardev", "file,id=console,path=" + inQEMU(consoleFD), "-serial", "chardev:console",
		"-object", fmt.Sprintf("memory-backend-file,id=mailbox,share=on,mem-path=%s,size=%d", inQEMU(sharedFD), mailbox.Size),
		"-device", "ivshmem-plain,memdev=mailbox,master=on", "-device", "pvpanic", "-action", "panic=none",
		"-drive", "if=none,id=state,format=qcow2,cache=unsafe,file=" + inQEMU(driveFD),
		"-chardev", fmt.Sprintf("socket,id=monitor,fd=%d", monitorFD), "-mon", "chardev=monitor,mode=control",
		"-kernel", inQEMU(kernelFD), "-initrd", inQEMU(initramfsFD), "-append", strings.Join(commandLine, " "),
	}
}

// commandLine is the kernel's. Most of it spares the guest work that an experiment on
// networks does not need, at boot or for each packet. A kernel that does not know a
// word leaves it.
var commandLine = []string{
	"CONGCTL_GUEST=1",                                  // lab/kernel/guest knows by it where it is
	"console=ttyS0", "quiet", "panic=-1", "oops=panic", // a fault ends the machine, with its text
	"tsc=reliable", "nolapic_timer", // measuring the local APIC's timer spins for 200 ms
	"pci=noacpi", // the mailbox needs no interrupt: no ACPI tables, no local APIC, timers over the 8259
	"mitigations=off", "init_on_alloc=0", "psi=0", "noreplace-smp", "nokaslr", "audit=0", "lsm=capability",
	"cryptomgr.notests=1", // 740 ms of self-tests
	"initcall_blacklist=" + strings.Join([]string{
		"load_system_certificate_list",                            // checks keys of modules
		"trace_eval_init", "init_blk_tracer", "init_kprobe_trace", // tracing
		"dquot_init", "slab_sysfs_init", "init_acpi_pm_clocksource", "blake2s_mod_init", "crypto_kdf108_init",
	}, ","),
}
