package vm

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
)

// emulatorMB is QEMU's own memory beside the guest's: translated code (tb-size), its heap.
// Measured at 150 to 210 MB.
const emulatorMB = 256

// Fit is the number of machines with so much memory each that this host can hold now,
// by MemAvailable of /proc/meminfo (Linux 3.14).
func Fit(memoryMB int) (machines int, err error) {
	f, err := os.Open("/proc/meminfo")
	if err != nil {
		return 0, fmt.Errorf("count machines: %w", err)
	}
	defer f.Close()
	free, err := availableMB(f)
	if err != nil {
		return 0, fmt.Errorf("count machines: %w", err)
	}
	return free / (memoryMB + emulatorMB), nil
}

// availableMB reads a line like "MemAvailable:   21987340 kB".
func availableMB(r io.Reader) (int, error) {
	for s := bufio.NewScanner(r); s.Scan(); {
		fields := strings.Fields(s.Text())
		if len(fields) == 3 && fields[0] == "MemAvailable:" && fields[2] == "kB" {
			kB, err := strconv.Atoi(fields[1])
			return kB / 1024, err
		}
	}
	return 0, fmt.Errorf("no MemAvailable in /proc/meminfo")
}
