package carry

import (
	"errors"
	"os"
	"testing"

	"github.com/vishvananda/netlink"

	"github.com/congctl/congctl/internal/change"
	"github.com/congctl/congctl/internal/linux/netns"
	"github.com/congctl/congctl/internal/linux/qdisc"
)

// withLink runs fn in a namespace with a veth pair a-b whose end a has queues.
func withLink(t *testing.T, queues int, fn func(t *testing.T, index int)) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("needs root: makes a namespace; minimum kernel 5.3")
	}
	ns, err := netns.Anonymous()
	if err != nil {
		t.Fatal(err)
	}
	defer ns.Close()
	err = ns.Do(func() error {
		attrs := netlink.NewLinkAttrs()
		attrs.Name, attrs.NumTxQueues, attrs.NumRxQueues, attrs.TxQLen = "a", queues, queues, 1000
		if err := netlink.LinkAdd(&netlink.Veth{LinkAttrs: attrs, PeerName: "b"}); err != nil {
			return err
		}
		for _, name := range []string{"a", "b"} {
			l, err := netlink.LinkByName(name)
			if err = errors.Join(err, netlink.LinkSetUp(l)); err != nil {
				return err
			}
		}
		l, err := netlink.LinkByName("a")
		fn(t, l.Attrs().Index)
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

// replace puts a qdisc; false where this kernel does not have it.
func replace(t *testing.T, index int, at qdisc.At, s qdisc.Spec) bool {
	t.Helper()
	c, err := qdisc.Open()
	if err != nil {
		t.Error(err)
		return false
	}
	defer c.Close()
	at.Link = index
	err = c.Replace(at, s)
	if err != nil && !errors.Is(err, qdisc.ErrUnknown) {
		t.Errorf("prepare: %v", err)
	}
	return err == nil
}

// TestQdiscThereAndBack replaces trees as a live interface may have them, and puts
// them back: each must be read as it was, to the byte where congctl does not say "auto".
func TestQdiscThereAndBack(t *testing.T) {
	for name, prepare := range map[string]func(*testing.T, int) bool{
		"the kernel's default": func(*testing.T, int) bool { return true },
		"pfifo_fast":           func(t *testing.T, l int) bool { return replace(t, l, root(0), qdisc.Raw{Name: "pfifo_fast"}) },
		"fq_codel with a limit": func(t *testing.T, l int) bool {
			return replace(t, l, root(0x10), qdisc.FqCodel{LimitPackets: 777, ECN: true})
		},
		"pfifo": func(t *testing.T, l int) bool {
			return replace(t, l, root(0x11), qdisc.Raw{Name: "pfifo", Options: []byte{33, 0, 0, 0}})
		},
		"tbf": func(t *testing.T, l int) bool {
			return replace(t, l, root(0x12), qdisc.Tbf{RateBytesPerS: 1e6, BurstBytes: 204800, LimitBytes: 1 << 20})
		},
	} {
		t.Run(name, func(t *testing.T) {
			withLink(t, 1, func(t *testing.T, index int) {
				if !prepare(t, index) {
					return
				}
				for _, kind := range []string{"fq", "bfifo"} { // not every kernel has fq
					thereAndBack(t, change.Tree([]change.Node{{Kind: kind, Handle: change.OwnHandle << 16, Parent: change.RootParent, Default: true}}))
				}
			})
		})
	}
}

func root(major uint16) qdisc.At { return qdisc.At{Parent: qdisc.Root, Handle: qdisc.Handle(major)} }

func thereAndBack(t *testing.T, to change.Value) {
	t.Helper()
	q := Qdiscs{}
	old, err := q.Read("a")
	if err != nil {
		t.Error(err)
		return
	}
	err = q.Write("a", to)
	if errors.Is(err, qdisc.ErrUnknown) {
		t.Logf("not there in this kernel: %v", err)
		return
	}
	now, err2 := q.Read("a")
	if err = errors.Join(err, err2); err != nil || !change.Qdisc.Same(to, now) {
		t.Errorf("there: %v, is\n%swant\n%s", err, now.Text, to.Text)
	}
	err = q.Write("a", old)
	now, err2 = q.Read("a")
	if err = errors.Join(err, err2); err != nil || now != old {
		t.Errorf("back: %v, is\n%swant\n%s", err, now.Text, old.Text)
	}
}

// TestQdiscUnderMq replaces each leaf of a link with several queues.
func TestQdiscUnderMq(t *testing.T) {
	withLink(t, 3, func(t *testing.T, index int) {
		replace(t, index, root(1), qdisc.Raw{Name: "mq"})
		to := []change.Node{{Kind: "mq", Handle: change.OwnHandle << 16, Parent: change.RootParent}}
		for i := range uint32(3) {
			replace(t, index, qdisc.At{Parent: qdisc.Handle(1) | (i + 1)}, qdisc.Raw{Name: "pfifo", Options: []byte{byte(50 + i), 0, 0, 0}})
			to = append(to, change.Node{Kind: "bfifo", Parent: change.OwnHandle<<16 | (i + 1), Default: true})
		}
		q := Qdiscs{}
		old, err := q.Read("a")
		if err != nil {
			t.Error(err)
			return
		}
		err = q.Write("a", change.Tree(to))
		now, err2 := q.Read("a")
		if err = errors.Join(err, err2); err != nil || !change.Qdisc.Same(change.Tree(to), now) {
			t.Errorf("there: %v, is\n%s", err, now.Text)
		}
		err = q.Write("a", old)
		now, err2 = q.Read("a")
		if err = errors.Join(err, err2); err != nil || !change.Qdisc.Same(old, now) {
			t.Errorf("back: %v, is\n%swant\n%s", err, now.Text, old.Text)
		}
	})
}

func TestQdiscOfNoLink(t *testing.T) {
	if v, err := (Qdiscs{}).Read("nosuchlink0"); err != nil || v.Present {
		t.Errorf("%v, %v", v, err)
	}
	if err := (Qdiscs{}).Write("nosuchlink0", change.Text("fq ffffffff 0 *")); err == nil {
		t.Error("wrote to a link that does not exist")
	}
}
