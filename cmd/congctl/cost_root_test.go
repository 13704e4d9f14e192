package main

import (
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// What refusing may cost, whatever was sent. Time is the process's own, in all its threads, so that a busy machine does not
// count; noisy is for the caches that it loses there, and for what else the process does meanwhile.
const (
	refusalTime   = 50 * time.Millisecond
	refusalKB     = 64 << 10
	refusalLogged = 500 // bytes of one line
	noisy         = 4
)

// cost is what refusing an attack took of the process that was attacked.
type cost struct {
	time   time.Duration
	kB     int // above what was resident before
	logged int // bytes
}

// row is the cost as the table of docs/how-tested.md has it.
func (c cost) row(name string) string {
	return fmt.Sprintf("| %s | %.1f ms | %.1f MB | %d |", name, float64(c.time.Microseconds())/1000, float64(c.kB)/1024, c.logged)
}

// bounded fails the test of an attack that was refused so many times, unless its cost is what refusing may cost.
func (c cost) bounded(t *testing.T, name string, times int) {
	t.Helper()
	if c.time > noisy*refusalTime*time.Duration(times) || c.kB > refusalKB || c.logged > refusalLogged*times {
		t.Errorf("%s, %d refusals: %v of CPU, %d kB, %d bytes logged", name, times, c.time, c.kB, c.logged)
	}
}

// costs begins to measure; the function that it returns ends it.
func (e *edge) costs() func() cost {
	e.t.Helper()
	pid := e.cmd.Process.Pid
	check(e.t, os.WriteFile(fmt.Sprintf("/proc/%d/clear_refs", pid), []byte("5"), 0)) // its peak begins anew
	began, resident, logged := cpuOf(e.t, pid), statusKB(e.t, pid, "VmRSS"), len(e.log.String())
	return func() cost {
		e.t.Helper()
		return cost{cpuOf(e.t, pid) - began, max(0, statusKB(e.t, pid, "VmHWM")-resident), len(e.log.String()) - logged}
	}
}

// cpuOf is the time that a process has had of all CPUs, by its clock (clock_getcpuclockid(3)).
func cpuOf(t testing.TB, pid int) time.Duration {
	t.Helper()
	var ts unix.Timespec
	check(t, unix.ClockGettime(int32(^pid<<3|2), &ts))
	return time.Duration(ts.Nano())
}

func statusKB(t testing.TB, pid int, key string) int {
	t.Helper()
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	check(t, err)
	n, err := strconv.Atoi(regexp.MustCompile(key + `:\s+(\d+) kB`).FindStringSubmatch(string(b))[1])
	check(t, err)
	return n
}

// costTable is the rows of what was measured.
type costTable struct{ rows []string }

func (c *costTable) add(name string, of cost) { c.rows = append(c.rows, of.row(name)) }

func (c *costTable) String() string {
	return "| attack | time | memory | bytes logged |\n|---|---|---|---|\n" + strings.Join(c.rows, "\n")
}
