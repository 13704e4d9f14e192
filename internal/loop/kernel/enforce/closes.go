package enforce

import (
	"errors"
	"fmt"

	"github.com/cilium/ebpf/ringbuf"

	"github.com/congctl/congctl/internal/tcp/abi"
)

// ReadCloses calls fn for each close record until asks or the Enforcer is closed. The
// kernel does not wake it for a single record: it reads the ring when a quarter of it is full, and
// for each channel from asks, which it closes after handing over all that waited. In
// between nothing runs. fn must not keep its argument. malformed counts records that could
// not be decoded; they are dropped.
func (e *Enforcer) ReadCloses(asks <-chan chan<- struct{}, fn func(*abi.Close)) (malformed uint64, err error) {
	asked, gone := make(chan chan<- struct{}, 1), make(chan struct{})
	defer close(gone)
	go e.relay(asks, asked, gone)
	var rec ringbuf.Record
	var c abi.Close
	for {
		switch err := e.ring.ReadInto(&rec); {
		case err == nil && abi.DecodeClose(rec.RawSample, &c) == nil:
			fn(&c)
		case err == nil:
			malformed++
		case errors.Is(err, ringbuf.ErrFlushed):
			if !answer(asked) {
				return malformed, nil
			}
		case errors.Is(err, ringbuf.ErrClosed):
			return malformed, nil
		default:
			return malformed, fmt.Errorf("read close ring: %w", err)
		}
	}
}

// relay wakes the reader for each request, and when no more can come.
func (e *Enforcer) relay(asks <-chan chan<- struct{}, asked chan<- chan<- struct{}, gone <-chan struct{}) {
	defer func() {
		close(asked)
		_ = e.ring.Flush() // a closed ring has woken its reader
	}()
	for {
		select {
		case done, ok := <-asks:
			if !ok {
				return
			}
			select {
			case asked <- done:
				_ = e.ring.Flush()
			case <-gone:
			}
		case <-gone:
			return
		}
	}
}

// answer signals a request that the ring has been read; false when no more can come.
func answer(asked <-chan chan<- struct{}) bool {
	for {
		select {
		case done, ok := <-asked:
			if !ok {
				return false
			}
			close(done)
		default:
			return true
		}
	}
}
