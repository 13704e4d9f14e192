package limit

import (
	"errors"
	"net/netip"
	"os"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/congctl/congctl/internal/change"
	"github.com/congctl/congctl/internal/linux/netns"
	"github.com/congctl/congctl/internal/linux/qdisc"
	"github.com/congctl/congctl/internal/shape"
)

// pair is two namespaces with a link between: a sends by "a" to b's address.
type pair struct{ a, b *netns.NS }

var (
	addrA = netip.MustParsePrefix("192.0.2.1/24")
	addrB = netip.MustParsePrefix("192.0.2.2/24")
)

func newPair(t *testing.T) pair {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("needs root: makes namespaces; minimum kernel 5.3")
	}
	var p pair
	for _, ns := range []**netns.NS{&p.a, &p.b} {
		n, err := netns.Anonymous()
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { n.Close() })
		*ns = n
	}
	for _, err := range []error{netns.Veth(p.a, "a", p.b, "b"), p.a.Up("a"), p.b.Up("b"), p.a.AddAddr("a", addrA), p.b.AddAddr("b", addrB)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	return p
}

// in runs fn in a namespace and fails on its error.
func in(t *testing.T, ns *netns.NS, fn func() error) {
	t.Helper()
	if err := ns.Do(fn); err != nil {
		t.Fatal(err)
	}
}

// target plans as the verb does.
func target(t *testing.T, ns *netns.NS, ask shape.Ask) (out shape.Target) {
	t.Helper()
	in(t, ns, func() error {
		l, err := Read("a")
		if err == nil {
			out, err = shape.For(l, ask)
		}
		return err
	})
	return out
}

// set writes a setting, and skips where this kernel lacks a part of it.
func set(t *testing.T, ns *netns.NS, kind change.Kind, value string) {
	t.Helper()
	err := ns.Do(func() error { return Places[kind].Write("a", change.Text(value)) })
	if errors.Is(err, qdisc.ErrUnknown) || errors.Is(err, unix.EOPNOTSUPP) {
		t.Skipf("needs more of the kernel: %v; minimum kernel 5.3", err)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func get(t *testing.T, ns *netns.NS, kind change.Kind) string {
	t.Helper()
	var v change.Value
	in(t, ns, func() (err error) { v, err = Places[kind].Read("a"); return err })
	return v.Text
}
