package host

import (
	"cmp"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/congctl/congctl/internal/core/advise"
	"github.com/congctl/congctl/internal/kernel/enforce"
	"github.com/congctl/congctl/internal/kernel/qdisc"
)

// local is the network namespace and the kernel that this program runs in.
type local struct{}

func (local) Tier() (string, []string, error) {
	p, err := enforce.ProbeKernel("bbr", "")
	if err != nil {
		return "", nil, err
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
	q, err := qdisc.Open()
	if err != nil {
		return nil, err
	}
	defer q.Close()
	var links []advise.Link
	for _, l := range found {
		link := linkOf(l)
		if link.Qdiscs, err = qdiscsOf(q, link.Index); err != nil {
			return nil, err
		}
		link.Offloads = known(Offloads(link.Name))
		links = append(links, link)
	}
	slices.SortFunc(links, func(a, b advise.Link) int { return cmp.Compare(a.Index, b.Index) })
	return links, nil
}

func linkOf(l netlink.Link) advise.Link {
	a := l.Attrs()
	link := advise.Link{Index: a.Index, Name: a.Name, Kind: l.Type(), Loopback: a.Flags&net.FlagLoopback != 0,
		Up: a.Flags&net.FlagUp != 0, MTU: a.MTU, TxQueues: a.NumTxQueues}
	if link.Kind == "device" {
		link.Kind = ""
	}
	dir := filepath.Join("/sys/class/net", a.Name)
	if _, err := os.Stat(dir + "/device"); err == nil {
		link.Hardware = true
	}
	if driver, err := os.Readlink(dir + "/device/driver"); err == nil {
		link.Driver = filepath.Base(driver)
	}
	if speed, err := os.ReadFile(dir + "/speed"); err == nil { // EINVAL while the link is down
		n, _ := strconv.Atoi(strings.TrimSpace(string(speed)))
		link.SpeedMb = max(n, 0) // -1: the driver does not know
	}
	return link
}

func qdiscsOf(c *qdisc.Conn, link int) (list []advise.Qdisc, err error) {
	stats, err := c.List(link)
	for _, s := range stats {
		list = append(list, advise.Qdisc{Kind: s.Kind, Handle: s.At.Handle, Parent: s.At.Parent,
			Packets: s.Packets, Drops: s.Drops, FlowsPlimit: s.FlowsPlimit})
	}
	return list, err
}
