// Package costtest measures what a call costs this process, for tests that bound what hostile input costs. It knows no door:
// a test says what it calls.
//
// Its trap: memory and processor time are of the whole process. A test that measures runs beside no other.
package costtest

import (
	"fmt"
	"runtime"
	"syscall"
	"time"
)

// What a refusal may cost, whatever was sent.
const (
	MaxCPU   = 50 * time.Millisecond // of all threads, so that it holds on a busy machine
	MaxBytes = 64 << 20              // allocated in all, not at once
	MaxText  = 500                   // bytes: a line of the log
)

// Cost is what a call took of this process.
type Cost struct {
	CPU   time.Duration
	Bytes uint64 // allocated
	Text  int    // of its error
}

// Of measures do. A refusal that took a little too long is asked for again, up to four times, and the least counts: the other work of a
// machine adds to the processor time of a process, by half and more where two threads share a core, and never takes from it.
func Of(do func() error) (Cost, error) {
	c, err := once(do)
	for i := 0; i < 4 && err != nil && c.CPU > MaxCPU && c.CPU < 4*MaxCPU; i++ {
		again, _ := once(do)
		c.CPU = min(c.CPU, again.CPU)
	}
	return c, err
}

func once(do func() error) (Cost, error) {
	var before, after runtime.MemStats
	if runtime.ReadMemStats(&before); before.HeapAlloc > before.NextGC/2 {
		runtime.GC() // of what was before
	}
	start := CPU()
	err := do()
	c := Cost{CPU: CPU() - start}
	runtime.ReadMemStats(&after)
	c.Bytes = after.TotalAlloc - before.TotalAlloc
	if err != nil {
		c.Text = len(err.Error())
	}
	return c, err
}

// Over returns c beside its bounds if it exceeds one, otherwise "".
func (c Cost) Over() string {
	if c.CPU <= MaxCPU && c.Bytes <= MaxBytes && c.Text <= MaxText {
		return ""
	}
	return fmt.Sprintf("%v, %d bytes allocated, %d of text; at most %v, %d, %d", c.CPU, c.Bytes, c.Text, MaxCPU, MaxBytes, MaxText)
}

// CPU is the processor time of this process, user and system.
func CPU() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
