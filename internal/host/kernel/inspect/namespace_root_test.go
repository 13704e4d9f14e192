package inspect

import (
	"errors"
	"os"
	"testing"

	"github.com/vishvananda/netlink"

	"github.com/congctl/congctl/internal/host/advise"
	"github.com/congctl/congctl/internal/linux/netns"
	"github.com/congctl/congctl/internal/linux/qdisc"
)

// TestNamespace reads a network namespace of its own: two links, a shaper with a queue of
// queue below it, and no setting that belongs to the first namespace.
func TestNamespace(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root: makes a network namespace; minimum kernel 5.3")
	}
	ns, err := netns.Anonymous()
	if err != nil {
		t.Fatal(err)
	}
	defer ns.Close()
	var f advise.Facts
	err = errors.Join(netns.Veth(ns, "a", ns, "b"), ns.Up("a"), ns.Up("b"), ns.Do(func() error {
		if err := shapeLink("a"); err != nil {
			return err
		}
		f = Local().Read()
		return nil
	}))
	if err != nil {
		t.Fatal(err)
	}
	if !f.System.InitNetNS.OK() || f.System.InitNetNS.Value {
		t.Errorf("first network namespace: %+v", f.System.InitNetNS)
	}
	if v := f.Sysctl[advise.KeyQdisc]; v.Why != "not there" {
		t.Errorf("default_qdisc in a namespace: %+v", v)
	}
	for _, l := range f.Links.Value {
		root, _ := l.Root()
		if l.Name == "a" && (root.Kind != "tbf" || len(l.Below(root.Handle)) != 1 || l.Below(root.Handle)[0].Kind != "pfifo" || !l.Segments.Value || l.Kind != "veth") {
			t.Errorf("link a: %+v", l)
		}
	}
	if len(f.Links.Value) != 3 {
		t.Errorf("links %+v (%s)", f.Links.Value, f.Links.Why)
	}
}

func shapeLink(name string) error {
	l, err := netlink.LinkByName(name)
	if err != nil {
		return err
	}
	c, err := qdisc.Open()
	if err != nil {
		return err
	}
	defer c.Close()
	top := qdisc.At{Link: l.Attrs().Index, Parent: qdisc.Root, Handle: qdisc.Handle(1)}
	return errors.Join(c.Replace(top, qdisc.Tbf{RateBytesPerS: 125000, BurstBytes: 3000, LimitBytes: 100000}),
		c.Replace(qdisc.At{Link: top.Link, Parent: qdisc.Child(top.Handle), Handle: qdisc.Handle(2)}, qdisc.Raw{Name: "pfifo", Options: []byte{50, 0, 0, 0}}))
}
