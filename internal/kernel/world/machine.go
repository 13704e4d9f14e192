package world

import (
	"fmt"
	"os"
	"time"

	"github.com/congctl/congctl/internal/core/outcome"
)

// What other worlds need of the machine as well.

// SegmentationOff makes a link of the calling thread's namespace take single packets.
func SegmentationOff(link string) error { return segmentationOff(link) }

// OwnMachine raises the limits that no namespace has and lets namespaces default to any
// of the congestion controls: for a machine that is all ours.
func OwnMachine(congs string) error {
	const allowed = "net.ipv4.tcp_allowed_congestion_control"
	if err := os.WriteFile(procSys(allowed), []byte(congs), 0); err != nil {
		return fmt.Errorf("set sysctl %s=%s: %w", allowed, congs, err)
	}
	return raiseLimits()
}

// Release is `uname -r`.
func Release() string { return release() }

// Busy measures from now on: the share of CPU time that was not idle, packets that the
// machine's backlog dropped, and how long it has been.
func Busy() (read func() (outcome.Host, error), err error) {
	before, err := readLoad()
	if err != nil {
		return nil, err
	}
	return func() (h outcome.Host, err error) {
		after, err := readLoad()
		if err == nil {
			after.since(before, &h)
			h.DurationUs = uint64(after.at.Sub(before.at) / time.Microsecond)
		}
		return h, err
	}, nil
}
