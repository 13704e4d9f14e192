package shape

import (
	"errors"
	"fmt"

	"github.com/vishvananda/netlink"

	"github.com/congctl/congctl/internal/core/change"
	"github.com/congctl/congctl/internal/kernel/qdisc"
)

const noIngress = change.NoIngress

// ifbName is the link on which what comes in is queued: 15 characters at most, and one
// for each link whatever its name.
func ifbName(index int) string { return fmt.Sprintf("ifb-cc%d", index) }

func getIngress(name string) (string, error) {
	l, err := find(name)
	if err != nil {
		return "", err
	}
	ifb, err := find(ifbName(l.Attrs().Index))
	if errors.Is(err, ErrNoLink) {
		return noIngress, nil
	}
	if err != nil {
		return "", err
	}
	ours := false
	err = withConn(func(c *qdisc.Conn) (err error) {
		ours, err = c.Redirects(l.Attrs().Index, ifb.Attrs().Index)
		return err
	})
	if err != nil || !ours {
		return change.CutOff, err
	}
	v, err := getEgress(ifb.Attrs().Name)
	if err == nil && !isShaped(v) {
		v = change.CutOff // somebody took its bucket away
	}
	return v, err
}

func setIngress(name, v string) error {
	l, err := find(name)
	if err != nil {
		return err
	}
	switch {
	case v == noIngress:
		return dropIngress(l)
	case !isShaped(v):
		return fmt.Errorf("shape what %s receives: %q is no setting of ours", name, v)
	}
	if now, err := getIngress(name); err != nil || isShaped(now) {
		if err != nil {
			return err
		}
		return setEgress(ifbName(l.Attrs().Index), v) // it is there: only the rate is another
	}
	if err := dropIngress(l); err != nil {
		return err
	}
	if err := addIngress(l, v); err != nil {
		return errors.Join(fmt.Errorf("shape what %s receives: %w", name, err), dropIngress(l))
	}
	return nil
}

// addIngress makes the ifb ready before anything is sent to it.
func addIngress(l netlink.Link, v string) error {
	attrs := netlink.NewLinkAttrs()
	attrs.Name, attrs.MTU = ifbName(l.Attrs().Index), l.Attrs().MTU
	ifb := &netlink.Ifb{LinkAttrs: attrs}
	if err := netlink.LinkAdd(ifb); err != nil {
		return fmt.Errorf("add ifb: %w", err)
	}
	if err := netlink.LinkSetUp(ifb); err != nil {
		return fmt.Errorf("set ifb up: %w", err)
	}
	if err := setEgress(attrs.Name, v); err != nil {
		return err
	}
	to, err := find(attrs.Name)
	if err != nil {
		return err
	}
	return withConn(func(c *qdisc.Conn) error { return c.Redirect(l.Attrs().Index, to.Attrs().Index) })
}

// dropIngress takes the rule away first: what is on its way into an ifb that has gone is
// lost. What somebody else put in its place stays.
func dropIngress(l netlink.Link) error {
	ifb, err := find(ifbName(l.Attrs().Index))
	if errors.Is(err, ErrNoLink) {
		return nil // none of ours
	}
	if err != nil {
		return err
	}
	err = withConn(func(c *qdisc.Conn) error { return c.Unredirect(l.Attrs().Index, ifb.Attrs().Index) })
	if err != nil {
		return err
	}
	if err := netlink.LinkDel(ifb); err != nil {
		return fmt.Errorf("delete ifb: %w", err)
	}
	return nil
}

// dropOrphans deletes the ifbs of links that have gone: nothing leads to them.
func dropOrphans() error {
	links, err := netlink.LinkList()
	if err != nil {
		return fmt.Errorf("list links: %w", err)
	}
	there := map[int]bool{}
	for _, l := range links {
		there[l.Attrs().Index] = true
	}
	for _, l := range links {
		index := 0
		if _, e := fmt.Sscanf(l.Attrs().Name, "ifb-cc%d", &index); e != nil || l.Attrs().Name != ifbName(index) || there[index] {
			continue
		}
		if e := netlink.LinkDel(l); e != nil {
			err = errors.Join(err, fmt.Errorf("delete %s: %w", l.Attrs().Name, e))
		}
	}
	return err
}
