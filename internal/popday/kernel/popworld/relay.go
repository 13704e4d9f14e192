package popworld

import (
	"errors"
	"fmt"
	"math"
	"sync/atomic"
	"unsafe"

	"github.com/cilium/ebpf"
	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/congctl/congctl/internal/linux/qdisc"
)

// The hub does not route. A program at the ingress of its link to the edge finds the
// packet's network by its address (popday/pop numbers them there), loses the packet by
// chance, or hands it to the network's link:
//
//	i = 16 bits of the destination
//	random <= (the packet before was lost ? again[i] : loss[i]) ? drop : bpf_redirect(link[i])
//
// Losses that come one by one have again = loss. In bursts of B packets on average, with a share p
// of all packets (Gilbert 1960: a state that loses everything, left with probability 1/B):
//
//	again = 1 - 1/B,   loss = p / (B (1 - p))
//
// In place of a route look-up and of a netem for losses, which draws in the same way, this
// saves a fifth of a packet's cost. The table is shared memory: to change a loss is to
// store a number.
//
// Source: bpf_redirect() in net/core/filter.c; netem_enqueue() in net/sched/sch_netem.c.

// lane is a network in the program's table.
type lane struct {
	link  uint32 // of the hub; 0: no such network
	loss  uint32 // of 2^32, after a packet that came through; 0: none is ever lost
	again uint32 // the same after a lost one
	hit   uint32 // the last packet was lost
	lost  uint64 // packets
}

// relay is the table and the program. Close it.
type relay struct {
	table   *ebpf.Map
	lanes   []lane
	mapping []byte
}

// newRelay has room for that many networks.
func newRelay(networks int) (r *relay, err error) {
	const laneBytes = uint32(unsafe.Sizeof(lane{}))
	r = &relay{}
	r.table, err = ebpf.NewMap(&ebpf.MapSpec{Type: ebpf.Array, KeySize: 4, ValueSize: laneBytes, MaxEntries: uint32(networks), Flags: unix.BPF_F_MMAPABLE})
	if err != nil {
		return nil, fmt.Errorf("make table of lanes: %w", err)
	}
	r.mapping, err = unix.Mmap(r.table.FD(), 0, networks*int(laneBytes), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("map table of lanes: %w", err), r.table.Close())
	}
	r.lanes = unsafe.Slice((*lane)(unsafe.Pointer(unsafe.SliceData(r.mapping))), networks)
	return r, nil
}

func (r *relay) close() error {
	if err := errors.Join(unix.Munmap(r.mapping), r.table.Close()); err != nil {
		return fmt.Errorf("unmap table of lanes: %w", err)
	}
	return nil
}

func (l *lane) lead(link int)      { atomic.StoreUint32(&l.link, uint32(link)) }
func (l *lane) losses() (n uint64) { return atomic.LoadUint64(&l.lost) }

// lose sets the share of packets that are lost, and how many in a row on average; 0: each by itself.
func (l *lane) lose(ppm uint32, burst uint64) {
	first, again := qdisc.Share(ppm), qdisc.Share(ppm)
	if burst > 0 {
		first = qdisc.Share(uint32(math.Round(float64(ppm) / float64(burst) / (1 - float64(ppm)/1e6))))
		again = qdisc.Share(uint32(math.Round(1e6 - 1e6/float64(burst))))
	}
	atomic.StoreUint32(&l.again, again)
	atomic.StoreUint32(&l.loss, first)
}

// attach adds the program at the ingress of a link of the hub.
func (r *relay) attach(hub *room, link int) error {
	program, err := ebpf.NewProgram(&ebpf.ProgramSpec{Type: ebpf.SchedCLS, License: "Apache-2.0", Instructions: relayProgram(r.table.FD())})
	if err != nil {
		return fmt.Errorf("load relay: %w", err)
	}
	defer program.Close() // the filter holds it
	ingress := &netlink.Ingress{QdiscAttrs: netlink.QdiscAttrs{LinkIndex: link, Handle: netlink.MakeHandle(0xffff, 0), Parent: netlink.HANDLE_INGRESS}}
	if err := hub.Route.QdiscAdd(ingress); err != nil {
		return fmt.Errorf("attach relay: %w", err)
	}
	err = hub.Route.FilterAdd(&netlink.BpfFilter{
		FilterAttrs:  netlink.FilterAttrs{LinkIndex: link, Parent: ingress.Handle, Priority: 1, Protocol: unix.ETH_P_ALL},
		Fd:           program.FD(),
		Name:         "congctl_lab",
		DirectAction: true,
	})
	if err != nil {
		return fmt.Errorf("attach relay: %w", err)
	}
	return nil
}
