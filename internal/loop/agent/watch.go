package agent

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/congctl/congctl/internal/tcp/abi"
	"github.com/congctl/congctl/internal/tcp/record"
)

// Coverage is the share of new passive connections that eBPF saw:
//
//	sum of PASSIVE_ESTABLISHED callbacks / sum of the kernel's TcpPassiveOpens
//
// over the last coveragePolls polls of all polled namespaces. The kernel counts in
// tcp_create_openreq_child and calls eBPF a moment later, so a single poll may fall
// between the two; over a minute that is noise far below the limit.
type coverage struct {
	last map[record.NetnsID]opens
	ring [coveragePolls]opens
	at   int
	low  int // polls in a row below the limit
}

type opens struct{ kernel, ebpf uint64 }

const (
	coveragePolls = 6   // one minute of polls
	coverageMin   = 100 // connections: with fewer, one in flight is already a percent
	coverageLow   = 2   // polls in a row: the two counters are read a moment apart, and one slow moment is no fault
)

func (c *coverage) forget(id record.NetnsID) { delete(c.last, id) }

// add takes one namespace's counters at one poll.
func (c *coverage) add(id record.NetnsID, now opens) {
	if c.last == nil {
		c.last = map[record.NetnsID]opens{}
	}
	was, ok := c.last[id]
	c.last[id] = now
	if !ok || now.kernel < was.kernel || now.ebpf < was.ebpf {
		return
	}
	c.ring[c.at].kernel += now.kernel - was.kernel
	c.ring[c.at].ebpf += now.ebpf - was.ebpf
}

// turn begins the next poll's slot.
func (c *coverage) turn() {
	c.at = (c.at + 1) % coveragePolls
	c.ring[c.at] = opens{}
}

func (c *coverage) sum() (s opens) {
	for _, o := range c.ring {
		s.kernel += o.kernel
		s.ebpf += o.ebpf
	}
	return s
}

func (s opens) share() float64 {
	if s.kernel == 0 || s.ebpf > s.kernel {
		return 1
	}
	return float64(s.ebpf) / float64(s.kernel)
}

func (a *Agent) watchCoverage(spaces []Namespace) {
	if a.deps.Follower == nil {
		return
	}
	a.coverage.turn()
	for _, ns := range spaces {
		kernel, err1 := a.deps.Counters.PassiveOpens(ns.ID)
		ebpf, err2 := a.deps.Follower.Passive(ns.ID)
		if err1 == nil && err2 == nil {
			a.coverage.add(ns.ID, opens{kernel, ebpf})
		}
	}
	s := a.coverage.sum()
	a.mu.Lock()
	a.status.Coverage = s.share()
	a.status.CoverageOf = s.kernel
	a.mu.Unlock()
	if s.kernel < coverageMin || s.share() >= a.opt.CoverageLimit {
		a.coverage.low = 0
		a.ClearAlarm("coverage")
		return
	}
	if a.coverage.low++; a.coverage.low < coverageLow {
		return
	}
	a.RaiseAlarm("coverage", fmt.Sprintf("eBPF saw %d of %d new passive connections (%.1f %%, limit %.0f %%): %s",
		s.ebpf, s.kernel, 100*s.share(), 100*a.opt.CoverageLimit, a.suspects()))
}

// noteAttached alarms for at least one poll when the followed cgroup went, since what ended
// meanwhile was not seen.
func (a *Agent) noteAttached() {
	if a.deps.Attached == nil {
		return
	}
	switch again, err := a.deps.Attached(); {
	case err != nil:
		a.RaiseAlarm("cgroup", err.Error())
	case again:
		a.RaiseAlarm("cgroup", "the cgroup was removed and made again: attached again; connections from before are neither followed nor treated")
	default:
		a.ClearAlarm("cgroup")
	}
}

