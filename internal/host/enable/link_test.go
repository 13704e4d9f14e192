package enable

import (
	"testing"

	"github.com/congctl/congctl/internal/host/advise"
)

// What could not be brought back stays, as a shaper does.
func TestFairTreeLeavesWhatWouldBeLost(t *testing.T) {
	for _, c := range []struct {
		name string
		root advise.Qdisc
		want verdict
	}{
		{"plain", advise.Qdisc{Kind: "pfifo", Handle: 0x70000, Parent: advise.ParentRoot}, replace},
		{"with a size table", advise.Qdisc{Kind: "pfifo", Handle: 0x70000, Parent: advise.ParentRoot, Lost: true}, custom},
		{"a shaper", advise.Qdisc{Kind: "htb", Handle: 0x70000, Parent: advise.ParentRoot}, custom},
	} {
		block := advise.Qdisc{Kind: "clsact", Handle: 0xffff0000, Parent: advise.ParentIngress, Lost: true}
		if _, got := fairTree(advise.Link{Name: "a", Up: true, Qdiscs: []advise.Qdisc{c.root, block}}); got != c.want {
			t.Errorf("%s: %d, want %d", c.name, got, c.want)
		}
	}
}
