package distro

import (
	"fmt"
	"testing"
)

// exitPowerCut is how congctl ends when it meets the operation on the disk that
// CONGCTL_POWER_CUT counts, before it is done.
const exitPowerCut = 99

// finishedAfterCuts takes the machine's power away in the middle of either verb; after the
// boot the next one finishes. A few moments of many, on a real file system: each moment
// there is, and each way to lose what was not synced, is enumerated in change/kernel/carry.
func finishedAfterCuts(t *testing.T, m Machine, r *Running, before state) *Running {
	t.Helper()
	cut := func(verb string, operation int) {
		t.Helper()
		exits(t, r, exitPowerCut, fmt.Sprintf("CONGCTL_POWER_CUT=%d congctl host %s", operation, verb))
		r = powerCut(t, m, r)
	}

	// At the first step, which loads the module; the journal has no more than it.
	cut("enable bbr", 12)
	must(t, r, "congctl host disable")
	wantState(t, r, before)

	// While the first file is written, so that a boot finds the half of all.
	cut("enable bbr", 44)
	must(t, r, "congctl host disable")
	wantState(t, r, before)

	// Near the end, and enable finishes; then while that is undone, and disable finishes.
	cut("enable bbr", 50)
	must(t, r, "congctl host enable bbr")
	wantOn(t, r)
	cut("disable", 8)
	must(t, r, "congctl host disable")
	wantOff(t, r)
	wantState(t, r, before)
	return r
}