// watchLosses alarms while close records are lost, until a window passes without.
func (a *Agent) watchLosses(boot int64) {
	n := a.closes.lost()
	if a.deps.KernelCounts != nil {
		if k, err := a.deps.KernelCounts(); err == nil {
			n += k.RingFull
		}
	}
	switch more := n - a.losses.count; {
	case n > a.losses.count:
		a.losses = losses{n, boot}
		a.RaiseAlarm("losses", fmt.Sprintf("%d close records were lost since the last poll: short connections are missing; raise ring_bytes if status counts them as ring full", more))
	case boot-a.losses.lastNs > int64(a.opt.Window):
		a.ClearAlarm("losses")
	}
}

// losses are the close records lost so far, and when the last were (boot ns).
type losses struct {
	count  uint64
	lastNs int64
}

func (a *Agent) suspects() string {
	if s := a.deps.Follower.Suspects(); len(s) > 0 {
		return strings.Join(s, "; ")
	}
	return "no cause found; are the servers in a cgroup below the one that the program is attached to?"
}

// sweepIfDue looks for sockets whose callbacks another sock_ops program took, and
// restores them if the kernel can.
func (a *Agent) sweepIfDue(spaces []Namespace, boot int64) {
	if a.deps.Sweeper == nil || boot-a.lastSweepNs < int64(a.opt.SweepEvery) && a.lastSweepNs != 0 {
		return
	}
	a.lastSweepNs = boot
	sum, err := a.sweepAll(spaces, abi.SweepRequest{Rearm: true})
	if err != nil {
		a.RaiseAlarm("sweep", "sockets cannot be walked: "+err.Error())
		return
	}
	a.ClearAlarm("sweep")
	a.mu.Lock()
	a.status.Stripped += sum.Stripped
	a.status.Rearmed += sum.Rearmed
	a.mu.Unlock()
	if sum.Stripped == 0 {
		a.ClearAlarm("theft")
		return
	}
	a.RaiseAlarm("theft", fmt.Sprintf("callbacks of %d of %d followed connections were taken, %d given back: %s",
		sum.Stripped, sum.Marked, sum.Rearmed, a.suspects()))
}

func (a *Agent) sweepAll(spaces []Namespace, req abi.SweepRequest) (sum abi.Sweep, err error) {
	var errs []error
	for _, ns := range spaces {
		req.DefaultCong = ns.DefaultCong
		r, err := a.deps.Sweeper.Sweep(ns.ID, req)
		if err != nil {
			errs = append(errs, fmt.Errorf("namespace %s: %w", ns.Name, err))
			continue
		}
		sum.Marked += r.Marked
		sum.Stripped += r.Stripped
		sum.Rearmed += r.Rearmed
		sum.RearmFailed += r.RearmFailed
		sum.Evicted += r.Evicted
		sum.EvictFailed += r.EvictFailed
	}
	return sum, errors.Join(errs...)
}

// ErrNoEvict means that this kernel cannot move live connections back.
var ErrNoEvict = errors.New("moving treated connections back needs a TCP iterator (Linux 5.15 with CONFIG_BPF_EVENTS) and root")

// Evict moves the connections that this run switched back to their namespace's default
// congestion control, and returns how many. It does not know those from before its
// start; they stay.
func (a *Agent) Evict(ctx context.Context) (moved uint64, err error) {
	if a.deps.Sweeper == nil {
		return 0, ErrNoEvict
	}
	done := make(chan error, 1)
	select {
	case a.asked <- func() { done <- a.evict(&moved) }:
		err = <-done
		return moved, err
	case <-ctx.Done():
		return 0, ctx.Err()
	case <-time.After(evictWait):
		return 0, errors.New("evict: the agent's loop did not answer")
	}
}

// evictWait is longer than the longest dump seen (745,000 sockets in 1.4 s).
const evictWait = 10 * time.Second

func (a *Agent) evict(moved *uint64) error {
	spaces, err := a.deps.Sockets.Namespaces()
	if err != nil {
		return err
	}
	sum, err := a.sweepAll(spaces, abi.SweepRequest{Evict: true})
	if err == nil && sum.EvictFailed > 0 {
		err = fmt.Errorf("evict: %d connections refused, %d moved", sum.EvictFailed, sum.Evicted)
	}
	a.mu.Lock()
	a.status.Evicted += sum.Evicted
	a.mu.Unlock()
	*moved = sum.Evicted
	return err
}
