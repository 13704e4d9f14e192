package world

import (
	"errors"
	"fmt"
	"net/netip"

	"golang.org/x/sys/unix"

	"github.com/congctl/congctl/internal/lab/outcome"
	"github.com/congctl/congctl/internal/tcp/inetdiag"
)

// A transfer is one connection. The receiver connects and the sender accepts, as an edge
// does: its congestion control is the listener's, so it applies from the first byte, and
// the handshake is part of the transfer's time. Bytes cost little on both sides: sendfile
// sends pages of one small file, and the receiver discards what arrived without copying it
// (MSG_TRUNC).

const (
	firstServerPort = 5001  // of flow 0
	firstClientPort = 10000 // of connection 0; servers' ports tell the flows apart
	clientPorts     = 50000 // then they are used again
	chunkBytes      = 1 << 20
	mostLowat       = 64 << 10
	lowatOfWindow   = 8 // bytes that wait are at most an eighth of the window, so they never narrow it
)

type transfer struct {
	flow     *flow
	snd, rcv int    // descriptors; snd is -1 before accept
	bytes    uint64 // to send, 0: until its time is over
	sent     uint64
	got      uint64 // read by the receiver
	lowat    uint64
	server   netip.AddrPort
	client   netip.AddrPort
	result   *outcome.Transfer
	ended    bool
}

// connect starts the n-th transfer of a flow.
func (r *runner) connect(f *flow, n int) (*transfer, error) {
	t := &transfer{flow: f, snd: -1, rcv: -1, bytes: f.spec.Bytes, lowat: 1,
		server: netip.AddrPortFrom(srvAddr, f.port),
		client: netip.AddrPortFrom(cliAddr, uint16(firstClientPort+n%clientPorts))}
	err := r.net.node(cli).NS.Do(func() (err error) {
		t.rcv, err = unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("connect: %w", err)
	}
	f.out.Conns = append(f.out.Conns, outcome.Transfer{StartUs: r.loop.now()})
	err = errors.Join(
		unix.SetsockoptInt(t.rcv, unix.SOL_SOCKET, unix.SO_REUSEADDR, 1),
		unix.SetsockoptInt(t.rcv, unix.SOL_SOCKET, unix.SO_PRIORITY, priority(r.cell, f.spec)),
		unix.Bind(t.rcv, sockaddr(t.client)),
		started(unix.Connect(t.rcv, sockaddr(t.server))),
		r.loop.add(t.rcv, unix.EPOLLIN, func(uint32) { r.receive(t) }))
	if err != nil {
		return nil, fmt.Errorf("connect: %w", err)
	}
	return t, nil
}

func started(err error) error {
	if errors.Is(err, unix.EINPROGRESS) {
		return nil
	}
	return err
}

func sockaddr(a netip.AddrPort) unix.Sockaddr {
	return &unix.SockaddrInet4{Addr: a.Addr().As4(), Port: int(a.Port())}
}

// listen opens a flow's listener with its congestion control, in the namespace of the
// calling thread.
func listen(port uint16, cong string) (int, error) {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return -1, fmt.Errorf("listen: %w", err)
	}
	if err = unix.SetsockoptString(fd, unix.IPPROTO_TCP, unix.TCP_CONGESTION, cong); err != nil {
		err = fmt.Errorf("set congestion control %q: %w", cong, err)
	} else {
		err = errors.Join(unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_REUSEADDR, 1),
			unix.Bind(fd, &unix.SockaddrInet4{Addr: srvAddr.As4(), Port: int(port)}), unix.Listen(fd, 16))
	}
	if err != nil {
		unix.Close(fd)
		return -1, fmt.Errorf("listen: %w", err)
	}
	return fd, nil
}

// accept takes the connection that waits at the flow's listener.
func (r *runner) accept(f *flow) {
	fd, from, err := unix.Accept4(f.listener, unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC)
	if err != nil {
		return
	}
	t := f.now
	peer, ok := from.(*unix.SockaddrInet4)
	if t == nil || t.snd >= 0 || !ok || peer.Port != int(t.client.Port()) {
		unix.Close(fd) // of a transfer whose time was over before its handshake ended
		return
	}
	t.snd = fd
	// Edge-triggered: one registration for the whole life.
	if err := r.loop.add(fd, unix.EPOLLOUT|unix.EPOLLET, func(uint32) { r.pump(t) }); err != nil {
		r.fail(err)
	}
	f.sinceUs = r.loop.now()
	r.pump(t)
}

