package qdisc

import (
	"errors"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/vishvananda/netlink"

	"github.com/congctl/congctl/internal/linux/netns"
)

// inNamespace returns a Conn and a veth link in a namespace of its own.
func inNamespace(t *testing.T) (c *Conn, link int) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("needs root: makes a namespace; minimum kernel 5.3")
	}
	ns, err := netns.Anonymous()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ns.Close() })
	err = errors.Join(netns.Veth(ns, "a", ns, "b"), ns.Up("a"), ns.Up("b"), ns.Do(func() (err error) {
		if c, err = Open(); err != nil {
			return err
		}
		l, err := netlink.LinkByName("a")
		if err == nil {
			link = l.Attrs().Index
		}
		return err
	}))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c, link
}

// Each kind that this kernel has is put, found, changed and deleted.
func TestEachKind(t *testing.T) {
	for _, name := range slices.Sorted(maps.Keys(specs)) {
		s := specs[name]
		t.Run(name, func(t *testing.T) {
			c, link := inNamespace(t)
			at := At{Link: link, Parent: Root, Handle: Handle(7)}
			err := c.Replace(at, s)
			if errors.Is(err, ErrUnknown) {
				t.Skipf("needs %s in the kernel: %v; minimum kernel 5.3", s.Kind(), err)
			}
			if err != nil {
				t.Fatal(err)
			}
			if s.Kind() != "police" {
				checkLife(t, c, at, s)
			} else if _, err := c.PoliceStat(link); err != nil {
				t.Error(err)
			}
		})
	}
}

func checkLife(t *testing.T, c *Conn, at At, s Spec) {
	t.Helper()
	got, err := c.Get(at.Link, at.Handle)
	if err != nil || got.Kind != s.Kind() || got.At.Handle != at.Handle {
		t.Errorf("got %+v, %v", got, err)
	}
	if err := c.Change(at, s); err != nil {
		t.Error(err)
	}
	if err := c.Delete(at); err != nil {
		t.Error(err)
	}
	all, err := c.List(at.Link)
	if err != nil || slices.ContainsFunc(all, func(s Stat) bool { return s.At == at }) {
		t.Errorf("after delete: %+v, %v", all, err)
	}
}

// What hangs below a token bucket is found by its own handle.
func TestChild(t *testing.T) {
	c, link := inNamespace(t)
	root := At{Link: link, Parent: Root, Handle: Handle(1)}
	child := At{Link: link, Parent: Child(root.Handle), Handle: Handle(2)}
	if err := errors.Join(c.Replace(root, specs["tbf"]), c.Replace(child, Raw{"pfifo", u32(3)})); err != nil {
		t.Fatal(err)
	}
	got, err := c.Get(link, child.Handle)
	if err != nil || got.At.Handle != child.Handle || got.Kind != "pfifo" {
		t.Errorf("got %+v, %v", got, err)
	}
	if _, err := c.Get(link, Handle(9)); err == nil {
		t.Error("found what is not there")
	}
}

// A kernel that has a filter and not the action says which module it needs, and keeps nothing.
func TestRedirectNamesTheAction(t *testing.T) {
	c, link := inNamespace(t)
	for range 2 {
		err := c.redirect(link, Catchalls, "nosuch", nil)
		if !errors.Is(err, ErrUnknown) || !strings.HasSuffix(err.Error(), "sudo modprobe act_nosuch, or boot a kernel with CONFIG_NET_ACT_NOSUCH") {
			t.Errorf("got %v", err)
		}
	}
	if all, err := c.Filters(link, ingressHandle); len(all) > 0 {
		t.Errorf("left are %+v, %v", all, err)
	}
}
