package route

import (
	"net/netip"
	"testing"

	"golang.org/x/sys/unix"
)

// copied are routes of all the forms that can be copied.
var copied = []string{
	"203.0.113.0/24 via 192.0.2.254 dev if2 proto 156 src 192.0.2.1 metric 4278190236 mtu lock 1400 initcwnd 20 congctl bbr",
	"203.0.113.0/25 dev if3 proto 156 scope link metric 7 rto_min lock 200 mtu lock 1300 congctl lock bbr",
	"203.0.113.0/24 via fe80::1 dev if2 onlink proto 156 congctl bbr",
	"2001:db8:0:ab00::/56 proto 156 metric 9 congctl cubic nexthop via fe80::1 dev if2 weight 3 nexthop via fe80::2 dev if3 onlink weight 1",
	"203.0.113.0/24 proto 156 nexthop via 192.0.2.2 dev if2 weight 256 nexthop via fe80::2 dev if3 weight 1",
	"default nhid 12 proto 156 congctl bbr",
}

func TestMessagesKeepTheRoute(t *testing.T) {
	for _, line := range copied {
		e, err := parseRoute(line)
		if err != nil {
			t.Fatal(err)
		}
		got, err := decode(encode(e))
		if err != nil || !got.equal(e) || got.String() != e.String() {
			t.Errorf("wrote %s\nread  %s, %v", e, got, err)
		}
		h, err := decodeHead(encode(e))
		if err != nil || h.dst != e.dst || h.metric != e.metric || h.proto != e.proto || h.table != unix.RT_TABLE_MAIN {
			t.Errorf("head of %s: %+v, %v", e, h, err)
		}
	}
}

// A route that has something unknown must say so: it would be copied in part.
func TestUnknownPartsAreOdd(t *testing.T) {
	e := entry{dst: netip.MustParsePrefix("203.0.113.0/24"), kind: unix.RTN_UNICAST, hops: []hop{{dev: 2}}}
	for name, m := range map[string][]byte{
		"attribute": appendNumber(encode(e), 200, 1),
		"encap":     appendNumber(encode(e), unix.RTA_ENCAP, 1),
		"metric":    appendAttr(encode(e), unix.RTA_METRICS, appendNumber(nil, 99, 1)),
		"hop":       appendAttr(encode(e), unix.RTA_MULTIPATH, append([]byte{16, 0, 0, 0, 3, 0, 0, 0}, appendNumber(nil, 200, 1)...)),
	} {
		if got, err := decode(m); err != nil || got.odd == "" {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
		o := newOriginals(nil)
		if odd, _ := decode(m); odd.odd != "" {
			o.add(odd)
			if _, err := o.of(e.dst); err == nil {
				t.Errorf("%s: would be copied", name)
			}
		}
	}
}

func FuzzDecode(f *testing.F) {
	for _, line := range copied {
		e, err := parseRoute(line)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(encode(e))
		f.Add(encodeKey(e))
	}
	f.Fuzz(func(t *testing.T, m []byte) {
		e, err := decode(m)
		if err != nil || e.odd != "" || e.kind != unix.RTN_UNICAST || e.tos != 0 || e.from || !e.alive() {
			return
		}
		for _, h := range e.hops {
			if h.dev == 0 {
				return // no link has this number
			}
		}
		if again, err := decode(encode(e)); err != nil || !again.equal(e) {
			t.Fatalf("read %v, then %v, %v", e, again, err)
		}
	})
}
