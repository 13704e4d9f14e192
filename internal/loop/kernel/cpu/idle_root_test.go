package cpu

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// TestIdleLoops: 20 loops a processor of the least priority, as an ordinary user may start them, are no shortage. This
// process runs in real time, or else a busy machine of tests would keep it waiting.
func TestIdleLoops(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root: raises its priority; minimum kernel 3.14")
	}
	m := NewMeter("/proc", Limits{StealShare: 1, RunQueuePerCPU: 15})
	if ran, _ := m.own(); ran == 0 {
		t.Skip("needs CONFIG_SCHED_INFO, of which /proc/self/task/*/schedstat is; minimum kernel 2.6.23")
	}
	for range 20 * runtime.NumCPU() {
		loop := exec.Command("chrt", "--idle", "0", "sh", "-c", "while :; do :; done")
		if err := loop.Start(); err != nil {
			t.Skipf("needs chrt (util-linux): %v; minimum kernel 2.6.23", err)
		}
		t.Cleanup(func() { _ = loop.Process.Kill(); _ = loop.Wait() })
	}
	threads, err := os.ReadDir("/proc/self/task")
	if err != nil {
		t.Fatal(err)
	}
	for _, thread := range threads {
		id, _ := strconv.Atoi(thread.Name())
		set := func(policy, priority uint32) error {
			return unix.SchedSetAttr(id, &unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: policy, Priority: priority}, 0)
		}
		if err := set(unix.SCHED_FIFO, 1); err != nil {
			t.Skipf("needs real-time priority: %v; minimum kernel 3.14", err)
		}
		defer func() { _ = set(unix.SCHED_NORMAL, 0) }()
	}
	for call := 0; call < samples || m.meanQueue() < 15; call++ { // until the loops run
		for work := range 20_000 {
			_ = fmt.Sprint(work)
		}
		if why, err := m.Starved(); err != nil || why != "" {
			t.Fatalf("%q of %.1f a processor, %v", why, m.meanQueue(), err)
		}
		time.Sleep(20 * time.Millisecond)
	}
}
