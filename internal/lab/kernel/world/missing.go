package world

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/congctl/congctl/internal/lab/scenario"
	"github.com/congctl/congctl/internal/linux/cubiclt"
	"github.com/congctl/congctl/internal/linux/netns"
	"github.com/congctl/congctl/internal/linux/qdisc"
)

// part is what a cell may need of a kernel. try uses it on the loopback of a scratch
// namespace, which also loads a module if the host can. Each has its own major: a handle
// is not replaced by one of another kind.
type part struct {
	name, config, module string
	kind                 string // of the qdisc or action, where it is not the name
	try                  func(tc *qdisc.Conn, lo int, major uint16) error
}

var parts = []part{
	{"netem", "CONFIG_NET_SCH_NETEM", "sch_netem", "", tryQdisc(qdisc.Netem{LimitPackets: 1})},
	{"fq", "CONFIG_NET_SCH_FQ", "sch_fq", "", tryQdisc(qdisc.Fq{})},
	{"fq_codel", "CONFIG_NET_SCH_FQ_CODEL", "sch_fq_codel", "", tryQdisc(qdisc.FqCodel{})},
	{"tbf", "CONFIG_NET_SCH_TBF", "sch_tbf", "", tryQdisc(qdisc.Tbf{RateBytesPerS: 1_000_000, BurstBytes: 10_000, LimitBytes: 10_000})},
	{"prio", "CONFIG_NET_SCH_PRIO", "sch_prio", "", tryQdisc(qdisc.Prio{Bands: 2})},
	{"policer", "CONFIG_NET_ACT_POLICE and CONFIG_NET_CLS_MATCHALL", "act_police", qdisc.Police{}.Kind(), tryQdisc(qdisc.Police{RateBytesPerS: 1_000_000, BurstBytes: 10_000})},
	{"bbr", "CONFIG_TCP_CONG_BBR", "tcp_bbr", "", tryCong("bbr")},
	{"cubic", "CONFIG_TCP_CONG_CUBIC", "tcp_cubic", "", tryCong("cubic")},
}

func tryQdisc(s qdisc.Spec) func(*qdisc.Conn, int, uint16) error {
	return func(tc *qdisc.Conn, lo int, major uint16) error {
		return tc.Replace(qdisc.At{Link: lo, Parent: qdisc.Root, Handle: qdisc.Handle(major)}, s)
	}
}

func tryCong(name string) func(*qdisc.Conn, int, uint16) error {
	return func(*qdisc.Conn, int, uint16) error {
		fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
		if err != nil {
			return err
		}
		defer unix.Close(fd)
		err = unix.SetsockoptString(fd, unix.IPPROTO_TCP, unix.TCP_CONGESTION, name)
		if errors.Is(err, unix.ENOENT) {
			return qdisc.ErrUnknown
		}
		return err
	}
}

// Missing returns what this host lacks for these cells, one line for each with the way to
// get it; none if nothing.
func Missing(cells []scenario.Cell) (lines []string) {
	wanted, err := partsOf(cells)
	if err != nil {
		return []string{err.Error()}
	}
	return lacking(wanted)
}

// partsOf returns what the cells' plans and flows name, in the order of parts, then other
// congestion controls.
func partsOf(cells []scenario.Cell) (wanted []part, err error) {
	names := map[string]bool{}
	others := map[string]bool{}
	for i := range cells {
		p, err := planOf(&cells[i], 1)
		if err != nil {
			return nil, err
		}
		for _, at := range p.places {
			names[at.spec.Kind()] = true
		}
		for _, f := range cells[i].Flows {
			names[f.Cong], others[f.Cong] = true, true
		}
	}
	for _, p := range parts {
		delete(others, p.name)
		if names[p.name] || names[p.kind] {
			wanted = append(wanted, p)
		}
	}
	for _, cong := range slices.Sorted(maps.Keys(others)) {
		wanted = append(wanted, part{cong, "CONFIG_TCP_CONG_" + strings.ToUpper(cong), "tcp_" + cong, "", tryCong(cong)})
	}
	return wanted, nil
}

// lacking tries each part.
func lacking(wanted []part) (lines []string) {
	if os.Geteuid() != 0 {
		return []string{"root: namespaces, links and qdiscs need CAP_SYS_ADMIN and CAP_NET_ADMIN; run as root, or in the vm world"}
	}
	ns, err := netns.Anonymous()
	if err != nil {
		return []string{err.Error()}
	}
	defer ns.Close()
	err = ns.Do(func() error {
		tc, err := qdisc.Open()
		if err != nil {
			return err
		}
		defer tc.Close()
		lo, err := netlink.LinkByName("lo")
		if err != nil {
			return fmt.Errorf("find loopback: %w", err)
		}
		for i, p := range wanted {
			if err := p.try(tc, lo.Attrs().Index, uint16(i+1)); errors.Is(err, qdisc.ErrUnknown) {
				lines = append(lines, p.advice())
			} else if err != nil {
				lines = append(lines, fmt.Sprintf("%s: %v", p.name, err))
			}
		}
		return nil
	})
	if err != nil {
		lines = append(lines, err.Error())
	}
	return lines
}

func (p part) advice() string {
	if p.name == cubiclt.Name {
		return p.name + ": congctl registers it in machines of its own only: use the uml world, or vm with a kernel of Linux 6.4 or later"
	}
	return fmt.Sprintf("%s: this kernel has no module %s (%s); Ubuntu: apt install linux-modules-extra-%s; "+
		"Fedora, RHEL: dnf install kernel-modules-extra; Debian: apt install linux-image-amd64; or use the vm world",
		p.name, p.module, p.config, Release())
}
