package pop

import (
	"fmt"
	"sync/atomic"
	"unsafe"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/congctl/congctl/internal/kernel/qdisc"
)

// The hub does not route. A program at the ingress of its link to the edge finds the
// packet's network by its address (core/pop numbers them there), loses the packet by
// chance, or hands it to the network's link:
//
//	i = 16 bits of the destination; random <= loss[i] ? drop : bpf_redirect(link[i])
//
// In place of a look-up of the route and of a netem for losses, which draws in the same
// way, that spares a fifth of what a packet costs. The table is shared memory: to change
// a loss is to store a number.
//
// Source: bpf_redirect() in net/core/filter.c; netem_enqueue() in net/sched/sch_netem.c.

// lane is what the program knows of a network.
type lane struct {
	link uint32 // of the hub; 0: no such network
	loss uint32 // of 2^32
	lost uint64 // packets
}

// relay is the table and the program. Close it.
type relay struct {
	table   int // descriptor
	lanes   []lane
	mapping []byte
}

// newRelay has the room for so many networks.
func newRelay(networks int) (r *relay, err error) {
	r = &relay{}
	if r.table, err = makeTable(networks); err != nil {
		return nil, err
	}
	r.mapping, err = unix.Mmap(r.table, 0, networks*int(unsafe.Sizeof(lane{})), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		unix.Close(r.table)
		return nil, fmt.Errorf("map table of lanes: %w", err)
	}
	r.lanes = unsafe.Slice((*lane)(unsafe.Pointer(unsafe.SliceData(r.mapping))), networks)
	return r, nil
}

func (r *relay) close() error {
	unix.Close(r.table)
	if err := unix.Munmap(r.mapping); err != nil {
		return fmt.Errorf("unmap table of lanes: %w", err)
	}
	return nil
}

func (l *lane) lead(link int)    { atomic.StoreUint32(&l.link, uint32(link)) }
func (l *lane) lose(ppm uint32)  { atomic.StoreUint32(&l.loss, qdisc.Share(ppm)) }
func (l *lane) gone() (n uint64) { return atomic.LoadUint64(&l.lost) }

// attach puts the program at the ingress of a link of the hub.
func (r *relay) attach(hub *room, link int) error {
	program, err := loadClassifier(relayProgram(r.table))
	if err != nil {
		return err
	}
	defer unix.Close(program) // the filter holds it
	ingress := &netlink.Ingress{QdiscAttrs: netlink.QdiscAttrs{LinkIndex: link, Handle: netlink.MakeHandle(0xffff, 0), Parent: netlink.HANDLE_INGRESS}}
	if err := hub.route.QdiscAdd(ingress); err != nil {
		return fmt.Errorf("attach relay: %w", err)
	}
	err = hub.route.FilterAdd(&netlink.BpfFilter{
		FilterAttrs:  netlink.FilterAttrs{LinkIndex: link, Parent: ingress.Handle, Priority: 1, Protocol: unix.ETH_P_ALL},
		Fd:           program,
		Name:         "congctl_lab",
		DirectAction: true,
	})
	if err != nil {
		return fmt.Errorf("attach relay: %w", err)
	}
	return nil
}
