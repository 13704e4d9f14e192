package sample

import (
	"os"
	"runtime"
	"testing"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/congctl/congctl/internal/linux/nsthread"
)

func needRoot(t testing.TB, why string) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skipf("needs root: %s; minimum kernel 5.4", why)
	}
}

// ownNetns moves the test's goroutine into a fresh network namespace with
// loopback up. It holds for this goroutine only: no subtests inside.
func ownNetns(t testing.TB) {
	t.Helper()
	needRoot(t, "it makes a network namespace")
	runtime.LockOSThread()
	home, err := unix.Open(nsthread.Own, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		defer unix.Close(home)
		if unix.Setns(home, unix.CLONE_NEWNET) == nil {
			runtime.UnlockOSThread()
		}
	})
	lo, err := netlink.LinkByName("lo")
	if err != nil {
		t.Fatal(err)
	}
	if err := netlink.LinkSetUp(lo); err != nil {
		t.Fatal(err)
	}
}

// moreFiles raises the limit of open files for this process.
func moreFiles(t testing.TB, n uint64) {
	t.Helper()
	var was unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &was); err != nil {
		t.Fatal(err)
	}
	if was.Cur >= n {
		return
	}
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: n, Max: max(n, was.Max)}); err != nil {
		t.Skipf("needs %d open files: %v; no minimum kernel", n, err)
	}
	t.Cleanup(func() { _ = unix.Setrlimit(unix.RLIMIT_NOFILE, &was) })
}

type pair struct{ client, server int }

// world is a set of listeners and connections on loopback, closed with the test.
type world struct {
	t     testing.TB
	pairs []pair
	fds   []int
}

func newWorld(t testing.TB) *world {
	w := &world{t: t}
	t.Cleanup(w.close)
	return w
}

func (w *world) close() {
	for _, fd := range w.fds {
		_ = unix.SetsockoptLinger(fd, unix.SOL_SOCKET, unix.SO_LINGER, &unix.Linger{Onoff: 1}) // no TIME_WAIT
		_ = unix.Close(fd)
	}
	w.fds, w.pairs = nil, nil
}

func (w *world) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) socket(family int, cong string) int {
	w.t.Helper()
	fd, err := unix.Socket(family, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	w.must(err)
	w.fds = append(w.fds, fd)
	if cong != "" {
		w.must(unix.SetsockoptString(fd, unix.IPPROTO_TCP, unix.TCP_CONGESTION, cong))
	}
	return fd
}

// loopback is an address of 127.0.0.0/8 by number, or ::1.
func loopback(family, host, port int) unix.Sockaddr {
	if family == unix.AF_INET6 {
		return &unix.SockaddrInet6{Port: port, Addr: [16]byte{15: 1}}
	}
	return &unix.SockaddrInet4{Port: port, Addr: [4]byte{127, byte(host >> 16), byte(host >> 8), byte(host)}}
}

func (w *world) listen(family, port, backlog int, cong string) int {
	w.t.Helper()
	fd := w.socket(family, cong)
	w.must(unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_REUSEADDR, 1))
	w.must(unix.Bind(fd, loopback(family, 1, port)))
	w.must(unix.Listen(fd, backlog))
	return fd
}

// connect opens one connection from the host-th loopback address.
func (w *world) connect(listener, family, host, port int, cong string) pair {
	w.t.Helper()
	p := pair{client: w.socket(family, cong)}
	if family == unix.AF_INET {
		w.must(unix.SetsockoptInt(p.client, unix.IPPROTO_IP, unix.IP_BIND_ADDRESS_NO_PORT, 1))
		w.must(unix.Bind(p.client, loopback(family, host, 0)))
	}
	w.must(unix.Connect(p.client, loopback(family, 1, port)))
	var err error
	p.server, _, err = unix.Accept4(listener, unix.SOCK_CLOEXEC)
	w.must(err)
	w.fds = append(w.fds, p.server)
	w.pairs = append(w.pairs, p)
	return p
}

// move sends n bytes and reads them at the other end, in steps that fit a buffer.
func (w *world) move(from, to, n int) {
	w.t.Helper()
	buf := make([]byte, 8<<10)
	for n > 0 {
		k, err := unix.Write(from, buf[:min(n, len(buf))])
		w.must(err)
		n -= k
		for k > 0 {
			got, err := unix.Read(to, buf)
			w.must(err)
			k -= got
		}
	}
}
