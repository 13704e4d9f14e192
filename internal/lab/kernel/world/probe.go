package world

import (
	"encoding/binary"
	"errors"
	"fmt"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/congctl/congctl/internal/lab/outcome"
)

// Probes are ICMP echoes: the receiver's kernel answers them by itself, so a program that
// reads one late adds nothing to the path's time. The time of arrival is the kernel's
// (SO_TIMESTAMPNS), for the same reason.

const (
	probePayload = 32 // bytes: 74 on the wire, small beside a full packet
	icmpEcho     = 8
	icmpHeader   = 8
	ipHeader     = 20
	probeBytes   = frameHeader + ipHeader + icmpHeader + probePayload
	idleProbes   = 5
)

// pinger sends probes from the sender to the receiver and matches the answers.
type pinger struct {
	fd     int
	probes *[]outcome.Probe // those of this phase
	sentNs []int64          // wall clock, by index
	open   int              // not answered yet
	first  uint16           // sequence number of the first of this phase
	buf    [256]byte
	oob    [64]byte
}

// newPinger opens a socket in the namespace of the calling thread.
func newPinger() (*pinger, error) {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, unix.IPPROTO_ICMP)
	if err == nil {
		err = unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_TIMESTAMPNS, 1)
	}
	if err == nil {
		err = unix.Bind(fd, &unix.SockaddrInet4{Port: 1, Addr: srvAddr.As4()}) // the port is the echo's identifier
	}
	if err != nil {
		return nil, fmt.Errorf("open probe socket: %w", err)
	}
	return &pinger{fd: fd}, nil
}

// begin starts a phase whose probes go to out.
func (p *pinger) begin(out *[]outcome.Probe) {
	p.first += uint16(len(p.sentNs))
	p.probes, p.sentNs, p.open = out, p.sentNs[:0], 0
}

func (p *pinger) send(atUs uint64) error {
	msg := [icmpHeader + probePayload]byte{icmpEcho}
	binary.BigEndian.PutUint16(msg[6:], p.first+uint16(len(p.sentNs)))
	*p.probes = append(*p.probes, outcome.Probe{AtUs: atUs})
	p.sentNs = append(p.sentNs, time.Now().UnixNano())
	p.open++
	err := unix.Sendto(p.fd, msg[:], 0, &unix.SockaddrInet4{Addr: cliAddr.As4()})
	if err != nil && !errors.Is(err, unix.ENOBUFS) { // ENOBUFS: the sender's own queue is full, the probe is lost
		return fmt.Errorf("send probe: %w", err)
	}
	return nil
}

// receive takes in the answers that wait.
func (p *pinger) receive() {
	for {
		n, oobn, _, _, err := unix.Recvmsg(p.fd, p.buf[:], p.oob[:], 0)
		if err != nil {
			return
		}
		i := int(binary.BigEndian.Uint16(p.buf[6:]) - p.first)
		arrived := stampNs(p.oob[:oobn])
		if n < icmpHeader || i >= len(p.sentNs) || arrived == 0 || (*p.probes)[i].RTTUs != 0 {
			continue // of an earlier phase, or twice
		}
		p.open--
		(*p.probes)[i].RTTUs = uint64(max((arrived-p.sentNs[i]+500)/1000, 1))
	}
}

// stampNs returns the kernel's time of arrival, 0 without one.
func stampNs(oob []byte) int64 {
	head, data, _, err := unix.ParseOneSocketControlMessage(oob)
	if err != nil || head.Type != unix.SCM_TIMESTAMPNS || len(data) < int(unsafe.Sizeof(unix.Timespec{})) {
		return 0
	}
	return (*unix.Timespec)(unsafe.Pointer(&data[0])).Nano()
}
