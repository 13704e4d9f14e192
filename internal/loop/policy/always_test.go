package policy

import (
	"net/netip"
	"slices"
	"testing"

	"github.com/congctl/congctl/internal/tcp/record"
)

func netOf(s string) (record.Prefix, netip.Prefix) {
	n := netip.MustParsePrefix(s)
	p, _ := record.PrefixOf(n.Addr())
	return p, n
}

// TestNeverWinsOverAllow: the kernel follows Never by address, whatever Allow says, so
// the engine must too. Only of a network of Always may a part be in Never.
func TestNeverWinsOverAllow(t *testing.T) {
	r := DefaultRules()
	r.Guards.Allow = []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}
	_, wide := netOf("10.0.0.0/9")
	_, part := netOf("10.130.1.7/32")
	_, listed := netOf("10.130.1.0/24")
	r.Guards.Never = []Listed{{Net: wide}, {Net: part}}
	r.Always = []Listed{{listed, "satellite"}}
	e := byLevel(r)
	for _, c := range []struct {
		net           string
		never, ranges GuardState
		barred        string
	}{
		{"10.1.0.0/24", GuardHit, GuardExempt, "never"},
		{"10.200.0.0/24", GuardPass, GuardExempt, ""},
		{"10.130.1.0/24", GuardExempt, GuardExempt, ""},
		{"192.168.1.0/24", GuardPass, GuardHit, "range"},
	} {
		p, _ := netOf(c.net)
		x := &track{plain: plain{prefix: p}}
		if g := e.guards(x, Pool{}); g[0].State != c.never || g[1].State != c.ranges || e.barred(x) != c.barred {
			t.Errorf("%s: never %s, range %s, barred %q; want %+v", c.net, g[0].State, g[1].State, e.barred(x), c)
		}
	}
}

// TestExplainListedAndNeverSeen: also a listed network that waits is explained.
func TestExplainListedAndNeverSeen(t *testing.T) {
	r := DefaultRules()
	r.MaxNewPerRound = 1
	first, n := netOf("198.51.100.0/24")
	second, m := netOf("203.0.113.0/24")
	r.Always = []Listed{{n, "radio"}, {m, "satellite"}}
	e := byLevel(r)
	if x, ok := e.Explain(second); !ok || x.State != StateUntreated {
		t.Errorf("before the first round: %t, %s", ok, x.State)
	}
	e.Round(Input{Start: noon, RoundStart: noon + r.WindowSeconds})
	if x, _ := e.Explain(first); x.State != StateAlways {
		t.Errorf("the first is %s", x.State)
	}
	x, ok := e.Explain(second)
	want := []string{"To be treated because the configuration says so: satellite.", "Waits for room: the limit is 1 new networks per round."}
	if !ok || x.State != StateUntreated || !slices.Equal(x.Verdict, want) {
		t.Errorf("%t, %s, %q", ok, x.State, x.Verdict)
	}
	if n := len(e.Rows()); n != 1 {
		t.Errorf("explaining tracks: %d rows", n)
	}
}
