package limit

import (
	"bytes"
	"fmt"
	"net"
	"net/netip"
	"os"
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

// CarriesSession reports whether a link carries the caller's SSH session: it leads to the client, or
// has the server's address, or lies below one that does (a bond's member, a VLAN's card).
func CarriesSession(link string) (bool, error) {
	s := session()
	if s == "" {
		return false, nil
	}
	client, server, err := parseSession(s)
	if err != nil {
		return false, err
	}
	on := map[int]bool{}
	if routes, err := netlink.RouteGet(net.IP(client.AsSlice())); err == nil {
		for _, r := range routes {
			on[r.LinkIndex] = true
		}
	}
	links, err := netlink.LinkList()
	if err != nil {
		return false, fmt.Errorf("find the session's interface: %w", err)
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
	return reaches(links, on, link), nil
}

// reaches follows links down: from a master to its members, from a VLAN to its card.
func reaches(links []netlink.Link, on map[int]bool, name string) bool {
	for range links { // as deep as there are links
		for _, l := range links {
			a := l.Attrs()
			if on[a.MasterIndex] && a.MasterIndex != 0 {
				on[a.Index] = true
			}
			// The "parent" of a veth is its other end, which carries nothing else.
			if on[a.Index] && a.ParentIndex != 0 && l.Type() != "veth" {
				on[a.ParentIndex] = true
			}
		}
	}
	for _, l := range links {
		if l.Attrs().Name == name && on[l.Attrs().Index] {
			return true
		}
	}
	return false
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
