// Package clock reads this host's two clocks at the same time: the wall clock, which names
// windows and blocks, and CLOCK_BOOTTIME, by which the kernel programs keep arms and
// expiries.
//
// It schedules nothing.
//
// Its trap: the difference of the two is not a constant. It moves with each step of the
// wall clock, so read it again each time.
package clock

import (
	"encoding/hex"
	"fmt"
	"os"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/congctl/congctl/internal/tcp/record"
)

// Now returns Unix and CLOCK_BOOTTIME nanoseconds of the same moment, to within
// the time of two system calls.
func Now() (unixNs, bootNs int64) {
	var w, b unix.Timespec
	// Neither call fails on a kernel that has the clock (2.6.39).
	_ = unix.ClockGettime(unix.CLOCK_BOOTTIME, &b)
	_ = unix.ClockGettime(unix.CLOCK_REALTIME, &w)
	return w.Nano(), b.Nano()
}

// BootText returns /proc/sys/kernel/random/boot_id, a UUID, as it is written there.
func BootText() (string, error) {
	b, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return "", fmt.Errorf("read boot id: %w", err)
	}
	return strings.TrimSpace(string(b)), nil
}

// BootID returns the same in 16 bytes.
func BootID() (record.BootID, error) {
	var id record.BootID
	text, err := BootText()
	if err != nil {
		return id, err
	}
	text = strings.ReplaceAll(text, "-", "")
	if n, err := hex.Decode(id[:], []byte(text)); n != len(id) || err != nil {
		return id, fmt.Errorf("read boot id %q: not a UUID", text)
	}
	return id, nil
}
