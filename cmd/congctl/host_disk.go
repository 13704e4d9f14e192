package main

import (
	"os"
	"strconv"

	"github.com/congctl/congctl/internal/change/kernel/carry"
)

const (
	// powerCut names the disk operation before which this process ends, for tests that cut a
	// machine's power at that moment.
	powerCut = "CONGCTL_POWER_CUT"
	// exitPowerCut differs from every other exit code, so that such a test knows it got there.
	exitPowerCut = 99
)

func hostDisk() carry.Disk {
	disk := carry.Disk(carry.HostDisk{Root: "/"})
	n, err := strconv.Atoi(os.Getenv(powerCut))
	if err != nil || n < 1 {
		return disk
	}
	return &carry.Counted{Disk: disk, N: n, Cut: func() error {
		os.Exit(exitPowerCut)
		return nil
	}}
}
