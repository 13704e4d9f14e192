package control

import (
	"context"
	"fmt"
	"net"

	"golang.org/x/sys/unix"
)

// Peer is the process at the other end, as the kernel reports it (SO_PEERCRED): its
// credentials at the time of connect or, for a server, of listen.
type Peer struct {
	PID      int32
	UID, GID uint32
}

type peerKey struct{}

// PeerOf returns the peer of the request being handled.
func PeerOf(ctx context.Context) (Peer, bool) {
	p, ok := ctx.Value(peerKey{}).(Peer)
	return p, ok
}

func withPeer(ctx context.Context, c net.Conn) context.Context {
	if s, ok := c.(*slot); ok {
		if p, known := peer(s.Conn); known {
			return context.WithValue(ctx, peerKey{}, p)
		}
	}
	return ctx
}

// process is the holder of a connection to the socket.
func process(c net.Conn) Holder {
	p, known := peer(c)
	return Holder{fmt.Sprintf("uid %d pid %d", p.UID, p.PID), known && p.UID == 0}
}

func peer(c net.Conn) (Peer, bool) {
	uc, ok := c.(*net.UnixConn)
	if !ok {
		return Peer{}, false
	}
	raw, err := uc.SyscallConn()
	if err != nil {
		return Peer{}, false
	}
	var cred *unix.Ucred
	if raw.Control(func(fd uintptr) {
		cred, err = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED)
	}) != nil || err != nil {
		return Peer{}, false
	}
	return Peer{PID: cred.Pid, UID: cred.Uid, GID: cred.Gid}, true
}
