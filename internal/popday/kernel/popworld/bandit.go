package popworld

import (
	"errors"
	"fmt"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/link"
	"golang.org/x/sys/unix"

	"github.com/congctl/congctl/internal/linux/cgroup"
	"github.com/congctl/congctl/internal/linux/netns"
	"github.com/congctl/congctl/internal/loop/kernel/bpfobj"
)

// rival is a competing rule at work on the connections that a namespace accepts
// (bpf/bandit.bpf.c): it learns one congestion control for each next hop. It was written from
// a description of Oracle's bpftune, as a baseline for the loop.
type rival struct {
	objs bpfobj.BanditObjects
	link link.Link
}

// banditArms in the order of struct next_hop in bpf/bandit.bpf.c.
var banditArms = [4]string{"cubic", "bbr", "htcp", "dctcp"}

// families are its next hops: the edge has one, with an address of each.
var families = []struct {
	name string
	key  uint32
}{{"ipv4", unix.AF_INET}, {"ipv6", unix.AF_INET6}}

// NextHopFacts is what the competing rule learnt of one next hop.
type NextHopFacts struct {
	NextHop     string     `json:"next_hop"` // by its address family
	Connections uint64     `json:"connections"`
	ByLoss      uint64     `json:"by_loss"`          // connections moved to BBR by the loss rule
	Capped      uint64     `json:"capped,omitempty"` // connections with a pacing cap
	BestRTTUs   uint64     `json:"best_rtt_us"`
	BestRate    uint64     `json:"best_rate_bytes_per_s"`
	Arms        []ArmFacts `json:"arms"`
}

// ArmFacts is what it learnt of one congestion control there.
type ArmFacts struct {
	Cong    string `json:"cong"`
	Chosen  uint64 `json:"chosen"`  // at the start of a connection
	Refused uint64 `json:"refused"` // of those, by the kernel
	Ends    uint64 `json:"ends"`    // connections learnt from
	MaxRate uint64 `json:"max_rate_bytes_per_s"`
	Cost    uint64 `json:"cost"` // millionths
}

// openRival attaches it to the root cgroup. With caps what is on BBR has a pacing cap.
func openRival(ns *netns.NS, caps bool) (*rival, error) {
	root, err := cgroup.Root()
	if err != nil {
		return nil, err
	}
	return attachRival(root, ns, caps)
}

// attachRival attaches it to a cgroup, for the connections of one namespace. The caller
// must close it. Needs Linux 5.15.
func attachRival(at string, ns *netns.NS, caps bool) (r *rival, err error) {
	r = &rival{}
	if err := r.attach(at, ns, caps); err != nil {
		return nil, errors.Join(fmt.Errorf("attach bandit: %w", err), r.close())
	}
	return r, nil
}

func (r *rival) attach(at string, ns *netns.NS, caps bool) error {
	id, err := ns.ID()
	if err != nil {
		return err
	}
	spec, err := bpfobj.LoadBandit()
	if err != nil {
		return err
	}
	if err := spec.Variables["edge_netns"].Set(uint64(id)); err != nil {
		return err
	}
	if caps {
		if err := spec.Variables["caps"].Set(uint32(1)); err != nil {
			return err
		}
	}
	if err := spec.LoadAndAssign(&r.objs, nil); err != nil {
		return err
	}
	for _, f := range families {
		if err := r.objs.NextHops.Put(f.key, bpfobj.BanditNextHop{}); err != nil {
			return err
		}
	}
	r.link, err = link.AttachCgroup(link.CgroupOptions{Path: at, Attach: ebpf.AttachCGroupSockOps, Program: r.objs.BanditSockops})
	return err
}

// facts has one entry for each next hop.
func (r *rival) facts() (all []NextHopFacts, err error) {
	for _, f := range families {
		var h bpfobj.BanditNextHop
		if err := r.objs.NextHops.Lookup(f.key, &h); err != nil {
			return nil, fmt.Errorf("read bandit of %s: %w", f.name, err)
		}
		n := NextHopFacts{f.name, h.Connections, h.ByLoss, h.Capped, h.BestRtt, h.BestRate, nil}
		for i, a := range h.Arms {
			n.Arms = append(n.Arms, ArmFacts{banditArms[i], a.Chosen, a.Refused, a.Ends, a.MaxRate, a.Cost})
		}
		all = append(all, n)
	}
	return all, nil
}

func (r *rival) close() (err error) {
	if r.link != nil {
		err = r.link.Close()
	}
	return errors.Join(err, r.objs.Close())
}
