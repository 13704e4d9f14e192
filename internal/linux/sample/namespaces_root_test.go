package sample

import (
	"errors"
	"net/netip"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/congctl/congctl/internal/linux/netns"
	"github.com/congctl/congctl/internal/linux/nsthread"
	"github.com/congctl/congctl/internal/tcp/inetdiag"
)

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
