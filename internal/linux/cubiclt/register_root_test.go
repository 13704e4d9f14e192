package cubiclt

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"net"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/cilium/ebpf/features"
	"golang.org/x/sys/unix"
)

// childEnv makes this program register under the name that it holds, say so, and wait to be killed.
const childEnv = "CONGCTL_TEST_REGISTERS"

func TestMain(m *testing.M) {
	if name := os.Getenv(childEnv); name != "" {
		if _, err := registerAs(name); err != nil {
			os.Stdout.WriteString(err.Error())
			os.Exit(1)
		}
		os.Stdout.WriteString("registered\n")
		time.Sleep(time.Minute)
		os.Exit(1)
	}
	os.Exit(m.Run())
}

func needKernel(t testing.TB) {
	t.Helper()
	if code, err := features.LinuxVersionCode(); os.Geteuid() != 0 || err != nil || code < 6<<16|4<<8 {
		t.Skip("needs root and a struct_ops link; minimum kernel 6.4")
	}
}

func known(t *testing.T, name string) bool {
	t.Helper()
	have, err := has(name)
	if err != nil {
		t.Fatal(err)
	}
	return have
}

// TestRegister: while it is registered a connection can have it, and carries its bytes; once it is not, that connection goes on and
// no other can have it.
func TestRegister(t *testing.T) {
	needKernel(t)
	const name = "lt_test"
	r, err := registerAs(name)
	if err != nil {
		t.Fatal(err)
	}
	if !known(t, name) {
		t.Error("not among the congestion controls of the kernel")
	}
	if _, err := registerAs(name); !errors.Is(err, unix.EEXIST) || !strings.Contains(err.Error(), "registered already") {
		t.Errorf("a second time: %v", err)
	}
	c := connect(t)
	if err := c.set(name); err != nil {
		t.Fatal(err)
	}
	c.carry(t, 8<<20)
	if err := r.close(); err != nil {
		t.Fatal(err)
	}
	if known(t, name) {
		t.Error("still there")
	}
	c.carry(t, 8<<20)
	if got := c.get(t); got != name {
		t.Errorf("the connection has %q", got)
	}
	if err := connect(t).set(name); !errors.Is(err, unix.ENOENT) {
		t.Errorf("another connection: %v", err)
	}
	if err := c.set("cubic"); err != nil {
		t.Error(err)
	}
	c.carry(t, 1<<20)
}

// TestKilled: with the process that registered it the name is gone at once.
func TestKilled(t *testing.T) {
	needKernel(t)
	const name = "lt_test_kill"
	cmd := exec.CommandContext(t.Context(), "/proc/self/exe")
	cmd.Env = append(os.Environ(), childEnv+"="+name)
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line, _ := bufio.NewReader(out).ReadString('\n')
	if line != "registered\n" || !known(t, name) {
		t.Fatalf("%q", line)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	for until := time.Now().Add(5 * time.Second); known(t, name); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(until) {
			t.Fatal("still there")
		}
	}
}

// conn is a connection of this host to itself.
type conn struct{ near, far *net.TCPConn }

func connect(t testing.TB) conn {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	near, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	far, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { near.Close(); far.Close() })
	return conn{near.(*net.TCPConn), far.(*net.TCPConn)}
}

func (c conn) control(fn func(fd int) error) (err error) {
	raw, err := c.near.SyscallConn()
	if err != nil {
		return err
	}
	return errors.Join(raw.Control(func(fd uintptr) { err = fn(int(fd)) }), err)
}

func (c conn) set(name string) error {
	return c.control(func(fd int) error { return unix.SetsockoptString(fd, unix.IPPROTO_TCP, unix.TCP_CONGESTION, name) })
}

func (c conn) get(t *testing.T) (name string) {
	t.Helper()
	if err := c.control(func(fd int) (err error) {
		name, err = unix.GetsockoptString(fd, unix.IPPROTO_TCP, unix.TCP_CONGESTION)
		return err
	}); err != nil {
		t.Fatal(err)
	}
	return name
}

func (c conn) carry(t testing.TB, n int) {
	t.Helper()
	if err := c.pass(n); err != nil {
		t.Fatal(err)
	}
}

// pass sends n bytes and receives them.
func (c conn) pass(n int) error {
	sent := bytes.Repeat([]byte("congctl "), n/8)
	done := make(chan error, 1)
	go func() { _, err := c.near.Write(sent); done <- err }()
	got := make([]byte, n)
	_ = c.far.SetDeadline(time.Now().Add(20 * time.Second))
	if _, err := io.ReadFull(c.far, got); err != nil {
		return err
	}
	if err := <-done; err != nil {
		return err
	}
	if !bytes.Equal(got, sent) {
		return errors.New("other bytes came than were sent")
	}
	return nil
}

// TestProvideTogether: of several that start at once one registers it, and all have it.
func TestProvideTogether(t *testing.T) {
	needKernel(t)
	if known(t, Name) {
		t.Skip("needs a kernel that has no cubic_lt yet; minimum kernel 6.4")
	}
	type provided struct {
		release func() error
		err     error
	}
	all := make(chan provided)
	for range 4 {
		go func() {
			release, err := Provide()
			all <- provided{release, err}
		}()
	}
	for range 4 {
		p := <-all
		if p.err != nil {
			t.Error(p.err)
			continue
		}
		t.Cleanup(func() { _ = p.release() })
	}
	if !known(t, Name) {
		t.Error("not registered")
	}
}

// TestUnloadUnderConnections: a thousand connections that carry data when it is unregistered go on, on it.
func TestUnloadUnderConnections(t *testing.T) {
	needKernel(t)
	const name = "lt_test_unload"
	r, err := registerAs(name)
	if err != nil {
		t.Fatal(err)
	}
	all := make([]conn, 1000)
	for i := range all {
		all[i] = connect(t)
		if err := all[i].set(name); err != nil {
			t.Fatal(err)
		}
	}
	before, after := make(chan error, len(all)), make(chan error, len(all))
	for _, c := range all {
		go func() {
			before <- c.pass(64 << 10)
			after <- c.pass(256 << 10)
		}()
	}
	for range len(all) / 2 { // others are at their first bytes, or at their last
		if err := <-before; err != nil {
			t.Fatal(err)
		}
	}
	if err := r.close(); err != nil {
		t.Fatal(err)
	}
	for i := range all {
		select {
		case err := <-after:
			if err != nil {
				t.Fatal(err)
			}
		case <-time.After(time.Minute):
			t.Fatalf("%d of %d connections went on", i, len(all))
		}
	}
	for _, c := range all {
		if got := c.get(t); got != name {
			t.Fatalf("a connection has %q", got)
		}
	}
	if known(t, name) {
		t.Error("still there")
	}
}

// TestHold: of two processes that hold it the second registers it once the first has ended.
func TestHold(t *testing.T) {
	needKernel(t)
	if known(t, Name) {
		t.Skip("needs a kernel that has no cubic_lt yet; minimum kernel 6.4")
	}
	first, err := registerAs(Name)
	if err != nil {
		t.Fatal(err)
	}
	keep, release, err := Hold()
	if err != nil {
		t.Fatal(errors.Join(err, first.close()))
	}
	if err := errors.Join(keep(), first.close()); err != nil || known(t, Name) {
		t.Errorf("after the first one's end: %v", err)
	}
	if err := keep(); err != nil || !known(t, Name) {
		t.Errorf("kept: %v", err)
	}
	if err := errors.Join(keep(), release()); err != nil || known(t, Name) {
		t.Errorf("released: %v", err)
	}
}
