package enforce

import (
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/cilium/ebpf/ringbuf"

	"github.com/congctl/congctl/internal/core/abi"
)

// ReadCloses calls fn for each close record until stop is closed or the
// Enforcer is. The kernel wakes nobody for a single record: the ring is drained
// each DrainEvery, or when WakeBytes wait. fn must not keep its argument.
// malformed counts records that could not be decoded; they are dropped.
func (e *Enforcer) ReadCloses(stop <-chan struct{}, fn func(*abi.Close)) (malformed uint64, err error) {
	var rec ringbuf.Record
	var c abi.Close
	for {
		select {
		case <-stop:
			return malformed, nil
		default:
		}
		e.ring.SetDeadline(time.Now().Add(e.opt.DrainEvery))
		for err = e.ring.ReadInto(&rec); err == nil; err = e.ring.ReadInto(&rec) {
			if abi.DecodeClose(rec.RawSample, &c) != nil {
				malformed++
				continue
			}
			fn(&c)
		}
		switch {
		case errors.Is(err, ringbuf.ErrClosed):
			return malformed, nil
		case !errors.Is(err, os.ErrDeadlineExceeded):
			return malformed, fmt.Errorf("read close ring: %w", err)
		}
	}
}
