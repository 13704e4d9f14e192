package shape

import (
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
)

func TestViews(t *testing.T) {
	datadriven.RunTest(t, "testdata/views", func(t *testing.T, d *datadriven.TestData) string {
		l := linkOf(d.Cmd)
		var ifb *Link
		if len(d.CmdArgs) > 0 { // the numbers of a bucket of ours
			tbf := Tbf{}
			var kind string
			_, ask := parseAsk(t, d.Input)
			got, err := For(linkOf("plain"), ask)
			if err != nil {
				t.Fatal(err)
			}
			tbf = got.Tbf
			d.MaybeScanArgs(t, "below", &kind)
			below := Qdisc{Kind: kind, Handle: ChildHandle}
			if kind == "bfifo" {
				below.Handle = 0 // the kernel's own
			}
			l.Root = Qdisc{Kind: "tbf", Handle: Handle, Tbf: &tbf, Sent: 123456789, Packets: 81544, Dropped: 12, Overlimits: 4567, Backlog: 60560,
				Below: []Qdisc{below}}
			if got.Ingress != nil {
				ifb = &Link{Name: "ifb-cc2", Root: Qdisc{Kind: "tbf", Handle: Handle, Tbf: got.Ingress}}
			}
		}
		var out strings.Builder
		if err := WriteViews(&out, []View{NewView(l, ifb)}); err != nil {
			t.Fatal(err)
		}
		return out.String()
	})
}

// Several links are told one after another, with a blank line between.
func TestSeveralViews(t *testing.T) {
	var out strings.Builder
	v := NewView(ethernet, nil)
	if err := WriteViews(&out, []View{v, v}); err != nil || strings.Count(out.String(), "eth0") != 2 || strings.Count(out.String(), "\n\n") != 1 {
		t.Errorf("%v: %q", err, out.String())
	}
}
