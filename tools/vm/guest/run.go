package main

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
)

// environ is that of a root login, plus the facts that this machine is disposable, and whether its clock is virtual.
var environ = []string{"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME=/tmp", "TMPDIR=/tmp", "LANG=C.UTF-8", "CONGCTL_THROWAWAY=1", "CONGCTL_VIRTUAL=" + os.Getenv("CONGCTL_VIRTUAL")}

// runAll runs the lines of a plan: a directory, a program and its arguments.
func runAll(plan string) error {
	text, err := os.ReadFile(plan)
	if err != nil {
		return fmt.Errorf("read plan: %w", err)
	}
	for line := range strings.Lines(string(text)) {
		words := strings.Fields(line)
		if len(words) < 2 {
			return fmt.Errorf("read plan: %q is not a directory and a program", line)
		}
		fmt.Println("@@ run", words[0])
		status, err := run("/src/"+words[0], words[1:])
		if err != nil {
			fmt.Println("guest:", err)
			status = 127
		}
		fmt.Println("@@ end", words[0], status)
	}
	return nil
}

// run starts a program and reaps whatever ends until that one has.
func run(dir string, argv []string) (status int, err error) {
	os.Setenv("PATH", strings.TrimPrefix(environ[0], "PATH="))
	path, err := exec.LookPath(argv[0])
	if err != nil {
		return 0, err
	}
	null, err := os.Open("/dev/null")
	if err != nil {
		return 0, err
	}
	defer null.Close()
	pid, err := syscall.ForkExec(path, argv, &syscall.ProcAttr{
		Dir: dir, Env: environ, Files: []uintptr{null.Fd(), os.Stdout.Fd(), os.Stderr.Fd()},
	})
	if err != nil {
		return 0, fmt.Errorf("start %s in %s: %w", path, dir, err)
	}
	for {
		var ws syscall.WaitStatus
		switch got, err := syscall.Wait4(-1, &ws, 0, nil); {
		case err == syscall.EINTR:
		case err != nil:
			return 0, fmt.Errorf("wait for %s: %w", path, err)
		case got == pid && ws.Signaled():
			return 128 + int(ws.Signal()), nil
		case got == pid:
			return ws.ExitStatus(), nil
		}
	}
}
