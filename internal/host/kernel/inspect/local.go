package inspect

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/congctl/congctl/internal/host/advise"
	"github.com/congctl/congctl/internal/linux/cubiclt"
	"github.com/congctl/congctl/internal/linux/ethtool"
	"github.com/congctl/congctl/internal/linux/qdisc"
	"github.com/congctl/congctl/internal/loop/kernel/enforce"
)

// local is the network namespace and the kernel that this program runs in.
type local struct{}

func (local) Tier() (string, []string, error) {
	p, err := enforce.ProbeKernel("bbr", "")
	if err != nil {
		return "", nil, err
	}
	if p.Tier.CanFollow() {
		treats := "it treats with bbr or cubic_lt"
		if ok, lacks := cubiclt.Fits(); !ok {
			treats = "it treats with bbr; cubic_lt: " + lacks
		}
		p.Reasons = append(p.Reasons, treats)
	}
	return p.Tier.String(), p.Reasons, nil
}

func (local) SockOps() (list []advise.Program, err error) {
	others, err := enforce.SockOps()
	for _, o := range others {
		list = append(list, advise.Program{ID: o.ID, Name: o.Name})
	}
	return list, err
}

// Links reads every link with its qdiscs and offloads.
func (local) Links() ([]advise.Link, error) {
	h, err := netlink.NewHandle(unix.NETLINK_ROUTE) // all families together need a kernel with xfrm
	if err != nil {
		return nil, fmt.Errorf("open route netlink: %w", err)
	}
	defer h.Close()
	found, err := h.LinkList()
	if err != nil {
		return nil, fmt.Errorf("list links: %w", err)
	}
	slices.SortFunc(found, func(a, b netlink.Link) int { return a.Attrs().Index - b.Attrs().Index })
	q, err := qdisc.Open()
	if err != nil {
		return nil, err
	}
	defer q.Close()
	var links []advise.Link
	for _, l := range found {
		link := linkOf(l)
		stats, err := q.List(l.Attrs().Index)
		if err != nil {
			return nil, err
		}
		for _, s := range stats {
			link.Qdiscs = append(link.Qdiscs, advise.Qdisc{Kind: s.Kind, Handle: s.At.Handle, Parent: s.At.Parent,
				Packets: s.Packets, FlowsPlimit: s.FlowsPlimit, Lost: len(s.Lost) > 0})
		}
		link.Segments = known(segments(link.Name))
		links = append(links, link)
	}
	return links, nil
}

func linkOf(l netlink.Link) advise.Link {
	a := l.Attrs()
	link := advise.Link{Name: a.Name, Kind: l.Type(), Loopback: a.Flags&net.FlagLoopback != 0,
		Up: a.Flags&net.FlagUp != 0, TxQueues: a.NumTxQueues}
	if link.Kind == "device" {
		link.Kind = ""
	}
	dir := filepath.Join("/sys/class/net", a.Name)
	if _, err := os.Stat(dir + "/device"); err == nil {
		link.Hardware = true
	}
	if speed, err := os.ReadFile(dir + "/speed"); err == nil { // EINVAL while the link is down
		n, _ := strconv.Atoi(strings.TrimSpace(string(speed)))
		link.SpeedMb = max(n, 0) // -1: the driver does not know
	}
	return link
}

// segments asks a link whether it takes packets of several segments.
func segments(link string) (bool, error) {
	for _, o := range []ethtool.Offload{ethtool.TSO, ethtool.GSO} {
		if on, err := o.On(link); on || err != nil {
			return on, err
		}
	}
	return false, nil
}
