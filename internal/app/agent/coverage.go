package agent

import (
	"fmt"
	"strings"

	"github.com/congctl/congctl/internal/core/record"
)

// Coverage is the share of new passive connections that eBPF saw:
//
//	sum of PASSIVE_ESTABLISHED callbacks / sum of the kernel's TcpPassiveOpens
//
// over the last coveragePolls polls of all polled namespaces. The kernel counts
// in tcp_create_openreq_child, eBPF is called a moment later, so a single poll may
// cut between the two; over a minute that is noise far below the limit.
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

// add takes the counters of one namespace at one poll.
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
	if a.rooms.Follower == nil {
		return
	}
	a.coverage.turn()
	for _, ns := range spaces {
		kernel, err1 := a.rooms.Counters.PassiveOpens(ns.ID)
		ebpf, err2 := a.rooms.Follower.Passive(ns.ID)
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
		a.calm("coverage")
		return
	}
	if a.coverage.low++; a.coverage.low < coverageLow {
		return
	}
	a.alarm("coverage", fmt.Sprintf("eBPF saw %d of %d new passive connections (%.1f %%, limit %.0f %%): %s",
		s.ebpf, s.kernel, 100*s.share(), 100*a.opt.CoverageLimit, a.suspects()))
}

func (a *Agent) suspects() string {
	if a.rooms.Sweeper != nil {
		if s := a.rooms.Sweeper.Suspects(); len(s) > 0 {
			return strings.Join(s, "; ")
		}
	}
	return "no cause found; are the servers in a cgroup below the one that the program is attached to?"
}
