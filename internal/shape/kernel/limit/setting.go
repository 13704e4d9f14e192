package limit

import (
	"errors"
	"fmt"
	"slices"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/congctl/congctl/internal/change"
	"github.com/congctl/congctl/internal/change/kernel/carry"
	"github.com/congctl/congctl/internal/linux/ethtool"
	"github.com/congctl/congctl/internal/linux/qdisc"
	"github.com/congctl/congctl/internal/shape"
)

// Places are the settings by their kind, each with the interface as target: the root qdisc
// and what hangs below it, what happens to incoming packets, and TCP's offloads.
var Places = map[change.Kind]carry.Place{
	change.Egress:  place{getEgress, setEgress},
	change.Ingress: place{getIngress, setIngress},
	change.TSO:     offload(ethtool.TSO),
	change.GSO:     offload(ethtool.GSO),
}

// place reads and writes a setting as one line of text.
type place struct {
	get func(link string) (string, error)
	set func(link, value string) error
}

// Read returns a setting; none of an interface that is gone.
func (p place) Read(link string) (change.Value, error) {
	v, err := p.get(link)
	if isGone(err) {
		return change.Absent, nil
	}
	return change.Text(v), err
}

// Write writes what Read returns, or what a plan asks for.
func (p place) Write(link string, v change.Value) error {
	err := p.set(link, v.Text)
	if isGone(err) {
		return fmt.Errorf("%w: the interface is gone: %w", carry.ErrInUse, err)
	}
	return err
}

// isGone reports whether a link is gone. The name that nameToday gives to such a link if another one has its name is no name.
func isGone(err error) bool {
	return errors.Is(err, ErrNoLink) || errors.Is(err, ErrName) || errors.Is(err, unix.ENODEV)
}

// offload is the place of a switch: on or off.
func offload(o ethtool.Offload) place {
	return place{
		func(link string) (string, error) {
			on, err := isOn(o, link)
			return map[bool]string{true: "on", false: "off"}[on], err
		},
		func(link, value string) error { return o.Set(link, value == "on") },
	}
}

// isOn reads a switch. A link that does not have it has it off.
func isOn(o ethtool.Offload, link string) (bool, error) {
	on, err := o.On(link)
	if errors.Is(err, unix.EOPNOTSUPP) {
		return false, nil
	}
	return on, err
}

// toKernel returns a bucket as the kernel takes it, and fromKernel one as it reports it.
func toKernel(t shape.Tbf) qdisc.Tbf {
	return qdisc.Tbf{RateBytesPerS: t.Rate.BytesPerS(), BurstBytes: uint32(t.Burst), LimitBytes: uint32(t.Limit)}
}

func fromKernel(t qdisc.Tbf) shape.Tbf {
	return shape.Tbf{Rate: shape.Rate(t.RateBytesPerS * 8), Burst: shape.Size(t.BurstBytes), Limit: shape.Size(t.LimitBytes)}
}

// value returns a bucket as the setting that will be read back.
func value(t shape.Tbf, inner string) change.Value {
	return change.Text(shape.Limit{Tbf: fromKernel(toKernel(t).Kept()), Inner: inner}.String())
}

func getEgress(name string) (v string, err error) {
	err = onLink(name, func(c *qdisc.Conn, index int) error {
		all, err := carry.ReadTree(c, index)
		if err == nil {
			v, err = egressText(all)
		}
		return err
	})
	return v, err
}

// egressText recognises ours by its handles, since the kernel gives inner queues handles and
// options of its own.
func egressText(all []change.Node) (string, error) {
	if len(all) == 0 || all[0].Kind != "tbf" || all[0].Handle != qdisc.Handle(shape.Handle) || all[0].Parent != qdisc.Root {
		return change.Tree(all).Text, nil
	}
	t, err := qdisc.ReadTbf(all[0].Options)
	if err != nil {
		return "", err
	}
	if t.PeakBytesPerS > 0 || len(all[0].Stab) > 0 {
		return change.Tree(all).Text, nil // as [shape.Qdisc.Ours] has it
	}
	l := shape.Limit{Tbf: fromKernel(t)}
	for _, s := range all[1:] {
		switch {
		case s.Handle == 0: // the kernel's own
		case s.Handle == qdisc.Handle(shape.ChildHandle) && slices.Contains(shape.Inners, s.Kind):
			l.Inner = s.Kind
		default:
			l.Guests = append(l.Guests, s)
		}
	}
	return l.String(), nil
}

func setEgress(name, v string) error {
	return onLink(name, func(c *qdisc.Conn, index int) error {
		if !shape.IsLimit(v) {
			all, err := change.ParseTree(v)
			if err != nil {
				return err
			}
			return carry.Bring(c, index, all)
		}
		want, err := shape.ParseLimit(v)
		if err != nil {
			return err
		}
		before, err := carry.ReadTree(c, index)
		if err != nil {
			return err
		}
		if err := put(c, index, want, before); err != nil { // the link stays wholly as it was
			return errors.Join(err, carry.Bring(c, index, before))
		}
		return nil
	})
}

