// Package process reads what this process uses, and gives back what it no longer does.
//
// It measures no other process and keeps nothing.
//
// Its trap: memory is what is resident, so it has pages of the binary that other processes share.
package process

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// Usage is what this process uses now.
type Usage struct {
	ResidentBytes float64
	OpenFiles     float64
	MaxFiles      float64
	CPUSeconds    float64 // since its start
}

// Used reads it; after an error the fields that cannot be read are 0.
func Used() (u Usage, err error) {
	pages, err := residentPages("/proc/self/statm")
	u.ResidentBytes = pages * float64(os.Getpagesize())
	files, err2 := os.ReadDir("/proc/self/fd")
	u.OpenFiles = float64(max(0, len(files)-1)) // without the directory itself
	var limit unix.Rlimit
	err3 := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit)
	u.MaxFiles = float64(limit.Cur)
	var r unix.Rusage
	err4 := unix.Getrusage(unix.RUSAGE_SELF, &r)
	u.CPUSeconds = float64(r.Utime.Nano()+r.Stime.Nano()) / 1e9
	if err = errors.Join(err, err2, err3, err4); err != nil {
		return u, fmt.Errorf("read what this process uses: %w", err)
	}
	return u, nil
}

func residentPages(statm string) (float64, error) {
	b, err := os.ReadFile(statm)
	if err != nil {
		return 0, err
	}
	if f := strings.Fields(string(b)); len(f) > 1 {
		return strconv.ParseFloat(f[1], 64)
	}
	return 0, fmt.Errorf("%s: %q has no second number", statm, b)
}
