package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

// runUntraced is the program where ptrace(2) is forbidden, as in many containers.
func runUntraced() error {
	runtime.LockOSThread()
	filter := []unix.SockFilter{
		{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: 0}, // seccomp_data.nr
		{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, Jf: 1, K: unix.SYS_PTRACE},
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ERRNO | uint32(unix.EPERM)},
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW},
	}
	prog := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return err
	}
	if _, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_TSYNC, uintptr(unsafe.Pointer(&prog))); errno != 0 {
		return errno
	}
	main()
	return nil
}

// TestLabWithoutPtrace: an explicit --world uml says what is forbidden, and auto takes QEMU.
func TestLabWithoutPtrace(t *testing.T) {
	needProgram(t)
	dir := t.TempDir()
	lab := func(world string) (string, error) {
		cmd := exec.Command("/proc/self/exe", "lab", "run", "quick", "--cells", "loss=0%/bbr", "--world", world,
			"--cache", os.Getenv(labCacheEnv), "--out", filepath.Join(dir, world))
		cmd.Env = append(os.Environ(), asEnv+"=untraced")
		b, err := cmd.CombinedOutput()
		return string(b), err
	}
	if said, err := lab("uml"); err == nil || !strings.Contains(said, "ptrace: Operation not permitted") {
		t.Errorf("--world uml: %v:\n%s", err, said)
	}
	said, err := lab("auto")
	manifest, _ := os.ReadFile(filepath.Join(dir, "auto", "manifest.json"))
	if err != nil || !strings.Contains(string(manifest), `"world": "vm"`) {
		t.Errorf("--world auto: %v:\n%s\n%s", err, said, manifest)
	}
}
