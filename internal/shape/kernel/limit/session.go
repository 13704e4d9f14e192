package limit

import (
	"bytes"
	"fmt"
	"net"
	"net/netip"
	"os"
	"slices"
	"strings"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// session returns the caller's SSH_CONNECTION ("client port server port"), "" without one. sudo
// removes it from the environment, so it also looks at the parent processes.
func session() string {
	if s := os.Getenv("SSH_CONNECTION"); s != "" {
		return s
	}
	const generations = 32 // shells in shells in a terminal multiplexer
	for pid, n := os.Getppid(), 0; pid > 1 && n < generations; n++ {
		env, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
		if err != nil {
			return "" // another user's process: not of our session
		}
		for v := range bytes.SplitSeq(env, []byte{0}) {
			if s, ok := strings.CutPrefix(string(v), "SSH_CONNECTION="); ok && s != "" {
				return s
			}
		}
		pid = parent(pid)
	}
	return ""
}

// parent reads the fourth word of /proc/PID/stat, after a name that may hold anything.
func parent(pid int) int {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0
	}
	var state string
	var n int
	if _, err := fmt.Sscan(string(b[bytes.LastIndexByte(b, ')')+1:]), &state, &n); err != nil {
		return 0
	}
	return n
}

// CarriesSession reports whether a link carries the caller's SSH session, or may: it leads to the client, or has the server's
// address, or lies below a link that does.
func CarriesSession(link string) (bool, error) {
	s := session()
	if s == "" {
		return false, nil
	}
	client, server, err := parseSession(s)
	if err != nil {
		return false, err
	}
	l, err := find(link)
	if err != nil {
		return false, err
	}
	links, err := netlink.LinkList()
	if err != nil {
		return false, fmt.Errorf("find the session's interface: %w", err)
	}
	on := map[int]bool{}
	for _, i := range routed(client.AsSlice()) {
		on[i] = true
	}
	for _, l := range links {
		addrs, err := netlink.AddrList(l, unix.AF_UNSPEC)
		if err != nil {
			return false, fmt.Errorf("find the session's interface: %w", err)
		}
		for _, a := range addrs {
			if ip, ok := netip.AddrFromSlice(a.IP); ok && ip.Unmap() == server {
				on[l.Attrs().Index] = true
			}
		}
	}
	descend(links, on)
	return on[l.Attrs().Index], nil
}

// routed returns the links through which packets to an address leave, all of a route with several.
func routed(to net.IP) (links []int) {
	routes, err := netlink.RouteGetWithOptions(to, &netlink.RouteGetOptions{FIBMatch: true})
	if err != nil {
		return nil // there is no way to it
	}
	for _, r := range routes {
		links = append(links, r.LinkIndex)
		for _, hop := range r.MultiPath {
			links = append(links, hop.LinkIndex)
		}
	}
	return links
}

// descend follows links down: from a master to its members, from a VLAN to its card, from a tunnel to the link of its packets.
func descend(links []netlink.Link, on map[int]bool) {
	for range links { // as deep as there are links
		for _, l := range links {
			a := l.Attrs()
			if on[a.MasterIndex] && a.MasterIndex != 0 {
				on[a.Index] = true
			}
			if !on[a.Index] {
				continue
			}
			for _, i := range lower(l, links) {
				on[i] = true
			}
		}
	}
}

// carriesItself are kinds of links that send through no other link but their members.
var carriesItself = []string{"device", "veth", "dummy", "ifb", "bridge", "bond", "team", "vrf"}

// lower returns the links through which a link sends. If a program or a key decides that (tun, WireGuard), it may be any.
func lower(l netlink.Link, links []netlink.Link) (indexes []int) {
	a := l.Attrs()
	below, remote := underlay(l)
	switch {
	case a.NetNsID >= 0: // in another namespace
		return nil
	case slices.Contains(carriesItself, l.Type()): // the "parent" of a veth is its other end
		return nil
	case below != 0:
		return []int{below}
	case remote != nil && !remote.IsUnspecified():
		indexes = routed(remote)
	}
	if len(indexes) == 0 {
		for _, l := range links {
			indexes = append(indexes, l.Attrs().Index)
		}
	}
	return indexes
}

// underlay returns what is configured of the link below and of a tunnel's other end.
func underlay(l netlink.Link) (below int, remote net.IP) {
	below = l.Attrs().ParentIndex
	switch l := l.(type) {
	case *netlink.Vxlan:
		below, remote = l.VtepDevIndex, l.Group
	case *netlink.Geneve:
		remote = l.Remote
	case *netlink.Gretap:
		remote = l.Remote
	case *netlink.Gretun:
		remote = l.Remote
	case *netlink.Iptun:
		remote = l.Remote
	case *netlink.Sittun:
		remote = l.Remote
	case *netlink.Ip6tnl:
		remote = l.Remote
	case *netlink.Vti:
		remote = l.Remote
	}
	return below, remote
}

func parseSession(s string) (client, server netip.Addr, err error) {
	f := strings.Fields(s)
	if len(f) != 4 {
		return client, server, fmt.Errorf("parse SSH_CONNECTION %q: not four words", s)
	}
	if client, err = netip.ParseAddr(f[0]); err == nil {
		server, err = netip.ParseAddr(f[2])
	}
	if err != nil {
		return client, server, fmt.Errorf("parse SSH_CONNECTION %q: %w", s, err)
	}
	return client.Unmap().WithZone(""), server.Unmap().WithZone(""), nil
}
