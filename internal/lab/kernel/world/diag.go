package world

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"

	"golang.org/x/sys/unix"

	"github.com/congctl/congctl/internal/tcp/inetdiag"
)

// diag requests one socket by its addresses. A dump would walk the kernel's whole table
// each time, however few sockets the namespace has; the answer is the same, and the
// product's decoder reads it.
//
// Source: inet_diag_dump_one_icsk() in net/ipv4/inet_diag.c.
type diag struct {
	fd   int
	buf  [4096]byte // an answer has about 600 bytes
	sock inetdiag.Sock
}

// openDiag opens it in the namespace of the calling thread.
func openDiag() (*diag, error) {
	fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.NETLINK_SOCK_DIAG)
	if err == nil {
		err = unix.Connect(fd, &unix.SockaddrNetlink{Family: unix.AF_NETLINK})
	}
	if err != nil {
		return nil, fmt.Errorf("open socket diagnosis: %w", err)
	}
	return &diag{fd: fd}, nil
}

func (d *diag) close() { unix.Close(d.fd) }

// get reads a socket. The answer is good until the next get.
func (d *diag) get(local, remote netip.AddrPort) (*inetdiag.Sock, error) {
	if _, err := unix.Write(d.fd, diagRequest(local, remote)); err != nil {
		return nil, fmt.Errorf("request socket: %w", err)
	}
	n, err := unix.Read(d.fd, d.buf[:])
	if err != nil {
		return nil, fmt.Errorf("read socket: %w", err)
	}
	m, _, err := inetdiag.Next(d.buf[:n])
	if err != nil {
		return nil, fmt.Errorf("read socket: %w", err)
	}
	if m.Type != inetdiag.TypeByFamily {
		if errno, ok := m.Errno(); ok && errno != 0 {
			return nil, fmt.Errorf("read socket %s-%s: %w", local, remote, unix.Errno(errno))
		}
		return nil, fmt.Errorf("read socket: message of type %d", m.Type)
	}
	if err := inetdiag.Decode(m.Data, &d.sock); err != nil {
		return nil, fmt.Errorf("read socket: %w", err)
	}
	if d.sock.Has&inetdiag.HasInfo == 0 {
		return nil, errors.New("read socket: no tcp_info")
	}
	return &d.sock, nil
}

// diagRequest is struct inet_diag_req_v2 for exactly one socket, whatever its cookie.
func diagRequest(local, remote netip.AddrPort) []byte {
	var b [56]byte
	b[0], b[1], b[2] = unix.AF_INET, unix.IPPROTO_TCP, byte(inetdiag.ExtPoll)
	binary.LittleEndian.PutUint32(b[4:], inetdiag.Everything)
	binary.BigEndian.PutUint16(b[8:], local.Port())
	binary.BigEndian.PutUint16(b[10:], remote.Port())
	copy(b[12:], local.Addr().AsSlice())
	copy(b[28:], remote.Addr().AsSlice())
	for i := 48; i < 56; i++ {
		b[i] = 0xff // INET_DIAG_NOCOOKIE
	}
	return inetdiag.AppendMessage(nil, inetdiag.Header{Type: inetdiag.TypeByFamily, Flags: inetdiag.FlagRequest, Seq: 1}, b[:])
}
