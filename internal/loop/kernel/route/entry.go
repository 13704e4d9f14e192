package route

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// entry is one route of the main table, as much of it as a copy needs. odd names any other
// content, which prevents copying it.
type entry struct {
	dst    netip.Prefix
	metric uint32 // among routes to the same network the lowest wins
	proto  uint8  // who put it there (rtm_protocol)
	kind   uint8  // RTN_UNICAST, RTN_BLACKHOLE, ...
	scope  uint8
	tos    uint8
	from   bool // only for some source addresses
	src    netip.Addr
	nhid   uint32 // a nexthop object; then hops are its business and not kept
	hops   []hop  // sorted, those that are dead left out
	values values
	cong   string
	odd    string
}

// hop is one next hop. gw is not valid on a directly connected network.
type hop struct {
	dev    int32
	gw     netip.Addr
	weight uint8 // as in the kernel: one less than what ip shows
	onlink bool
	realm  uint32
}

// values are a route's metrics (RTAX_*) except congctl, by number; 0 is not set.
type values [unix.RTAX_FASTOPEN_NO_COOKIE + 1]uint32

var valueNames = [len(values{})]string{unix.RTAX_MTU: "mtu", unix.RTAX_WINDOW: "window", unix.RTAX_RTT: "rtt",
	unix.RTAX_RTTVAR: "rttvar", unix.RTAX_SSTHRESH: "ssthresh", unix.RTAX_CWND: "cwnd", unix.RTAX_ADVMSS: "advmss",
	unix.RTAX_REORDERING: "reordering", unix.RTAX_HOPLIMIT: "hoplimit", unix.RTAX_INITCWND: "initcwnd",
	unix.RTAX_FEATURES: "features", unix.RTAX_RTO_MIN: "rto_min", unix.RTAX_INITRWND: "initrwnd",
	unix.RTAX_QUICKACK: "quickack", unix.RTAX_FASTOPEN_NO_COOKIE: "fastopen_no_cookie"}

func (v values) locked(n int) bool { return v[unix.RTAX_LOCK]&(1<<n) != 0 }

// alive reports whether the kernel would use the route at all: it skips one whose next
// hops are all dead.
func (e entry) alive() bool { return e.kind != unix.RTN_UNICAST || e.nhid != 0 || len(e.hops) > 0 }

func (e entry) equal(f entry) bool {
	return e.dst == f.dst && e.sameWay(f) && e.metric == f.metric && e.proto == f.proto && e.cong == f.cong
}

// sameWay reports whether both treat packets alike, apart from the congestion control.
func (e entry) sameWay(f entry) bool {
	return e.kind == f.kind && e.scope == f.scope && e.tos == f.tos && e.from == f.from && e.src == f.src &&
		e.nhid == f.nhid && e.values == f.values && e.odd == f.odd && slices.Equal(e.hops, f.hops)
}

// String is the route as `ip route` writes it; a link is named by its number,
// which ip reads too.
func (e entry) String() string {
	var b strings.Builder
	if name, ok := kindNames[e.kind]; ok {
		b.WriteString(name + " ")
	}
	if e.dst.Bits() == 0 {
		b.WriteString("default")
	} else {
		b.WriteString(e.dst.String())
	}
	if e.tos != 0 {
		fmt.Fprintf(&b, " tos %#x", e.tos)
	}
	if e.nhid != 0 {
		fmt.Fprintf(&b, " nhid %d", e.nhid)
	}
	if len(e.hops) == 1 {
		b.WriteString(e.hops[0].String())
	}
	fmt.Fprintf(&b, " proto %d", e.proto)
	if e.scope == unix.RT_SCOPE_LINK {
		b.WriteString(" scope link")
	}
	if e.src.IsValid() {
		b.WriteString(" src " + e.src.String())
	}
	if e.metric != 0 {
		fmt.Fprintf(&b, " metric %d", e.metric)
	}
	e.writeValues(&b)
	if len(e.hops) > 1 {
		for _, h := range e.hops {
			fmt.Fprintf(&b, " nexthop%s weight %d", h, int(h.weight)+1)
		}
	}
	return b.String()
}

var kindNames = map[uint8]string{unix.RTN_LOCAL: "local", unix.RTN_BROADCAST: "broadcast", unix.RTN_MULTICAST: "multicast",
	unix.RTN_BLACKHOLE: "blackhole", unix.RTN_UNREACHABLE: "unreachable", unix.RTN_PROHIBIT: "prohibit", unix.RTN_THROW: "throw"}

func (e entry) writeValues(b *strings.Builder) {
	value := func(i int, name string, v any) {
		if e.values.locked(i) {
			name += " lock"
		}
		fmt.Fprintf(b, " %s %v", name, v)
	}
	for i, v := range e.values {
		if v != 0 && i != unix.RTAX_LOCK {
			value(i, valueNames[i], v)
		}
	}
	if e.cong != "" {
		value(unix.RTAX_CC_ALGO, "congctl", e.cong)
	}
}

func (h hop) String() string {
	var b strings.Builder
	if h.gw.IsValid() {
		b.WriteString(" via " + h.gw.String())
	}
	fmt.Fprintf(&b, " dev if%d", h.dev)
	if h.realm != 0 {
		fmt.Fprintf(&b, " realm %d", h.realm)
	}
	if h.onlink {
		b.WriteString(" onlink")
	}
	return b.String()
}

func compareHops(a, b hop) int {
	if a.dev != b.dev {
		return int(a.dev) - int(b.dev)
	}
	if c := a.gw.Compare(b.gw); c != 0 {
		return c
	}
	return int(a.weight) - int(b.weight)
}
