package main

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"net/netip"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// cacheAddrEnv is where an edge's cache of the demonstration listens.
const cacheAddrEnv = "CONGCTL_TEST_CACHE"

// runCache is a child's part: it answers a size in 4 bytes with so many bytes, and when they are
// acknowledged with the 16 of the congestion control that its kernel says they ran.
func runCache() error {
	addr, err := netip.ParseAddrPort(os.Getenv(cacheAddrEnv))
	if err != nil {
		return err
	}
	lc := net.ListenConfig{Control: func(_, _ string, c syscall.RawConn) (err error) {
		return errors.Join(c.Control(func(fd uintptr) {
			err = unix.SetsockoptString(int(fd), unix.IPPROTO_TCP, unix.TCP_CONGESTION, "cubic")
		}), err)
	}}
	l, err := lc.Listen(context.Background(), "tcp", addr.String())
	if err != nil {
		return err
	}
	for {
		c, err := l.Accept()
		if err != nil {
			return err
		}
		go func() {
			defer c.Close()
			_ = c.SetDeadline(time.Now().Add(time.Minute))
			_ = answerDownload(c.(*net.TCPConn))
		}()
	}
}

func answerDownload(c *net.TCPConn) error {
	var ask [4]byte
	if _, err := io.ReadFull(c, ask[:]); err != nil {
		return err
	}
	for n := int(binary.BigEndian.Uint32(ask[:])); n > 0; {
		w, err := c.Write(body[:min(n, len(body))])
		if err != nil {
			return err
		}
		n -= w
	}
	name, err := congWhenAcked(c)
	if err != nil {
		return err
	}
	_, err = c.Write(append([]byte(name), make([]byte, 16-len(name))...))
	return err
}

// congWhenAcked waits until all that was written is acknowledged.
func congWhenAcked(c *net.TCPConn) (name string, err error) {
	raw, err := c.SyscallConn()
	if err != nil {
		return "", err
	}
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(2 * time.Millisecond) {
		left := 0
		cerr := raw.Control(func(fd uintptr) {
			if left, err = unix.IoctlGetInt(int(fd), unix.SIOCOUTQ); err == nil && left == 0 {
				name, err = unix.GetsockoptString(int(fd), unix.IPPROTO_TCP, unix.TCP_CONGESTION)
			}
		})
		if err = errors.Join(err, cerr); err != nil || name != "" {
			return name, err
		}
	}
	return "", errors.New("not acknowledged within a minute")
}
