package enforce

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
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
	progs, maps := programs(t), mapIDs(t)
	cmd := exec.Command("/proc/self/exe", "-test.run=^TestKilledAgentLeavesNothing$")
	cmd.Env = append(os.Environ(), childEnv+"=1")
	out, err := cmd.StdoutPipe()
	check(t, err)
	check(t, cmd.Start())
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil || strings.TrimSpace(line) != "attached" {
		t.Fatalf("child said %q, %v", line, err)
	}
	if len(programs(t)) <= len(progs) || len(mapIDs(t)) <= len(maps) {
		t.Fatal("the child loaded nothing")
	}
	check(t, cmd.Process.Kill())
	_ = cmd.Wait()
	deadline := time.Now().Add(time.Second)
	for len(programs(t)) > len(progs) || len(mapIDs(t)) > len(maps) {
		if time.Now().After(deadline) {
			t.Fatalf("a second after kill -9: %d programs, %d maps; before: %d, %d",
				len(programs(t)), len(mapIDs(t)), len(progs), len(maps))
		}
		time.Sleep(10 * time.Millisecond)
	}
}

func holdUntilKilled(t *testing.T) {
	if _, err := Open(Options{Cgroup: os.Getenv(cgroupEnv)}); err != nil {
		t.Fatal(err)
	}
	fmt.Println("attached")
	time.Sleep(time.Minute)
}

func programs(t *testing.T) (ids []ebpf.ProgramID) {
	t.Helper()
	var id ebpf.ProgramID
	for {
		next, err := ebpf.ProgramGetNextID(id)
		if errors.Is(err, os.ErrNotExist) {
			return ids
		}
		check(t, err)
		id = next
		ids = append(ids, id)
	}
}

func mapIDs(t *testing.T) (ids []ebpf.MapID) {
	t.Helper()
	var id ebpf.MapID
	for {
		next, err := ebpf.MapGetNextID(id)
		if errors.Is(err, os.ErrNotExist) {
			return ids
		}
		check(t, err)
		id = next
		ids = append(ids, id)
	}
}
