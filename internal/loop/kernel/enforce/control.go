package enforce

import (
	"fmt"
	"math"
	"os"
	"sync/atomic"
	"unsafe"

	"github.com/cilium/ebpf"
	"golang.org/x/sys/unix"

	"github.com/congctl/congctl/internal/loop/plan"
	"github.com/congctl/congctl/internal/tcp/abi"
)

// control is the kernel's one-value map "control", mapped into memory: a store
// here is seen by the next callback on any CPU, with no system call between. That
// is what makes the kill switch immediate.
type control struct {
	page []byte
	v    *abi.Control
}

func mapControl(m *ebpf.Map) (*control, error) {
	page, err := unix.Mmap(m.FD(), 0, os.Getpagesize(), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return nil, fmt.Errorf("map control page: %w", err)
	}
	return &control{page: page, v: (*abi.Control)(unsafe.Pointer(&page[0]))}, nil
}

func (c *control) unmap() error { return unix.Munmap(c.page) }

// flip puts the newly filled policy map in force.
func (c *control) flip(active uint32, prog *plan.Program) {
	atomic.StoreUint64(&c.v.Plan, uint64(prog.Plan))
	atomic.StoreUint64(&c.v.MinBytes, prog.MinBytes)
	atomic.StoreUint64(&c.v.BlockNs, prog.BlockNs)
	atomic.StoreUint64(&c.v.BorderNs, prog.BorderNs)
	atomic.StoreUint32(&c.v.WashoutMs, prog.WashoutMs)
	early := uint32(0)
	if prog.Early {
		early = 1
	}
	atomic.StoreUint32(&c.v.Early, early)
	atomic.AddUint64(&c.v.Generation, 1)
	atomic.StoreUint32(&c.v.Active, active)
}

// noteSleep tells the kernel program how long this host has been suspended: it reads
// CLOCK_MONOTONIC, which stands still then, for CLOCK_BOOTTIME. Of three readings the least,
// since this thread may be kept waiting between the two clocks of one.
func (c *control) noteSleep() {
	slept := uint64(math.MaxUint64)
	for range 3 {
		var mono, boot unix.Timespec
		// Neither call fails on a kernel that has the clock (2.6.39).
		_ = unix.ClockGettime(unix.CLOCK_MONOTONIC, &mono)
		_ = unix.ClockGettime(unix.CLOCK_BOOTTIME, &boot)
		slept = min(slept, uint64(boot.Nano()-mono.Nano()))
	}
	atomic.StoreUint64(&c.v.SleptNs, slept)
}

// Stops returns the stop bits as the kernel program reads them.
func (e *Enforcer) Stops() uint32 { return atomic.LoadUint32(&e.control.v.Stop) }

// Stop sets or clears one of abi.StopKilled and abi.StopStarved. From the next
// callback on, while any is set, no connection is newly treated.
func (e *Enforcer) Stop(bit uint32, on bool) {
	if on {
		atomic.OrUint32(&e.control.v.Stop, bit)
	} else {
		atomic.AndUint32(&e.control.v.Stop, ^bit)
	}
}