// pump sends what the application has by now, or as much as the socket takes. What becomes
// due meanwhile waits for the next call; otherwise it would go out byte by byte.
func (r *runner) pump(t *transfer) {
	for n := t.flow.allowance(t, r.loop.now()); n > 0 && !t.ended; {
		var off int64
		sent, err := unix.Sendfile(t.snd, r.pages, &off, int(min(n, chunkBytes)))
		if sent > 0 {
			t.sent += uint64(sent)
			n -= uint64(sent)
		}
		switch {
		case err == nil || errors.Is(err, unix.EINTR):
		case errors.Is(err, unix.EAGAIN):
			return
		default:
			r.endTransfer(t, fmt.Sprintf("send: %v", err))
		}
	}
}

// receive discards what has arrived.
func (r *runner) receive(t *transfer) {
	n, _, err := unix.Recvfrom(t.rcv, r.sink, unix.MSG_TRUNC)
	switch {
	case errors.Is(err, unix.EAGAIN) || errors.Is(err, unix.EINTR):
		return
	case err != nil:
		r.endTransfer(t, fmt.Sprintf("receive: %v", err))
		return
	case n == 0:
		r.endTransfer(t, "the connection ended early")
		return
	}
	t.got += uint64(n)
	if t.bytes > 0 && t.got >= t.bytes {
		r.endTransfer(t, "")
		return
	}
	r.setLowat(t, t.lowat)
}

// setLowat wakes the receiver only after that many bytes, or for the last ones.
func (r *runner) setLowat(t *transfer, want uint64) {
	if t.bytes > 0 {
		want = min(want, t.bytes-t.got)
	}
	if want = max(want, 1); want == t.lowat {
		return
	}
	t.lowat = want
	if err := unix.SetsockoptInt(t.rcv, unix.SOL_SOCKET, unix.SO_RCVLOWAT, int(want)); err != nil {
		r.fail(fmt.Errorf("set SO_RCVLOWAT: %w", err))
	}
}

// arrived asks the receiver's kernel for the bytes in order, read or not, and lets the
// low-water mark follow the window.
func (r *runner) arrived(t *transfer) uint64 {
	info, err := unix.GetsockoptTCPInfo(t.rcv, unix.IPPROTO_TCP, unix.TCP_INFO)
	if err != nil {
		return t.got
	}
	if !t.ended {
		r.setLowat(t, min(uint64(info.Rcv_ssthresh)/lowatOfWindow, mostLowat))
	}
	return max(info.Bytes_received, t.got)
}

// finish ends a transfer whose time is over; what has arrived by now counts.
func (r *runner) finish(t *transfer, trouble string) {
	if t.ended {
		return
	}
	t.got = r.arrived(t)
	r.endTransfer(t, trouble)
}

// state is the sender's socket by inet_diag, nil before accept and after the end.
func (r *runner) state(t *transfer) *inetdiag.Sock {
	if t.snd < 0 {
		return nil
	}
	s, err := r.diag.get(t.server, t.client)
	if err != nil {
		return nil
	}
	return s
}

// abandon closes both ends without a word that could wait in a queue (RST).
func (r *runner) abandon(t *transfer) {
	if t.snd >= 0 {
		_ = unix.SetsockoptLinger(t.snd, unix.SOL_SOCKET, unix.SO_LINGER, &unix.Linger{Onoff: 1})
		r.loop.drop(t.snd)
		t.snd = -1
	}
	if t.rcv >= 0 {
		r.loop.drop(t.rcv)
		t.rcv = -1
	}
}

// Idea: TCP whose pacing rate is zero does not pace. It computes a packet's departure as
// the last one's plus length / rate, and leaves that out if the rate is 0
// (tcp_update_skb_after_send in net/ipv4/tcp_output.c; tcp_internal_pacing up to 4.19).
// BBR sets min(its rate, SO_MAX_PACING_RATE) as the rate and continues as before: only its
// window limits what it sends. inet_diag then reports a pacing rate of 0.
//
// The obvious way does not work: a socket that once sent through fq leaves pacing to fq
// for ever (SK_PACING_FQ), even when fq is gone. But since 4.20 TCP stamps packets with
// the departure that it expects of fq and takes round trips from these stamps: on a path
// of 40 ms BBR of 6.1 then measured a minimum of 22 ms, and sent for that one.
//
// Price: TCP sizes its super-packets by the pacing rate and, since 5.18, the round trip.
// The first part is gone: they are shorter, before 5.18 single packets. And BBR, which
// adds three super-packets to its window, adds three packets.

// neverPace keeps a listener's connections from pacing themselves.
func neverPace(listener int) error {
	const bytesPerS = 0
	if err := unix.SetsockoptInt(listener, unix.SOL_SOCKET, unix.SO_MAX_PACING_RATE, bytesPerS); err != nil {
		return fmt.Errorf("turn TCP's pacing off: %w", err)
	}
	return nil
}
