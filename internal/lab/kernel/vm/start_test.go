package vm

import (
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

func TestNthCPUCountsRound(t *testing.T) {
	var set unix.CPUSet
	for _, cpu := range []int{2, 3, 70} {
		set.Set(cpu)
	}
	for n, want := range map[int]int{0: 2, 1: 3, 2: 70, 3: 2, 7: 3, -1: 70} {
		if got := nthCPU(&set, n); got != want {
			t.Errorf("%d: CPU %d, want %d", n, got, want)
		}
	}
}

// TestChildIsPinnedAndThisProcessIsNot asks a child itself.
func TestChildIsPinnedAndThisProcessIsNot(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var before, after unix.CPUSet
	if err := unix.SchedGetaffinity(0, &before); err != nil {
		t.Fatal(err)
	}
	for n := range 2 {
		var out strings.Builder
		cmd := exec.Command("grep", "Cpus_allowed_list", "/proc/self/status")
		cmd.Stdout = &out
		if err := startPinned(cmd, n, 0); err != nil {
			t.Fatal(err)
		}
		if err := cmd.Wait(); err != nil {
			t.Fatal(err)
		}
		if want := strconv.Itoa(nthCPU(&before, n)); strings.TrimSpace(strings.TrimPrefix(out.String(), "Cpus_allowed_list:")) != want {
			t.Errorf("child %d: %q, want CPU %s alone", n, out.String(), want)
		}
	}
	if err := unix.SchedGetaffinity(0, &after); err != nil || after != before {
		t.Errorf("this thread had %v, has %v, %v", before, after, err)
	}
}
