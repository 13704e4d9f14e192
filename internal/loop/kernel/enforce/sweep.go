package enforce

import (
	"errors"
	"fmt"
	"io"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/link"

	"github.com/congctl/congctl/internal/core/inetdiag"
	"github.com/congctl/congctl/internal/kernel/bpfobj"
)

// SweepRequest says what a walk over a namespace's sockets should do besides count.
type SweepRequest struct {
	Rearm       bool          // give stolen callback flags back (Linux 6.12)
	Evict       bool          // move treated connections back to DefaultCong (5.15)
	DefaultCong inetdiag.Cong // of the namespace
}

// Sweep is what one walk saw and did.
type Sweep struct {
	Seen        uint64 // full TCP sockets of the namespace
	Marked      uint64 // of them: followed by eBPF
	Stripped    uint64 // of them: another program took our callbacks
	Rearmed     uint64
	RearmFailed uint64
	Evicted     uint64
	EvictFailed uint64
}

// sweepValue is struct sweep of bpf/sweep.bpf.c.
type sweepValue struct {
	Sweep
	Rearm, Evict uint32
	DefaultCong  inetdiag.Cong
}

type sweeper struct {
	objs bpfobj.SweepObjects
	iter *link.Iter
}

func loadSweeper(marks *ebpf.Map) (*sweeper, error) {
	s := &sweeper{}
	spec, err := bpfobj.LoadSweep()
	if err != nil {
		return nil, fmt.Errorf("read iterator object: %w", err)
	}
	opts := ebpf.CollectionOptions{MapReplacements: map[string]*ebpf.Map{"marks": marks}}
	if err := spec.LoadAndAssign(&s.objs, &opts); err != nil {
		return nil, fmt.Errorf("load iterator: %w", err)
	}
	if s.iter, err = link.AttachIter(link.IterOptions{Program: s.objs.CongctlSweep}); err != nil {
		return nil, errors.Join(fmt.Errorf("attach iterator: %w", err), s.Close())
	}
	return s, nil
}

// Sweep walks the TCP sockets of the network namespace of the calling thread.
// Whoever wants another one calls it from inside. Not safe for concurrent use.
func (e *Enforcer) Sweep(req SweepRequest) (Sweep, error) {
	v := sweepValue{DefaultCong: req.DefaultCong}
	if req.Rearm {
		v.Rearm = 1
	}
	if req.Evict {
		v.Evict = 1
	}
	s := e.sweep
	if err := s.objs.Sweep.Put(uint32(0), v); err != nil {
		return Sweep{}, fmt.Errorf("prepare sweep: %w", err)
	}
	it, err := s.iter.Open()
	if err != nil {
		return Sweep{}, fmt.Errorf("open iterator: %w", err)
	}
	defer it.Close()
	if _, err := io.Copy(io.Discard, it); err != nil {
		return Sweep{}, fmt.Errorf("walk sockets: %w", err)
	}
	if err := s.objs.Sweep.Lookup(uint32(0), &v); err != nil {
		return Sweep{}, fmt.Errorf("read sweep: %w", err)
	}
	return v.Sweep, nil
}

func (s *sweeper) Close() error {
	if s.iter != nil {
		s.iter.Close()
	}
	return s.objs.Close()
}
