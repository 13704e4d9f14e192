package sample

import (
	"errors"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/congctl/congctl/internal/linux/netns"
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

func TestNamespacesComeAndGo(t *testing.T) {
	needRoot(t, "it makes network namespaces and enters them")
	pid, free := heldNamespace(t)
	s, err := OpenNamespaces(All)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	own, _ := inode(nsthread.Own)
	theirs, _ := inode(processNetns(pid))
	find := func() *Namespace {
		if i := slices.IndexFunc(s.All(), func(n *Namespace) bool { return n.Inode == theirs }); i >= 0 {
			return s.All()[i]
		}
		return nil
	}
	n := find()
	if n == nil || s.All()[0].Inode != own || s.All()[0].Name != "own" {
		t.Fatalf("namespaces %+v", s.All())
	}
	if n.Cookie == 0 || n.Cookie == s.All()[0].Cookie || !strings.HasPrefix(n.Name, "pid ") {
		t.Errorf("name %q, cookie %d, own cookie %d", n.Name, n.Cookie, s.All()[0].Cookie)
	}
	if opens, err := n.PassiveOpens(); err != nil || opens != 0 {
		t.Errorf("%d passive opens in a fresh namespace, %v", opens, err)
	}
	free()
	change, err := s.Refresh()
	if err != nil || find() != nil || !slices.Contains(change.Gone, n) {
		t.Errorf("after its end: %+v, %v", change, err)
	}
	if now, _ := inode(nsthread.Own); now != own {
		t.Errorf("the test's thread ended in namespace %d", now)
	}
}

func processNetns(pid int) string { return filepath.Join("/proc", itoa(pid), "ns/net") }

func TestListedNamespaceByPath(t *testing.T) {
	needRoot(t, "it mounts a network namespace and enters it")
	path, free := mountedNamespace(t)
	s, err := OpenNamespaces(path, path)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if len(s.All()) != 1 || s.All()[0].Name != path {
		t.Fatalf("%+v", s.All())
	}
	if _, err := s.All()[0].DefaultCong(); err != nil {
		t.Error(err)
	}
	free()
	if change, err := s.Refresh(); err == nil || len(change.Gone) != 1 || len(s.All()) != 0 {
		t.Errorf("a listed namespace that is gone: %+v, %v", change, err)
	}
}

// TestEnteringLeavesNoThreadBehind enters many namespaces from many goroutines;
// afterwards every thread of the process must be back in its own.
func TestEnteringLeavesNoThreadBehind(t *testing.T) {
	needRoot(t, "it enters network namespaces")
	path, _ := mountedNamespace(t)
	own, _ := inode(nsthread.Own)
	done := make(chan error, 32)
	for range cap(done) {
		go func() {
			d, err := Open(path)
			if err == nil {
				err = d.Close()
			}
			done <- err
		}()
	}
	for range cap(done) {
		if err := <-done; err != nil {
			t.Fatal(err)
		}
	}
	tasks, err := filepath.Glob("/proc/self/task/*/ns/net")
	if err != nil || len(tasks) == 0 {
		t.Fatal(err)
	}
	for _, task := range tasks {
		if ino, err := inode(task); err == nil && ino != own {
			t.Errorf("%s is in namespace %d, own is %d", task, ino, own)
		}
	}
}

// TestLinksAreNamed: each socket of two on one link-local address has the link that it is bound to.
func TestLinksAreNamed(t *testing.T) {
	needRoot(t, "it makes links")
	ns, err := netns.Anonymous()
	if err != nil {
		t.Fatal(err)
	}
	defer ns.Close()
	var open []*Namespaces
	err = ns.Do(func() error {
		s, err := OpenNamespaces(Own)
		open = append(open, s)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	defer open[0].Close()
	if err := errors.Join(netns.Veth(ns, "eth8", ns, "eth9"), ns.Up("eth8"), ns.Up("eth9")); err != nil {
		t.Fatal(err)
	}
	at := netip.MustParsePrefix("fe80::1/64")
	for _, link := range []string{"eth8", "eth9"} {
		if err := ns.AddAddr(link, at); err != nil {
			t.Fatal(err)
		}
		l, err := ns.Listen(t.Context(), nil, netip.AddrPortFrom(at.Addr().WithZone(link), 8080))
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
	}
	got := map[string]int{}
	_, err = open[0].All()[0].Dump(inetdiag.Request{States: inetdiag.Listening}, func(s *inetdiag.Sock) {
		link := open[0].All()[0].Link(s.Interface)
		got[link.String()]++
	})
	if err != nil || got["eth8"] != 1 || got["eth9"] != 1 || len(got) != 2 {
		t.Errorf("listeners %v, %v", got, err)
	}
	if gone, none := open[0].All()[0].Link(999), open[0].All()[0].Link(0); gone.String() != "if999" || none.String() != "" {
		t.Errorf("%s, %s", gone, none)
	}
}
