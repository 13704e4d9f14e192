package carry

import (
	"errors"
	"fmt"
	"slices"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/congctl/congctl/internal/change"
	"github.com/congctl/congctl/internal/linux/qdisc"
)

// Qdiscs is the place of links' qdiscs in the calling thread's network namespace: a
// link's value is its whole tree. Ingress and clsact are not part of it.
type Qdiscs struct{}

// Read returns a link's tree.
func (Qdiscs) Read(link string) (v change.Value, err error) {
	err = onLink(link, func(c *qdisc.Conn, index int) error {
		nodes, err := ReadTree(c, index)
		v = change.Tree(nodes)
		return err
	})
	if errors.As(err, new(netlink.LinkNotFoundError)) {
		return change.Absent, nil // unplugged, with its qdiscs
	}
	return v, err
}

func onLink(link string, fn func(*qdisc.Conn, int) error) error {
	l, err := netlink.LinkByName(link)
	if err != nil {
		return fmt.Errorf("find link %s: %w", link, err)
	}
	c, err := qdisc.Open()
	if err != nil {
		return err
	}
	defer c.Close()
	return fn(c, l.Attrs().Index)
}

// Write makes a link have a tree. A root without a handle is what the kernel attaches by
// itself: Write deletes the root for it, and writes it out only if another kind came.
func (q Qdiscs) Write(link string, v change.Value) error {
	if !v.Present {
		return fmt.Errorf("write qdiscs of %s: the link is gone", link)
	}
	want, err := change.ParseTree(v.Text)
	if err == nil && len(want) == 0 {
		err = errors.New("no root")
	}
	if err != nil {
		return fmt.Errorf("write qdiscs of %s: %w", link, err)
	}
	if _, err := netlink.LinkByName(link); errors.As(err, &netlink.LinkNotFoundError{}) {
		return fmt.Errorf("%w: the link is gone, its qdiscs with it", ErrInUse)
	}
	return onLink(link, func(c *qdisc.Conn, index int) error {
		err := put(c, index, want)
		if err != nil {
			return fmt.Errorf("write qdiscs of %s: %w", link, err)
		}
		return nil
	})
}

func put(c *qdisc.Conn, index int, want []change.Node) error {
	if want[0].Handle == 0 && !want[0].Default {
		if same, err := byDefault(c, index, want); same || err != nil {
			return err
		}
	}
	root := want[0].Handle
	if root == 0 && len(want) > 1 {
		root = change.OwnHandle << 16 // its leaves cannot be reached without
	}
	for _, n := range want {
		at := qdisc.At{Link: index, Parent: n.Parent, Handle: n.Handle}
		if n.Parent == change.RootParent {
			at.Handle = root
		} else if n.Parent&0xffff0000 == want[0].Handle {
			at.Parent = root | n.Parent&0xffff
		}
		if err := c.Replace(at, raw(n)); err != nil {
			return err
		}
	}
	return nil
}

func raw(n change.Node) qdisc.Spec {
	return qdisc.Sized{Spec: qdisc.Raw{Name: n.Kind, Options: n.Options}, Stab: n.Stab}
}

// byDefault makes the kernel attach its default and returns whether that is what is
// wanted. A root that is a default already cannot be deleted: another one is put there
// first, since the default setting may have changed since it was attached.
func byDefault(c *qdisc.Conn, index int, want []change.Node) (bool, error) {
	at := qdisc.At{Link: index, Parent: change.RootParent}
	err := c.Delete(at)
	if errors.Is(err, unix.ENOENT) || errors.Is(err, unix.EINVAL) {
		if same, err := has(c, index, want); same || err != nil {
			return same, err
		}
		explicit := at
		explicit.Handle = change.OwnHandle << 16
		if err := c.Replace(explicit, qdisc.Raw{Name: want[0].Kind}); err != nil {
			return false, err
		}
		err = c.Delete(at)
	}
	if err != nil {
		return false, err
	}
	return has(c, index, want)
}

func has(c *qdisc.Conn, index int, want []change.Node) (bool, error) {
	now, err := ReadTree(c, index)
	return err == nil && change.Qdisc.Same(change.Tree(want), change.Tree(now)), err
}

const ingressParent = 0xfffffff1 // TC_H_INGRESS, of clsact, too

// ReadTree reads what a link sends through. It does not include what the link receives
// through (ingress, clsact).
func ReadTree(c *qdisc.Conn, link int) (nodes []change.Node, err error) {
	all, err := c.List(link)
	for _, s := range all {
		if s.At.Parent != ingressParent && s.Kind != "noop" {
			nodes = append(nodes, change.Node{Kind: s.Kind, Handle: s.At.Handle, Parent: s.At.Parent, Options: s.Options, Stab: s.Stab})
		}
	}
	return change.Ordered(nodes), err
}

// Bring makes a link send through what ReadTree read. The kernel's own qdisc is whatever it
// attaches now after ours is gone: settings or the MTU may have changed. Everything with a
// handle is restored with its options.
func Bring(c *qdisc.Conn, link int, want []change.Node) error {
	now, err := ReadTree(c, link)
	if err != nil || change.Egress.Same(change.Tree(want), change.Tree(now)) {
		return err
	}
	if slices.ContainsFunc(change.Named(now), func(n change.Node) bool { return n.Parent == change.RootParent }) {
		if err := c.Delete(qdisc.At{Link: link, Parent: change.RootParent}); err != nil {
			return err
		}
	}
	return Attach(c, link, change.Named(want))
}

// Attach puts qdiscs on a link as they are written; one that fails does not keep the others
// away.
func Attach(c *qdisc.Conn, link int, nodes []change.Node) (err error) {
	for _, n := range nodes {
		err = errors.Join(err, c.Replace(qdisc.At{Link: link, Parent: n.Parent, Handle: n.Handle}, raw(n)))
	}
	return err
}
