package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"os"
	"os/exec"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/congctl/congctl/internal/linux/netns"
)

// A crowd is a process that holds connections with itself, two sockets each, and
// lets them stand still. Several of them hold more than one process may have files.
const (
	crowdEnv    = "CONGCTL_TEST_CROWD" // connection to begin with, connections, wide networks
	mostPerHead = 5000                 // connections: 10,000 files, below the usual limits
	perNetwork  = 100                  // connections from one client network
)

// startCrowd opens n sockets, half of them IPv6, and holds them until the end.
func startCrowd(b testing.TB, n int) { b.Helper(); startWideCrowd(b, n, 0) }

// startWideCrowd spreads its connections over so many networks, which wideNetworks made local; 0: as startCrowd does.
func startWideCrowd(b testing.TB, n, wide int) {
	b.Helper()
	for first := 0; first < n/2; first += mostPerHead {
		head(b, first, min(n/2-first, mostPerHead), wide)
	}
}

func head(b testing.TB, first, connections, wide int) {
	b.Helper()
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = append(os.Environ(), asEnv+"=crowd", fmt.Sprintf("%s=%d %d %d", crowdEnv, first, connections, wide))
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	check(b, err)
	out, err := cmd.StdoutPipe()
	check(b, err)
	check(b, cmd.Start())
	b.Cleanup(func() { in.Close(); _ = cmd.Wait() })
	var open int
	if _, err := fmt.Fscan(out, &open); err != nil || open != connections {
		b.Fatalf("crowd: %d connections of %d, %v", open, connections, err)
	}
}

func holdCrowd() error {
	var first, connections, wide int
	if _, err := fmt.Sscan(os.Getenv(crowdEnv), &first, &connections, &wide); err != nil {
		return err
	}
	limit := unix.Rlimit{Cur: uint64(2*connections + 100), Max: uint64(2*connections + 100)}
	_ = unix.Setrlimit(unix.RLIMIT_NOFILE, &limit) // where it is refused, socket() says so
	listeners := map[bool]*crowdListener{}
	for _, a := range []netip.Addr{netns.EdgeAddr4, netns.EdgeAddr6} {
		l, err := crowdListen(a)
		if err != nil {
			return err
		}
		listeners[a.Is4()] = l
	}
	for i := first; i < first+connections; i++ {
		from, bytes := crowdClient(i, wide), 500
		if i < wide {
			bytes = 150_000 // one of each network has a delivery rate
		}
		if err := listeners[from.Is4()].join(from, bytes); err != nil {
			return fmt.Errorf("connection %d from %s: %w", i, from, err)
		}
	}
	fmt.Println(connections)
	_, err := io.Copy(io.Discard, os.Stdin)
	return err
}

// crowdClient is where the i-th connection comes from.
func crowdClient(i, wide int) netip.Addr {
	if wide > 0 {
		return wideClient(i%wide, 1+i/wide%200)
	}
	network := i / perNetwork % networks
	if i%2 == 1 {
		network += networks
	}
	return client(network, 1+i%perNetwork)
}

// crowdListener works with plain descriptors: they need no memory of this process.
type crowdListener struct {
	fd, family int
	at         unix.Sockaddr
}

func crowdListen(a netip.Addr) (*crowdListener, error) {
	l := &crowdListener{family: unix.AF_INET6}
	if a.Is4() {
		l.family = unix.AF_INET
	}
	var err error
	if l.fd, err = unix.Socket(l.family, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0); err != nil {
		return nil, err
	}
	if err := errors.Join(
		unix.SetsockoptString(l.fd, unix.IPPROTO_TCP, unix.TCP_CONGESTION, "cubic"),
		unix.Bind(l.fd, sockaddr(a)), unix.Listen(l.fd, 16)); err != nil {
		return nil, err
	}
	l.at, err = unix.Getsockname(l.fd)
	return l, err
}

func sockaddr(a netip.Addr) unix.Sockaddr {
	if a.Is4() {
		return &unix.SockaddrInet4{Addr: a.As4()}
	}
	return &unix.SockaddrInet6{Addr: a.As16()}
}

// join opens one connection and sends so many bytes over it.
func (l *crowdListener) join(from netip.Addr, bytes int) error {
	_, err := l.pair(from, bytes)
	return err
}

// pair is join; it returns both ends.
func (l *crowdListener) pair(from netip.Addr, bytes int) (fds [2]int, err error) {
	if fds[0], err = unix.Socket(l.family, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0); err != nil {
		return fds, err
	}
	if err := errors.Join(unix.Bind(fds[0], sockaddr(from)), unix.Connect(fds[0], l.at)); err != nil {
		return fds, err
	}
	if fds[1], _, err = unix.Accept4(l.fd, unix.SOCK_CLOEXEC); err != nil {
		return fds, err
	}
	if err := unix.SetsockoptTimeval(fds[0], unix.SOL_SOCKET, unix.SO_RCVTIMEO, &unix.Timeval{Sec: int64(patience / time.Second)}); err != nil {
		return fds, err
	}
	wrote := make(chan error, 1)
	go func() {
		var n int
		var err error
		for left := bytes; err == nil && left > 0; left -= n { // a signal of Go's scheduler cuts a write short
			n, err = unix.Write(fds[1], crowdBody[:left])
		}
		wrote <- err
	}()
	for buf, left := make([]byte, 64<<10), bytes; left > 0; {
		n, err := unix.Read(fds[0], buf)
		if err == unix.EINTR { // with a limit it is not restarted
			continue
		}
		if err != nil || n == 0 {
			return fds, fmt.Errorf("read: %d bytes left: %w", left, cmp.Or(err, io.ErrUnexpectedEOF))
		}
		left -= n
	}
	return fds, <-wrote
}

var crowdBody = make([]byte, 150_000)
