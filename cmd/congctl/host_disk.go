package main

import (
	"os"
	"strconv"

	"github.com/congctl/congctl/internal/kernel/change"
)

const (
	// powerCut names the operation on the disk before which this process ends, for tests
	// that cut a machine's power at that moment.
	powerCut = "CONGCTL_POWER_CUT"
	// exitPowerCut is like no other exit code, so that such a test knows that it got there.
	exitPowerCut = 99
)

// hostDisk is this host's disk.
func hostDisk() change.Disk {
	disk := change.Disk(change.HostDisk{Root: "/"})
	n, err := strconv.Atoi(os.Getenv(powerCut))
	if err != nil || n < 1 {
		return disk
	}
	return &change.Counted{Disk: disk, N: n, Cut: func() error {
		os.Exit(exitPowerCut)
		return nil
	}}
}
