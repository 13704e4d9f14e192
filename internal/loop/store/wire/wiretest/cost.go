package wiretest

import (
	"runtime"
	"syscall"
	"testing"
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

// Of measures do.
func Of(do func() error) (Cost, error) {
	runtime.GC() // of what was before
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	start := cpu()
	err := do()
	c := Cost{CPU: cpu() - start}
	runtime.ReadMemStats(&after)
	c.Bytes = after.TotalAlloc - before.TotalAlloc
	if err != nil {
		c.Text = len(err.Error())
	}
	return c, err
}

func cpu() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// Door has do refuse each input whose fault it finds, within the bounds, and logs the worst of each figure. What it takes
// has the same bounds.
func Door(t *testing.T, inputs []Input, finds Fault, do func(Input) error) {
	t.Helper()
	var worst Cost
	var names [3]string
	for _, in := range inputs {
		c, err := Of(func() error { return do(in) })
		if (err != nil) != (in.Fault != None && in.Fault <= finds) {
			t.Errorf("%s: %.*v", in.Name, MaxText, err)
		}
		if c.CPU > MaxCPU || c.Bytes > MaxBytes || c.Text > MaxText {
			t.Errorf("%s: %v, %d bytes allocated, %d of text; at most %v, %d, %d", in.Name, c.CPU, c.Bytes, c.Text, MaxCPU, MaxBytes, MaxText)
		}
		if c.CPU >= worst.CPU {
			worst.CPU, names[0] = c.CPU, in.Name
		}
		if c.Bytes >= worst.Bytes {
			worst.Bytes, names[1] = c.Bytes, in.Name
		}
		if c.Text >= worst.Text {
			worst.Text, names[2] = c.Text, in.Name
		}
	}
	t.Logf("%d inputs; the worst: %v of CPU (%s); %d kB allocated (%s); %d bytes of text (%s)",
		len(inputs), worst.CPU.Round(time.Microsecond), names[0], worst.Bytes>>10, names[1], worst.Text, names[2])
}
