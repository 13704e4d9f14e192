package enforce

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/cilium/ebpf"
)

const childEnv = "CONGCTL_TEST_CHILD"

// TestKilledAgentLeavesNothing kills a process that holds an Enforcer with
// SIGKILL: within a second none of its programs and maps may be left.
func TestKilledAgentLeavesNothing(t *testing.T) {
	needRoot(t)
	if os.Getenv(childEnv) != "" {
		holdUntilKilled(t)
		return
	}
	cmd := exec.Command("/proc/self/exe", "-test.run=^TestKilledAgentLeavesNothing$")
	cmd.Env = append(os.Environ(), childEnv+"=1")
	out, err := cmd.StdoutPipe()
	check(t, err)
	check(t, cmd.Start())
	ids := heldBy(t, out)
	if n := len(ids["prog_id"]) + len(ids["map_id"]); len(ids) != 2 || ids.left() < n {
		t.Fatalf("of the child's %v there are %d", ids, ids.left())
	}
	check(t, cmd.Process.Kill())
	_ = cmd.Wait()
	// A second of looks: a machine that stands still between two of them counts as one.
	for range 100 {
		if ids.left() == 0 {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatalf("a second after kill -9 there are %d of %v", ids.left(), ids)
}

// holdUntilKilled prints the ids of all that it holds, and "attached".
func holdUntilKilled(t *testing.T) {
	if _, err := Open(options()); err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob("/proc/self/fdinfo/*")
	check(t, err)
	for _, name := range files {
		text, _ := os.ReadFile(name) // the directory's own is closed by now
		for line := range strings.Lines(string(text)) {
			if strings.HasPrefix(line, "prog_id:") || strings.HasPrefix(line, "map_id:") {
				fmt.Print(line)
			}
		}
	}
	fmt.Println("attached")
	time.Sleep(time.Minute)
}

// bpfIDs names eBPF objects, as "prog_id" or "map_id" and a number that the kernel
// gives once. Counting all objects of the host would count other people's.
type bpfIDs map[string][]uint32

func heldBy(t *testing.T, said io.Reader) bpfIDs {
	t.Helper()
	ids := bpfIDs{}
	for lines := bufio.NewScanner(said); lines.Scan(); {
		if lines.Text() == "attached" {
			return ids
		}
		kind, number, _ := strings.Cut(lines.Text(), ":")
		var id uint32
		if _, err := fmt.Sscan(number, &id); err != nil {
			t.Fatalf("child said %q", lines.Text())
		}
		ids[kind] = append(ids[kind], id)
	}
	t.Fatal("the child ended")
	return nil
}

// left counts those that the kernel still has.
func (ids bpfIDs) left() (n int) {
	for _, id := range ids["prog_id"] {
		if p, err := ebpf.NewProgramFromID(ebpf.ProgramID(id)); !errors.Is(err, os.ErrNotExist) {
			n++
			p.Close()
		}
	}
	for _, id := range ids["map_id"] {
		if m, err := ebpf.NewMapFromID(ebpf.MapID(id)); !errors.Is(err, os.ErrNotExist) {
			n++
			m.Close()
		}
	}
	return n
}
