// Package cpu tells whether this host is short of CPU: the share of time that a
// hypervisor kept from it (steal) and how many tasks wanted each processor.
//
// It is no load monitor. It answers one question: may new connections be moved to
// BBR, whose pacing timers suffer first where CPU is short?
//
// Its trap: both figures need several calls, about one a poll; the first ones say
// nothing.
package cpu

import (
	"fmt"
	"os"
	"strconv"
	"strings"
)

// Limits beyond which a host counts as starved.
type Limits struct {
	StealShare     float64 // of all processors' time, 0..1
	RunQueuePerCPU float64 // runnable tasks per processor, mean of the last samples
}

// Meter remembers the counters of the last few calls.
type Meter struct {
	stat   string // path, so that a test can bring its own
	limits Limits
	ring   [samples]counters
	n      int // calls so far
}

// samples: the run queue is read at an instant, and this very program runs then;
// and a limit that is crossed to and fro each poll would be told of each time. Six
// polls of 10 s make a mean over a minute.
const samples = 6

type counters struct {
	total, steal uint64 // jiffies, all processors
	running      uint64 // tasks, now
	cpus         int
}

// NewMeter reads the stat file of proc ("/proc").
func NewMeter(proc string, l Limits) *Meter { return &Meter{stat: proc + "/stat", limits: l} }

// Starved gives a reason when the host was short of CPU over the last calls, and
// "" when it was not or when too few calls were made to tell.
func (m *Meter) Starved() (string, error) {
	now, err := m.read()
	if err != nil {
		return "", fmt.Errorf("read cpu counters: %w", err)
	}
	oldest := m.ring[m.n%samples] // zero in the first round
	m.ring[m.n%samples] = now
	m.n++
	if m.n < samples {
		return "", nil
	}
	if q := m.meanQueue(); q > m.limits.RunQueuePerCPU {
		return fmt.Sprintf("%.1f runnable tasks per CPU, limit %.1f", q, m.limits.RunQueuePerCPU), nil
	}
	if oldest.total == 0 || now.total <= oldest.total {
		return "", nil
	}
	if s := float64(now.steal-oldest.steal) / float64(now.total-oldest.total); s > m.limits.StealShare {
		return fmt.Sprintf("steal %.1f %% of CPU time, limit %.1f %%", 100*s, 100*m.limits.StealShare), nil
	}
	return "", nil
}

func (m *Meter) meanQueue() float64 {
	var sum float64
	for _, c := range m.ring {
		// We run while we look: one of the running tasks is this one.
		sum += float64(max(c.running, 1)-1) / float64(max(c.cpus, 1))
	}
	return sum / samples
}

// read takes from /proc/stat the line "cpu user nice system idle iowait irq
// softirq steal guest guest_nice" (guest time is part of user time already), the
// number of cpuN lines, and procs_running.
func (m *Meter) read() (c counters, err error) {
	b, err := os.ReadFile(m.stat)
	if err != nil {
		return c, err
	}
	for line := range strings.Lines(string(b)) {
		w := strings.Fields(line)
		switch {
		case len(w) >= 9 && w[0] == "cpu":
			if c.total, c.steal, err = times(w[1:9]); err != nil {
				return c, fmt.Errorf("parse %s: %w", m.stat, err)
			}
		case len(w) > 1 && strings.HasPrefix(w[0], "cpu"):
			c.cpus++
		case len(w) == 2 && w[0] == "procs_running":
			if c.running, err = strconv.ParseUint(w[1], 10, 64); err != nil {
				return c, fmt.Errorf("parse %s: %w", m.stat, err)
			}
		}
	}
	if c.total == 0 || c.cpus == 0 {
		return c, fmt.Errorf("parse %s: no cpu lines", m.stat)
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
