package sample

import (
	"errors"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/congctl/congctl/internal/linux/nsthread"
	"github.com/congctl/congctl/internal/tcp/inetdiag"
)

func TestOwnNamespaceNeedsNoRoot(t *testing.T) {
	s, err := OpenNamespaces(Own)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if len(s.All()) != 1 {
		t.Fatalf("%d namespaces", len(s.All()))
	}
	n := s.All()[0]
	ino, _ := inode(nsthread.Own)
	if n.Name != "own" || n.Inode != ino {
		t.Errorf("%s %d, want own %d", n.Name, n.Inode, ino)
	}
	text, err := os.ReadFile("/proc/sys/net/ipv4/tcp_congestion_control")
	if err != nil {
		t.Fatal(err)
	}
	if c, err := n.DefaultCong(); err != nil || c.String() != strings.TrimSpace(string(text)) {
		t.Errorf("default %q, file %q, %v", c, text, err)
	}
}

func TestScopeIsChecked(t *testing.T) {
	for want, scope := range map[string][]string{"no name is given": nil, "/run/netns/no-such-namespace": {"no-such-namespace"}} {
		if _, err := OpenNamespaces(scope...); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v", scope, err)
		}
	}
}

func TestSNMPCounter(t *testing.T) {
	const text = "Ip: A B\nIp: 1 2\nTcp: RtoMin ActiveOpens PassiveOpens\nTcp: 200 5 77\nUdp: A\nUdp: 9\n"
	if v, err := snmpCounter(text, "Tcp:", "PassiveOpens"); v != 77 || err != nil {
		t.Errorf("%d, %v", v, err)
	}
	if _, err := snmpCounter("Tcp: A\n", "Tcp:", "PassiveOpens"); err == nil {
		t.Error("a missing column was found")
	}
}

func TestListenersAccept(t *testing.T) {
	var l Listeners
	l.reset()
	for _, x := range []struct {
		at     string
		v6only bool
	}{
		{"10.0.0.1:80", false}, {"0.0.0.0:81", false}, {"[::]:82", false}, {"[::]:83", true}, {"[2001:db8::1]:84", true},
		{"[::]:85", true}, {"[::]:85", false}, {"[::ffff:10.0.0.2]:86", false}, {"[::]:87", false}, {"[::]:87", true},
	} {
		l.add(&inetdiag.Sock{Local: netip.MustParseAddrPort(x.at), V6Only: x.v6only})
	}
	for at, want := range map[string]bool{
		"10.0.0.1:80": true, "10.0.0.2:80": false, "[::ffff:10.0.0.1]:80": true,
		"10.9.9.9:81": true, "[2001:db8::9]:81": false, "10.9.9.9:82": true, "[::ffff:10.9.9.9]:82": true,
		"[2001:db8::9]:82": true, "10.9.9.9:83": false, "[2001:db8::9]:83": true, "[2001:db8::1]:84": true,
		"[2001:db8::2]:84": false, "10.0.0.1:85": true, "[::ffff:10.0.0.2]:86": true, "10.0.0.2:86": true,
		"10.0.0.1:87": true, "10.0.0.1:9999": false,
	} {
		if l.Accepts(netip.MustParseAddrPort(at)) != want {
			t.Errorf("%s: want %v", at, want)
		}
	}
	if l.Len() != 8 {
		t.Errorf("%d addresses", l.Len())
	}
}

// heldNamespace keeps a network namespace alive in a child process, until freed.
func heldNamespace(t *testing.T) (pid int, free func()) {
	t.Helper()
	cmd := exec.Command("unshare", "--net", "sleep", "60")
	if err := cmd.Start(); err != nil {
		t.Skipf("needs unshare (util-linux): %v; minimum kernel 3.8", err)
	}
	free = func() { _ = cmd.Process.Kill(); _ = cmd.Wait() }
	t.Cleanup(free)
	own, _ := inode(nsthread.Own)
	for {
		ino, err := inode(processNetns(cmd.Process.Pid))
		if err != nil {
			t.Fatal(err)
		}
		if ino != own {
			return cmd.Process.Pid, free
		}
		runtime.Gosched()
	}
}

// mountedNamespace makes a namespace that only a bind mount holds.
func mountedNamespace(t *testing.T) (path string, free func()) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "edge")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	home, err := unix.Open(nsthread.Own, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(home)
	runtime.LockOSThread()
	if err = unix.Unshare(unix.CLONE_NEWNET); err == nil {
		err = errors.Join(unix.Mount(nsthread.Own, path, "none", unix.MS_BIND, ""), unix.Setns(home, unix.CLONE_NEWNET))
	}
	if err != nil {
		t.Fatal(err) // the thread stays locked, and ends with the test
	}
	runtime.UnlockOSThread()
	free = func() { _ = unix.Unmount(path, unix.MNT_DETACH); _ = os.Remove(path) }
	t.Cleanup(free)
	return path, free
}

func processNetns(pid int) string { return filepath.Join("/proc", itoa(pid), "ns/net") }

func TestNewPollRefusesBadPorts(t *testing.T) {
	if _, err := NewPoll(&Namespaces{}, PollConfig{Ports: []inetdiag.PortRange{{Lo: 2, Hi: 1}}}); err == nil {
		t.Error("an inverted range was taken")
	}
}
