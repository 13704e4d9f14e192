package enforce

import (
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"github.com/cilium/ebpf/link"
	"golang.org/x/sys/unix"

	"github.com/congctl/congctl/internal/loop/kernel/bpfobj"
	"github.com/congctl/congctl/internal/tcp/abi"
	"github.com/congctl/congctl/internal/tcp/inetdiag"
)

// sweepValue is struct sweep of bpf/sweep.bpf.c.
type sweepValue struct {
	abi.Sweep
	Rearm, Evict uint32
	DefaultCong  inetdiag.Cong
}

// haveIterators reports whether programs can walk sockets, which takes CONFIG_BPF_EVENTS. Only
// a plain no counts (EINVAL is the kernel's answer to a program type that it lacks): any other
// fault must show when the real iterator is loaded.
var haveIterators = sync.OnceValue(func() bool {
	prog, err := ebpf.NewProgram(&ebpf.ProgramSpec{
		Type: ebpf.Tracing, AttachType: ebpf.AttachTraceIter, AttachTo: "tcp", License: "GPL",
		Instructions: asm.Instructions{asm.Mov.Imm(asm.R0, 0), asm.Return()},
	})
	if err != nil {
		return !errors.Is(err, ebpf.ErrNotSupported) && !errors.Is(err, unix.EINVAL)
	}
	prog.Close()
	return true
})

// CanSweep reports whether this kernel lets the enforcer walk sockets.
func (e *Enforcer) CanSweep() bool { return e.sweep != nil }

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

// Sweep walks the TCP sockets of the network namespace of the calling thread. For another
// one, call it from inside. Not safe for concurrent use.
func (e *Enforcer) Sweep(req abi.SweepRequest) (abi.Sweep, error) {
	v := sweepValue{DefaultCong: req.DefaultCong}
	if req.Rearm {
		v.Rearm = 1
	}
	if req.Evict {
		v.Evict = 1
	}
	s := e.sweep
	if err := s.objs.Sweep.Put(uint32(0), v); err != nil {
		return abi.Sweep{}, fmt.Errorf("prepare sweep: %w", err)
	}
	it, err := s.iter.Open()
	if err != nil {
		return abi.Sweep{}, fmt.Errorf("open iterator: %w", err)
	}
	defer it.Close()
	if err := walk(it); err != nil {
		return abi.Sweep{}, fmt.Errorf("walk sockets: %w", err)
	}
	if err := s.objs.Sweep.Lookup(uint32(0), &v); err != nil {
		return abi.Sweep{}, fmt.Errorf("read sweep: %w", err)
	}
	return v.Sweep, nil
}

// maxRests of a walk: a thousand million sockets, more than a host can have.
const maxRests = 1000

// walk reads an iterator to its end. The kernel rests after a million sockets for which the
// program printed nothing (bpf_seq_read, MAX_ITER_OBJECTS): EAGAIN, and the next read goes
// on where it stopped.
func walk(it io.Reader) (err error) {
	for range maxRests {
		if _, err = io.Copy(io.Discard, it); !errors.Is(err, unix.EAGAIN) {
			return err
		}
	}
	return err
}

func (s *sweeper) Close() error {
	if s.iter != nil {
		s.iter.Close()
	}
	return s.objs.Close()
}
