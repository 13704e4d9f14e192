package enforce

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/link"
	"github.com/cilium/ebpf/ringbuf"
	"github.com/cilium/ebpf/rlimit"
	"golang.org/x/sys/unix"

	"github.com/congctl/congctl/internal/core/inetdiag"
	"github.com/congctl/congctl/internal/kernel/bpfobj"
	"github.com/congctl/congctl/internal/kernel/cgroup"
)

// Options of Open. Zero values mean the defaults named.
type Options struct {
	Cgroup     string   // cgroup2 directory; "" finds the root of the hierarchy
	MinBytes   uint64   // threshold per response; 100,000
	MaxPlanned int      // prefixes that a plan may hold; 1,024
	Ports      []uint16 // local ports whose connections are followed; none: all
	RingBytes  int      // close-record ring; a power of two, 4 MiB (12,000 records)
	WakeBytes  int      // wake the reader from here on; a quarter of the ring
}

const (
	defaultMinBytes = 100_000
	defaultPlanned  = 1024 // twice the default cap of a plan
	// 4 MiB hold a quarter of a second of closes at 50,000/s. The reader is woken at a
	// quarter full: one wake-up per record costs 10-15 us, a batched one under 1. Larger
	// rings count in our RSS.
	defaultRing = 4 << 20
)

// Enforcer is the attached program and its maps.
type Enforcer struct {
	opt     Options
	objs    bpfobj.CongctlObjects
	sweep   *sweeper
	link    link.Link
	ring    *ringbuf.Reader
	control *control
	ns      map[uint64]inetdiag.Cong // what map netns holds
	denied  map[lpmKey]bool
}

// Open loads the program, attaches it to the cgroup and starts with an empty
// plan: every accepted connection of a namespace given to SetNetns is followed,
// none is treated. The caller must Close it. Needs CAP_BPF, CAP_PERFMON and
// CAP_NET_ADMIN; Linux 5.15.
func Open(o Options) (*Enforcer, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	if err := rlimit.RemoveMemlock(); err != nil {
		return nil, fmt.Errorf("raise memlock limit: %w", err)
	}
	e := &Enforcer{opt: o, ns: map[uint64]inetdiag.Cong{}, denied: map[lpmKey]bool{}}
	if err := e.open(); err != nil {
		return nil, errors.Join(err, e.Close())
	}
	return e, nil
}

func (o Options) withDefaults() (Options, error) {
	if o.MinBytes == 0 {
		o.MinBytes = defaultMinBytes
	}
	if o.MaxPlanned == 0 {
		o.MaxPlanned = defaultPlanned
	}
	if o.RingBytes == 0 {
		o.RingBytes = defaultRing
	}
	if o.RingBytes < os.Getpagesize() || o.RingBytes&(o.RingBytes-1) != 0 {
		return o, fmt.Errorf("open enforcer: ring of %d bytes; use a power of two of at least a page", o.RingBytes)
	}
	if o.WakeBytes == 0 {
		o.WakeBytes = o.RingBytes / 4
	}
	if o.Cgroup == "" {
		root, err := cgroup.Root()
		if err != nil {
			return o, err
		}
		o.Cgroup = root
	}
	return o, cgroup.Check(o.Cgroup)
}

func (e *Enforcer) open() error {
	if err := e.load(); err != nil {
		return err
	}
	var err error
	if e.control, err = mapControl(e.objs.Control); err != nil {
		return err
	}
	e.control.setMinBytes(e.opt.MinBytes)
	if e.ring, err = ringbuf.NewReader(e.objs.Closes); err != nil {
		return fmt.Errorf("open close ring: %w", err)
	}
	if e.sweep, err = loadSweeper(e.objs.Marks); err != nil {
		return err
	}
	e.link, err = link.AttachCgroup(link.CgroupOptions{
		Path: e.opt.Cgroup, Attach: ebpf.AttachCGroupSockOps, Program: e.objs.CongctlSockops,
	})
	if errors.Is(err, unix.EPERM) {
		return fmt.Errorf("attach sock_ops to %s: %w: %s", e.opt.Cgroup, ErrTaken, e.namesOfOthers())
	} else if err != nil {
		return fmt.Errorf("attach sock_ops to %s: %w", e.opt.Cgroup, err)
	}
	return nil
}

// ErrTaken says that a sock_ops program of somebody else is attached so that no
// second one may be (without BPF_F_ALLOW_MULTI).
var ErrTaken = errors.New("the cgroup lets no second sock_ops program in")

func (e *Enforcer) namesOfOthers() string {
	others, err := e.Others()
	if err != nil || len(others) == 0 {
		return "whose it is cannot be told"
	}
	var names []string
	for _, o := range others {
		names = append(names, fmt.Sprintf("%q (id %d)", o.Name, o.ID))
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
	for name, v := range map[string]uint32{"jiffy_us": jiffy, "wakeup_bytes": uint32(e.opt.WakeBytes), "filter_ports": uint32(len(e.opt.Ports))} {
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

// jiffyUs is the length of a jiffy. The coarse clocks tick once a jiffy and say
// so, which needs no kernel configuration file.
func jiffyUs() (uint32, error) {
	var ts unix.Timespec
	if err := unix.ClockGetres(unix.CLOCK_MONOTONIC_COARSE, &ts); err != nil {
		return 0, fmt.Errorf("get jiffy length: %w", err)
	}
	return uint32(ts.Nano() / 1000), nil
}

// Cgroup is where the program is attached.
func (e *Enforcer) Cgroup() string { return e.opt.Cgroup }

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
