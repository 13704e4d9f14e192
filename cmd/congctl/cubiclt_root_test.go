package main

import (
	"net/netip"
	"testing"

	"github.com/cilium/ebpf/features"

	"github.com/congctl/congctl/internal/linux/cubiclt"
)

// TestUpTreatsWithCubicLT: `up` registers its own congestion control, moves a listed network to it, and takes it along when it ends.
func TestUpTreatsWithCubicLT(t *testing.T) {
	needRoot(t)
	if code, err := features.LinuxVersionCode(); err != nil || code < 6<<16|4<<8 {
		t.Skipf("needs a struct_ops link; minimum kernel 6.4 (%v)", err)
	}
	cfg := quickSettings()
	treated, other := client(1, 7), client(2, 7)
	cfg.Cong, cfg.Lists = cubiclt.Name, lists(t, []netip.Addr{treated}, "off")
	e := newEdge(t, cfg)
	e.start()
	s := newServer(t)
	e.awaitStatus("the listed network in force", inForce(1))
	s.visit(t, treated, cubiclt.Name)
	s.visit(t, other, "cubic")
	e.stop()
	if left, err := cubiclt.Available(); err != nil || left {
		t.Errorf("after its end: %v, %v", left, err)
	}
}
