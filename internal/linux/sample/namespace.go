package sample

// One network namespace: everything that must be opened inside it, opened once.
// Files of /proc/net and /proc/sys stay bound to the namespace of the thread that
// opened them, so later reads need no setns, only pread from the start.
// /proc/thread-self is used because /proc/net means the main thread's namespace.

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/congctl/congctl/internal/tcp/inetdiag"
	"github.com/congctl/congctl/internal/tcp/record"
)

// Namespace is an open network namespace.
type Namespace struct {
	// Name is for people: "own", a name of /run/netns, the configured path, or "pid 123
	// (nginx)".
	Name  string
	Inode uint64
	// Cookie is SO_NETNS_COOKIE, as eBPF sees it; 0 on kernels before 5.14.
	Cookie record.NetnsID
	// Listening is what the last poll found.
	Listening Listeners

	dump       *Dumper
	cong, snmp int
	scratch    []byte
	local      local
	links      map[uint32]inetdiag.Cong // names that Link has found
}

// openNamespace must run on a thread inside the namespace.
func openNamespace(name string, ino uint64) (*Namespace, error) {
	d, err := openDumper()
	if err != nil {
		return nil, err
	}
	n := &Namespace{Name: name, Inode: ino, dump: d, cong: -1, snmp: -1, scratch: make([]byte, 8<<10), links: map[uint32]inetdiag.Cong{}}
	if n.Cookie, err = netnsCookie(d.sock.fd); err == nil {
		n.cong, err = unix.Open("/proc/sys/net/ipv4/tcp_congestion_control", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	}
	if err == nil {
		n.snmp, err = unix.Open("/proc/thread-self/net/snmp", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	}
	if err != nil {
		n.Close()
		return nil, fmt.Errorf("open network namespace %s: %w", name, err)
	}
	return n, nil
}

func netnsCookie(fd int) (record.NetnsID, error) {
	cookie, err := unix.GetsockoptUint64(fd, unix.SOL_SOCKET, unix.SO_NETNS_COOKIE)
	if errors.Is(err, unix.ENOPROTOOPT) {
		return 0, nil
	}
	return record.NetnsID(cookie), err
}

// Dump dumps the sockets of this namespace, see Dumper.Dump.
func (n *Namespace) Dump(req inetdiag.Request, visit func(*inetdiag.Sock)) (Stats, error) {
	st, err := n.dump.Dump(req, visit)
	if err != nil {
		err = fmt.Errorf("network namespace %s: %w", n.Name, err)
	}
	return st, err
}

// DefaultCong reads the congestion control that new sockets of this namespace
// get (net.ipv4.tcp_congestion_control; it counts for IPv6 too).
func (n *Namespace) DefaultCong() (inetdiag.Cong, error) {
	text, err := n.slurp(n.cong)
	if err != nil {
		return inetdiag.Cong{}, fmt.Errorf("read tcp_congestion_control of network namespace %s: %w", n.Name, err)
	}
	var c inetdiag.Cong
	copy(c[:15], bytes.TrimSpace(text))
	return c, nil
}

// PassiveOpens reads how many connections this namespace has accepted since it
// exists, both families (Tcp: PassiveOpens of /proc/net/snmp). The kernel counts
// at the end of the handshake, before the application accepts.
func (n *Namespace) PassiveOpens() (uint64, error) {
	text, err := n.slurp(n.snmp)
	if err != nil {
		return 0, fmt.Errorf("read snmp of network namespace %s: %w", n.Name, err)
	}
	return snmpCounter(string(text), "Tcp:", "PassiveOpens")
}

// Link names a link of this namespace; empty for 0, which is no link. One that is gone is "if9".
func (n *Namespace) Link(index uint32) (name inetdiag.Cong) {
	if index == 0 {
		return name
	}
	if name, ok := n.links[index]; ok {
		return name
	}
	name = inetdiag.CongOf(fmt.Sprintf("if%d", index))
	if ifr, err := unix.NewIfreq("?"); err == nil {
		ifr.SetUint32(index)
		if unix.IoctlIfreq(n.dump.sock.fd, unix.SIOCGIFNAME, ifr) == nil {
			name = inetdiag.CongOf(ifr.Name())
		}
	}
	n.links[index] = name
	return name
}

func snmpCounter(text, protocol, column string) (uint64, error) {
	var names []string
	for line := range strings.Lines(text) {
		fields := strings.Fields(line)
		if len(fields) == 0 || fields[0] != protocol {
			continue
		}
		if names == nil {
			names = fields
			continue
		}
		for i, name := range names {
			if name == column && i < len(fields) {
				return strconv.ParseUint(fields[i], 10, 64)
			}
		}
	}
	return 0, fmt.Errorf("read snmp: no column %s in %s", column, protocol)
}

func (n *Namespace) slurp(fd int) ([]byte, error) {
	for {
		got, err := unix.Pread(fd, n.scratch, 0)
		switch {
		case err == unix.EINTR:
		case err != nil:
			return nil, err
		case got == len(n.scratch):
			n.scratch = make([]byte, 2*got)
		default:
			return n.scratch[:got], nil
		}
	}
}

// Close frees the descriptors; with the last of them the namespace may die.
func (n *Namespace) Close() error {
	err := errors.Join(n.dump.Close(), n.local.close())
	for _, fd := range []int{n.cong, n.snmp} {
		if fd >= 0 {
			err = errors.Join(err, unix.Close(fd))
		}
	}
	return err
}