// put adds our bucket, or changes the present one without losing queued packets.
func put(c *qdisc.Conn, index int, l shape.Limit, before []change.Node) error {
	root := qdisc.At{Link: index, Parent: qdisc.Root, Handle: qdisc.Handle(shape.Handle)}
	child := qdisc.At{Link: index, Parent: qdisc.Child(root.Handle), Handle: qdisc.Handle(shape.ChildHandle)}
	// A child removed from a tbf leaves a noop behind, which drops everything, and only a change
	// of the tbf replaces it with a fifo: so remove the child first.
	for _, s := range before {
		stays := s.Handle == child.Handle && s.Kind == l.Inner
		if s.Handle == 0 || s.Parent>>16 != uint32(shape.Handle) || stays {
			continue
		}
		if err := c.Delete(qdisc.At{Link: index, Parent: s.Parent, Handle: s.Handle}); err != nil {
			return err
		}
	}
	err := c.Replace(root, toKernel(l.Tbf))
	if err == nil && l.Inner == "fq_codel" {
		err = c.Replace(child, qdisc.FqCodel{ECN: true})
	}
	if err != nil {
		return err
	}
	return carry.Attach(c, index, l.Guests)
}

// catchalls is what Redirect may use; tests take one away.
var catchalls = qdisc.Catchalls

// ifbName returns the link that queues incoming packets: at most 15 characters, and one for
// each link whatever its name.
func ifbName(index int) string { return fmt.Sprintf("ifb-cc%d", index) }

// incoming reads the ifb that limits what a link receives, nil without one.
func incoming(l shape.Link) (ifb *shape.Link, err error) {
	v, err := getIngress(l.Name)
	if err != nil || !shape.IsLimit(v) {
		return nil, err
	}
	in, err := Read(ifbName(l.Index))
	return &in, err
}

func getIngress(name string) (string, error) {
	l, err := find(name)
	if err != nil {
		return "", err
	}
	ifb, err := find(ifbName(l.Attrs().Index))
	if errors.Is(err, ErrNoLink) {
		return change.NoIngress, nil
	}
	if err != nil {
		return "", err
	}
	leads := false
	err = withConn(func(c *qdisc.Conn) (err error) {
		leads, err = c.Redirects(l.Attrs().Index, ifb.Attrs().Index)
		return err
	})
	if err != nil || !leads {
		return change.CutOff, err
	}
	v, err := getEgress(ifb.Attrs().Name)
	if err == nil && !shape.IsLimit(v) {
		v = change.CutOff // somebody removed its bucket
	}
	return v, err
}

func setIngress(name, v string) error {
	l, err := find(name)
	if err != nil {
		return err
	}
	now, err := getIngress(name)
	switch {
	case v == change.NoIngress:
		return dropIngress(l)
	case !shape.IsLimit(v):
		return fmt.Errorf("limit the inbound rate of %s: %q is not a setting of congctl", name, v)
	case err != nil:
		return err
	case shape.IsLimit(now):
		return setEgress(ifbName(l.Attrs().Index), v) // it exists: only the rate differs
	}
	if err := dropIngress(l); err != nil {
		return err
	}
	if err := addIngress(l, v); err != nil {
		return errors.Join(fmt.Errorf("limit the inbound rate of %s: %w", name, err), dropIngress(l))
	}
	return nil
}

// addIngress makes the ifb ready before anything is sent to it.
func addIngress(l netlink.Link, v string) error {
	attrs := netlink.NewLinkAttrs()
	attrs.Name, attrs.MTU = ifbName(l.Attrs().Index), l.Attrs().MTU
	ifb := &netlink.Ifb{LinkAttrs: attrs}
	if err := netlink.LinkAdd(ifb); err != nil {
		if errors.Is(err, unix.EOPNOTSUPP) {
			err = fmt.Errorf("%w: sudo modprobe ifb, or boot a kernel with CONFIG_IFB", qdisc.ErrUnknown)
		}
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
	return withConn(func(c *qdisc.Conn) error { return c.Redirect(l.Attrs().Index, to.Attrs().Index, catchalls) })
}

// dropIngress removes the rule first: packets on their way into a deleted ifb are lost. It
// leaves what somebody else put in its place.
func dropIngress(l netlink.Link) error {
	ifb, err := find(ifbName(l.Attrs().Index))
	if errors.Is(err, ErrNoLink) {
		return nil // not ours
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

// dropOrphans deletes the ifbs of deleted links: nothing leads to them.
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
