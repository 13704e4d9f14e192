// Package cpu reports whether this host is short of CPU: the share of time that a
// hypervisor kept from it (steal) and how many tasks wanted each processor, as long as they also kept
// this process waiting: idle work of an ordinary user, or niced, gives way at once and takes nothing
// from others.
//
// It is not a load monitor. It answers one question: may new connections be moved to BBR,
// whose pacing timers suffer first when CPU is short?
//
// Its trap: both figures need several calls, about one per poll; the first ones mean
// nothing.
package cpu

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// Limits beyond which a host counts as starved.
type Limits struct {
	StealShare float64 // of all processors' time, 0..1
	// RunQueuePerCPU is of runnable tasks per processor, mean of the last samples; and of this process's
	// time of running and waiting to run, as a multiple of its running, which among equals is the
	// same number.
	RunQueuePerCPU float64
}

// Meter remembers the counters of the last few calls.
type Meter struct {
	proc   string // path, so that a test can bring its own
	limits Limits
	ring   [samples]Counters
	n      int // calls so far
}

// samples: the run queue is read at an instant, and this program itself runs then; and a
// limit that is crossed back and forth would be reported at each poll. Six polls of 10 s
// make a mean over a minute.
const samples = 6

// Counters are those of all processors.
type Counters struct {
	Total, Steal uint64 // jiffies since boot
	Running      uint64 // tasks, now
	CPUs         int
	Ran, Waited  uint64 // ns of this process's threads, on a processor and for one; 0: not known
}

// NewMeter reads the stat file of proc ("/proc"), and schedstat of this process's threads.
func NewMeter(proc string, l Limits) *Meter { return &Meter{proc: proc, limits: l} }

// Starved returns a reason if the host was short of CPU over the last calls, and "" if it
// was not or if there were too few calls.
func (m *Meter) Starved() (string, error) {
	text, err := os.ReadFile(m.proc + "/stat")
	var now Counters
	if err == nil {
		now, err = Parse(string(text))
	}
	if err != nil {
		return "", fmt.Errorf("read cpu counters: %w", err)
	}
	now.Ran, now.Waited = m.own()
	oldest := m.ring[m.n%samples] // zero in the first round
	m.ring[m.n%samples] = now
	m.n++
	if m.n < samples {
		return "", nil
	}
	if q := m.meanQueue(); q > m.limits.RunQueuePerCPU && m.waits(m.ring[m.n%samples], now) {
		return fmt.Sprintf("%.1f runnable tasks per CPU, limit %.1f", q, m.limits.RunQueuePerCPU), nil
	}
	if oldest.Total == 0 || now.Total <= oldest.Total {
		return "", nil
	}
	if s := float64(now.Steal-oldest.Steal) / float64(now.Total-oldest.Total); s > m.limits.StealShare {
		return fmt.Sprintf("steal %.1f %% of CPU time, limit %.1f %%", 100*s, 100*m.limits.StealShare), nil
	}
	return "", nil
}

func (m *Meter) meanQueue() float64 {
	var sum float64
	for _, c := range m.ring {
		// We run while we look: one of the running tasks is this one.
		sum += float64(max(c.Running, 1)-1) / float64(max(c.CPUs, 1))
	}
	return sum / samples
}

// waits reports whether this process waited for a processor as it would among more equals than the
// limit. Where the kernel does not say (CONFIG_SCHED_INFO), or a thread ended, it is taken to have.
func (m *Meter) waits(then, now Counters) bool {
	if then.Ran == 0 || now.Ran <= then.Ran || now.Waited < then.Waited {
		return true
	}
	ran, waited := float64(now.Ran-then.Ran), float64(now.Waited-then.Waited)
	return (ran+waited)/ran > m.limits.RunQueuePerCPU
}

// own sums "ran waited slices" of this process's threads. One that ended meanwhile is left out.
func (m *Meter) own() (ran, waited uint64) {
	threads, _ := filepath.Glob(m.proc + "/self/task/*/schedstat")
	for _, name := range threads {
		text, err := os.ReadFile(name)
		var r, w uint64
		if err == nil {
			_, err = fmt.Sscan(string(text), &r, &w)
		}
		if err == nil {
			ran, waited = ran+r, waited+w
		}
	}
	return ran, waited
}

// Parse takes from the text of /proc/stat the line "cpu user nice system idle iowait irq
// softirq steal guest guest_nice" (guest time is part of user time already), the
// number of cpuN lines, and procs_running.
func Parse(stat string) (c Counters, err error) {
	summed := false
	for line := range strings.Lines(stat) {
		w := strings.Fields(line)
		switch {
		case len(w) >= 9 && w[0] == "cpu":
			summed = true
			if c.Total, c.Steal, err = times(w[1:9]); err != nil {
				return c, fmt.Errorf("parse /proc/stat: %w", err)
			}
		case len(w) > 1 && strings.HasPrefix(w[0], "cpu"):
			c.CPUs++
		case len(w) == 2 && w[0] == "procs_running":
			if c.Running, err = strconv.ParseUint(w[1], 10, 64); err != nil {
				return c, fmt.Errorf("parse /proc/stat: %w", err)
			}
		}
	}
	if !summed || c.CPUs == 0 { // a total of 0 is a machine at its start: User Mode Linux has counted no time yet
		return c, errors.New("parse /proc/stat: no cpu lines")
	}
	return c, nil
}

func times(w []string) (total, steal uint64, err error) {
	for i, s := range w {
		n, err := strconv.ParseUint(s, 10, 64)
		if err != nil {
			return 0, 0, err
		}
		total += n
		if i == 7 {
			steal = n
		}
	}
	return total, steal, nil
}
