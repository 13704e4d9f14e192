package enforce

import (
	"errors"
	"fmt"
	"strings"
	"sync/atomic"

	"github.com/cilium/ebpf/link"
	"github.com/cilium/ebpf/ringbuf"
	"github.com/cilium/ebpf/rlimit"
	"golang.org/x/sys/unix"

	"github.com/congctl/congctl/internal/linux/cgroup"
	"github.com/congctl/congctl/internal/loop/kernel/bpfobj"
	"github.com/congctl/congctl/internal/tcp/inetdiag"
	"github.com/congctl/congctl/internal/tcp/record"
)

// Options of Open.
type Options struct {
	Cgroup     string   // cgroup2 directory; "" finds the root of the hierarchy
	MinBytes   uint64   // threshold per response, until a plan has its own
	MaxPlanned int      // prefixes that a plan may hold
	Ports      []uint16 // local ports whose connections are followed; none: all
	// RingBytes is the size of the close-record ring, a power of two. 4 MiB (12,000 records)
	// hold a quarter of a second of closes at 50,000/s. The reader is woken at a quarter full:
	// one wake-up per record costs 10-15 us, a batched one under 1. Larger rings count in our
	// RSS.
	RingBytes int
}

// Enforcer is the attached program and its maps.
type Enforcer struct {
	opt     Options
	objs    bpfobj.CongctlObjects
	sweep   *sweeper
	link    link.Link
	ring    *ringbuf.Reader
	control *control
	ns      map[uint64]inetdiag.Cong // what map netns holds
	deny    denyList
}

// Open loads the program, attaches it to the cgroup and starts with an empty
// plan: every accepted connection of a namespace given to SetNetns is followed,
// none is treated. The caller must Close it. Needs CAP_BPF, CAP_PERFMON and
// CAP_NET_ADMIN; Linux 5.15.
func Open(o Options) (*Enforcer, error) {
	if o.Cgroup == "" {
		root, err := cgroup.Root()
		if err != nil {
			return nil, err
		}
		o.Cgroup = root
	}
	if err := cgroup.Check(o.Cgroup); err != nil {
		return nil, err
	}
	if err := rlimit.RemoveMemlock(); err != nil {
		return nil, fmt.Errorf("raise memlock limit: %w", err)
	}
	e := &Enforcer{opt: o, ns: map[uint64]inetdiag.Cong{}}
	if err := e.open(); err != nil {
		return nil, errors.Join(err, e.Close())
	}
	return e, nil
}

func (e *Enforcer) open() error {
	if err := e.load(); err != nil {
		return err
	}
	e.deny = denyList{m: e.objs.Deny, in: map[lpmKey]bool{}}
	var err error
	if e.control, err = mapControl(e.objs.Control); err != nil {
		return err
	}
	atomic.StoreUint64(&e.control.v.MinBytes, e.opt.MinBytes)
	if e.ring, err = ringbuf.NewReader(e.objs.Closes); err != nil {
		return fmt.Errorf("open close ring: %w", err)
	}
	if haveIterators() {
		if e.sweep, err = loadSweeper(e.objs.Marks); err != nil {
			return err
		}
	}
	if err := e.attach(); err != nil {
		return err
	}
	return e.alone()
}

// ErrTaken means that a foreign sock_ops program is attached in a way that excludes a
// second one (without BPF_F_ALLOW_MULTI).
var ErrTaken = errors.New("a sock_ops program attached without BPF_F_ALLOW_MULTI excludes a second one")

func (e *Enforcer) namesOfOthers() string {
	others, err := e.others()
	if err != nil || len(others) == 0 {
		return "its name is unknown"
	}
	var names []string
	for _, o := range others {
		names = append(names, o.String())
	}
	return strings.Join(names, ", ")
}

func (e *Enforcer) load() error {
	spec, err := bpfobj.LoadCongctl()
	if err != nil {
		return fmt.Errorf("read sock_ops object: %w", err)
	}
	spec.Maps["closes"].MaxEntries = uint32(e.opt.RingBytes)
	spec.Maps["policy_a"].MaxEntries = uint32(e.opt.MaxPlanned)
	spec.Maps["policy_b"].MaxEntries = uint32(e.opt.MaxPlanned)
	spec.Maps["ports"].MaxEntries = uint32(max(1, len(e.opt.Ports)))
	jiffy, err := jiffyUs()
	if err != nil {
		return err
	}
	for name, v := range map[string]uint32{"jiffy_us": jiffy, "late_bytes": record.LateBytes, "wakeup_bytes": uint32(e.opt.RingBytes / 4), "filter_ports": uint32(len(e.opt.Ports))} {
		if err := spec.Variables[name].Set(v); err != nil {
			return fmt.Errorf("set %s: %w", name, err)
		}
	}
	if err := spec.LoadAndAssign(&e.objs, nil); err != nil {
		return fmt.Errorf("load sock_ops program: %w", err)
	}
	for _, p := range e.opt.Ports {
		if err := e.objs.Ports.Put(p, uint8(1)); err != nil {
			return fmt.Errorf("follow port %d: %w", p, err)
		}
	}
	return nil
}

// jiffyUs returns the length of a jiffy. The coarse clocks tick once per jiffy and report
// it, so no kernel configuration file is needed.
func jiffyUs() (uint32, error) {
	var ts unix.Timespec
	if err := unix.ClockGetres(unix.CLOCK_MONOTONIC_COARSE, &ts); err != nil {
		return 0, fmt.Errorf("get jiffy length: %w", err)
	}
	return uint32(ts.Nano() / 1000), nil
}

// MarksFD is the sk_storage map for an inet_diag dump to read along.
func (e *Enforcer) MarksFD() int { return e.objs.Marks.FD() }

// Close detaches the program and frees its maps. Connections that were switched
// stay on the treatment until they end.
func (e *Enforcer) Close() error {
	var errs []error
	if e.link != nil {
		errs = append(errs, e.link.Close())
	}
	if e.ring != nil {
		errs = append(errs, e.ring.Close())
	}
	if e.sweep != nil {
		errs = append(errs, e.sweep.Close())
	}
	if e.control != nil {
		errs = append(errs, e.control.unmap())
	}
	return errors.Join(append(errs, e.objs.Close())...)
}
