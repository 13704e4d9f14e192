package loopback

import (
	"encoding/binary"
	"net/netip"
	"time"

	"golang.org/x/sys/unix"

	"github.com/congctl/congctl/internal/tcp/inetdiag"
)

// Layout of struct inet_diag_req_v2 and inet_diag_msg.
const (
	askBytes, sayBytes                = 56, 72
	askFamily, askProtocol, askStates = 0, 1, 4
	askFromPort, askToPort            = 8, 10
	askFrom, askTo, askCookie         = 12, 28, 48
	sayState, sayUID, sayInode        = 1, 64, 68
	established                       = 1
	answerWait                        = time.Second // the kernel answers in the same system call
)

// User returns the user of the socket at the other end of a TCP connection, which the kernel finds by both addresses
// without a walk; false if that is not a connected socket of this network namespace. One that its process has closed
// would be root's, and is not taken.
func User(local, remote netip.AddrPort) (uid uint32, ok bool) {
	fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.NETLINK_SOCK_DIAG)
	if err != nil {
		return 0, false
	}
	defer unix.Close(fd)
	tv := unix.NsecToTimeval(answerWait.Nanoseconds())
	if unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &tv) != nil || unix.Connect(fd, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}) != nil {
		return 0, false
	}
	if _, err := unix.Write(fd, question(remote, local)); err != nil {
		return 0, false
	}
	var buf [4096]byte
	n, err := unix.Read(fd, buf[:])
	if err != nil {
		return 0, false
	}
	m, _, err := inetdiag.Next(buf[:n])
	if err != nil || m.Type != inetdiag.TypeByFamily || len(m.Data) < sayBytes || m.Data[sayState] != established || native.Uint32(m.Data[sayInode:]) == 0 {
		return 0, false
	}
	return native.Uint32(m.Data[sayUID:]), true
}

var native, network = binary.NativeEndian, binary.BigEndian

// question asks for one socket by its addresses.
func question(from, to netip.AddrPort) []byte {
	var q [askBytes]byte
	a, b := from.Addr().Unmap(), to.Addr().Unmap()
	q[askFamily], q[askProtocol] = unix.AF_INET6, unix.IPPROTO_TCP
	if a.Is4() {
		q[askFamily] = unix.AF_INET
	}
	native.PutUint32(q[askStates:], 1<<established)
	network.PutUint16(q[askFromPort:], from.Port())
	network.PutUint16(q[askToPort:], to.Port())
	copy(q[askFrom:askTo], a.AsSlice())
	copy(q[askTo:], b.AsSlice())
	native.PutUint64(q[askCookie:], ^uint64(0)) // INET_DIAG_NOCOOKIE
	return inetdiag.AppendMessage(nil, inetdiag.Header{Type: inetdiag.TypeByFamily, Flags: inetdiag.FlagRequest}, q[:])
}
