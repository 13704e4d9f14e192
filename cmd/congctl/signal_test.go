package main

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// readers are verbs that wait for more than the place to write their answer to, which
// TestSignalsEndEveryVerb finds by itself.
var readers = []string{"simulate --history -", "change forget 000001-host", "status --wait 1h", "lab run quick --world netns"}

// TestSignalsEndEveryVerb: the real program ends by SIGINT and by SIGTERM, whichever verb it
// runs and whatever that waits for. Each verb is given the first example of its help, a
// standard input that says nothing, a congctl that answers nothing, and an output that takes
// nothing: so a new verb waits somewhere, too.
func TestSignalsEndEveryVerb(t *testing.T) {
	dir := t.TempDir()
	conf, sock := filepath.Join(dir, "congctl.yml"), filepath.Join(dir, "s")
	check(t, os.WriteFile(conf, []byte("pop: edge1\nstate_dir: "+dir+"\nsocket: "+sock+"\n"), 0o600))
	planted(t, filepath.Join(dir, "changes"), filepath.Join(dir, "target"))
	silent, err := net.Listen("unix", sock)
	check(t, err)
	defer silent.Close()
	lines := slices.Clone(readers)
	for _, cmd := range leaves(testRoot()) {
		if name := nameOf(cmd); !slices.Contains(wholly, name) && name != "shape show" { // which has nothing to say where no link is limited
			_, example, _ := strings.Cut(strings.SplitN(cmd.Example, "\n", 2)[0], "congctl ")
			lines = append(lines, example)
		}
	}
	const atOnce = 24
	for batch := range slices.Chunk(lines, atOnce) {
		var all sync.WaitGroup
		for i, line := range batch {
			args := append(strings.Fields(line), "-c", conf, "--timeout", "1h")
			if strings.HasPrefix(line, "change") {
				args = append(args, "--changes", filepath.Join(dir, "changes"))
			}
			all.Go(func() {
				if err := endsBy([]syscall.Signal{unix.SIGINT, unix.SIGTERM}[i%2], dir, args); err != nil {
					t.Errorf("%s: %v", line, err)
				}
			})
		}
		all.Wait()
	}
}

// endsBy starts the program where it can do nothing, and ends it by a signal.
func endsBy(s syscall.Signal, dir string, args []string) error {
	in, full, err := deafAndDumb()
	if err != nil {
		return err
	}
	defer func() {
		for _, f := range append(in, full...) {
			f.Close()
		}
	}()
	cmd := program(args...)
	cmd.Env = append(cmd.Env, "PATH=/nonexistent", "HOME="+dir, "XDG_CACHE_HOME="+dir, "CONGCTL_LAB_CACHE="+dir) // so lab verbs start no machine
	cmd.Dir, cmd.Stdin, cmd.Stdout, cmd.Stderr = dir, in[0], full[1], full[1]
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		return err
	}
	const (
		underWay = 700 * time.Millisecond // one that has not come so far is ended by the signal itself
		hung     = 2 * time.Minute        // far beyond the 2 s of a host that is not busy
	)
	time.Sleep(underWay)
	if err := cmd.Process.Signal(s); err != nil {
		return fmt.Errorf("it did not wait: %w", err)
	}
	kill := time.AfterFunc(hung, func() { _ = cmd.Process.Kill() })
	defer kill.Stop()
	_ = cmd.Wait()
	if how := cmd.ProcessState.Sys().(syscall.WaitStatus); how.ExitStatus() != endedBy(s) && how.Signal() != s {
		return fmt.Errorf("ended with %s, want %s or exit code %d", cmd.ProcessState, s, endedBy(s))
	}
	return nil
}

// deafAndDumb returns a pipe to which nothing is written, and one that has no more room.
func deafAndDumb() (empty, full []*os.File, err error) {
	var pipes [2][2]int
	for i := range pipes {
		if err := unix.Pipe2(pipes[i][:], unix.O_CLOEXEC); err != nil {
			return nil, nil, err
		}
	}
	size, err := unix.FcntlInt(uintptr(pipes[1][1]), unix.F_SETPIPE_SZ, os.Getpagesize())
	if err == nil {
		_, err = unix.Write(pipes[1][1], make([]byte, size))
	}
	for i, p := range pipes {
		files := []*os.File{os.NewFile(uintptr(p[0]), "read"), os.NewFile(uintptr(p[1]), "write")}
		if i == 0 {
			empty = files
		} else {
			full = files
		}
	}
	return empty, full, err
}

// TestWholly: each verb that a signal does not cut short exists.
func TestWholly(t *testing.T) {
	for _, name := range wholly {
		verb, rest, err := newRoot().Find(strings.Fields(name))
		if err != nil || len(rest) > 0 || !slices.Equal(strings.Fields(nameOf(verb)), strings.Fields(name)) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
