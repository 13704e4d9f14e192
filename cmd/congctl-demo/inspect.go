package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// socketState is what the kernel says about a socket.
type socketState struct {
	cong   string
	cookie uint64
	info   unix.TCPInfo
}

func onFD(c *net.TCPConn, fn func(fd int) error) error {
	raw, err := c.SyscallConn()
	if err != nil {
		return err
	}
	var inner error
	err = raw.Control(func(fd uintptr) { inner = fn(int(fd)) })
	return errors.Join(err, inner)
}

// inspect reads a socket back: its congestion control, cookie and tcp_info.
func inspect(c *net.TCPConn) (s socketState, err error) {
	err = onFD(c, func(fd int) error {
		name, err := unix.GetsockoptString(fd, unix.IPPROTO_TCP, unix.TCP_CONGESTION)
		if err != nil {
			return err
		}
		s.cong = strings.TrimRight(name, "\x00")
		if s.cookie, err = unix.GetsockoptUint64(fd, unix.SOL_SOCKET, unix.SO_COOKIE); err != nil {
			return err
		}
		info, err := unix.GetsockoptTCPInfo(fd, unix.IPPROTO_TCP, unix.TCP_INFO)
		if err == nil {
			s.info = *info
		}
		return err
	})
	if err != nil {
		return s, fmt.Errorf("read socket: %w", err)
	}
	return s, nil
}

// acknowledged waits until the client has all that was sent (SIOCOUTQ counts what
// is not acknowledged). False: it went away before, or did not take it. A client
// that has everything may close at once, so the context is asked last.
func acknowledged(ctx context.Context, c *net.TCPConn) bool {
	const tick, patience = 2 * time.Millisecond, 20 * time.Second
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(tick) {
		left := 0
		err := onFD(c, func(fd int) (err error) {
			left, err = unix.IoctlGetInt(fd, unix.SIOCOUTQ)
			return err
		})
		if err != nil {
			return false
		}
		if left == 0 {
			return true
		}
		if ctx.Err() != nil {
			return false
		}
	}
	return false
}

func (s socketState) fill(r *response) {
	r.After = s.cong
	r.SentBytes, r.RetransBytes, r.MinRTTUs = s.info.Bytes_sent, s.info.Bytes_retrans, s.info.Min_rtt
	r.RateBytesPerS = s.info.Delivery_rate
}
