package enforce

import (
	"context"
	"net"
	"os"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// TestEstablished: a connection's start is the time of the packet that established it, also
// where TCP Fast Open (RFC 7413) has data in the SYN and the kernel has read no clock.
func TestEstablished(t *testing.T) {
	r := newRig(t)
	const file = "/proc/sys/net/ipv4/tcp_fastopen" // of the test's own namespace
	was, err := os.ReadFile(file)
	check(t, err)
	t.Cleanup(func() { check(t, os.WriteFile(file, was, 0)) })
	// For clients and listeners of all kinds, with no cookie asked for (tcp.h, TFO_*).
	check(t, os.WriteFile(file, []byte("0x607"), 0))
	for name, fast := range map[string]int{"handshake": 0, "fast open": 1} {
		ln := listen(t, "tcp4", net.JoinHostPort(edge4.String(), "0"))
		d := net.Dialer{LocalAddr: &net.TCPAddr{IP: clientC.AsSlice()}, Timeout: patience, Control: func(_, _ string, c syscall.RawConn) (err error) {
			if cerr := c.Control(func(fd uintptr) { err = unix.SetsockoptInt(int(fd), unix.SOL_TCP, unix.TCP_FASTOPEN_CONNECT, fast) }); cerr != nil {
				return cerr
			}
			return err
		}}
		before := bootNs()
		c, err := d.DialContext(context.Background(), "tcp4", ln.Addr().String())
		check(t, err)
		_, err = c.Write([]byte("request"))
		check(t, err)
		s, err := ln.Accept()
		check(t, err)
		after := bootNs()
		raw, err := s.(*net.TCPConn).SyscallConn()
		check(t, err)
		var info *unix.TCPInfo
		check(t, raw.Control(func(fd uintptr) { info, err = unix.GetsockoptTCPInfo(int(fd), unix.SOL_TCP, unix.TCP_INFO) }))
		check(t, err)
		const synData = 32 // TCPI_OPT_SYN_DATA
		if inSYN := info.Options&synData != 0; inSYN != (fast == 1) {
			t.Errorf("%s: data in the SYN: %v", name, inSYN)
		}
		time.Sleep(20 * time.Millisecond) // what reads a clock at the end would be late
		check(t, c.Close())
		check(t, s.Close())
		// The clock of a packet is in us, and SetNetns reads the two clocks one after the other.
		const slack = uint64(time.Millisecond)
		if at := r.next().Mark.EstablishedNs; at+slack < before || at > after+slack {
			t.Errorf("%s: established %d ns after the connection was begun, and it was there after %d ns", name, int64(at-before), after-before)
		}
	}
}
