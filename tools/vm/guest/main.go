// Command guest is the first process of the test machine: it mounts what a
// distribution mounts, loads the modules, runs the test programs one after the
// other as root, and turns the machine off.
//
// It judges nothing: tools/vm.sh reads its output outside.
//
// Its trap: the first process inherits every orphan. One that waits only for its own child
// keeps the others as zombies, and a test that looks for leftovers finds them.
package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"unsafe"
)

// report is the second serial port: the first has the kernel's messages, which
// would break the lines of the tests.
const report = "/dev/ttyS1"

func main() {
	err := prepare()
	if err == nil {
		err = runAll("/plan")
	}
	if err != nil {
		fmt.Println("guest:", err)
	}
	fmt.Println("@@ off")
	_ = os.Stdout.Sync()
	syscall.Sync()
	_ = syscall.Reboot(syscall.LINUX_REBOOT_CMD_POWER_OFF)
}

var mounts = []struct{ kind, at string }{
	{"devtmpfs", "/dev"}, {"proc", "/proc"}, {"sysfs", "/sys"}, {"cgroup2", "/sys/fs/cgroup"}, {"bpf", "/sys/fs/bpf"},
	{"tmpfs", "/tmp"}, {"tmpfs", "/run"}, {"tmpfs", "/dev/shm"},
}

func prepare() error {
	for _, m := range mounts {
		if err := os.MkdirAll(m.at, 0o755); err != nil {
			return fmt.Errorf("mount %s: %w", m.kind, err)
		}
		if err := syscall.Mount(m.kind, m.at, m.kind, 0, ""); err != nil {
			return fmt.Errorf("mount %s: %w", m.kind, err)
		}
	}
	if err := os.Chmod("/tmp", 0o1777); err != nil {
		return fmt.Errorf("open /tmp to all: %w", err)
	}
	out, err := os.OpenFile(report, os.O_WRONLY, 0)
	if err != nil {
		return fmt.Errorf("open report: %w", err)
	}
	os.Stdout, os.Stderr = out, out
	if err := loadModules("/modules"); err != nil {
		return err
	}
	if status, err := run("/", []string{"ip", "link", "set", "lo", "up"}); err != nil || status != 0 {
		return fmt.Errorf("set lo up: status %d, %w", status, err)
	}
	return sayHello()
}

func sayHello() error {
	release, err := os.ReadFile("/proc/sys/kernel/osrelease")
	if err != nil {
		return err
	}
	uptime, err := os.ReadFile("/proc/uptime")
	if err != nil {
		return err
	}
	fmt.Printf("@@ up %s %s\n", strings.TrimSpace(string(release)), strings.Fields(string(uptime))[0])
	return nil
}

func loadModules(dir string) error {
	files, err := filepath.Glob(dir + "/*.ko")
	if err != nil {
		return err
	}
	for _, name := range files { // Glob sorts: they are numbered in the order of loading
		b, err := os.ReadFile(name)
		if err != nil {
			return fmt.Errorf("load module: %w", err)
		}
		none := []byte{0}
		_, _, errno := syscall.Syscall(syscall.SYS_INIT_MODULE, uintptr(unsafe.Pointer(&b[0])), uintptr(len(b)), uintptr(unsafe.Pointer(&none[0])))
		if errno != 0 && errno != syscall.EEXIST {
			return fmt.Errorf("load module %s: %w", name, errno)
		}
	}
	return nil
}
