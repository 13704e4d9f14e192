package route

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// fakeTable is a main table in memory that says what is done to it in the words of
// ip. Its rules are the kernel's, in the simplest way: the longest network, then
// the lowest metric.
type fakeTable struct {
	all    []entry
	log    []string
	refuse map[string]error      // by the start of a step's line
	past   map[netip.Addr]string // addresses that a policy rule leads elsewhere
	garble bool                  // routes read back with another metric value
}

func (f *fakeTable) routes(family, proto uint8, wanted func(head) bool) (out []entry, err error) {
	for _, e := range f.all {
		if familyOf(e.dst.Addr()) != family || proto != 0 && e.proto != proto {
			continue
		}
		if wanted(head{family: family, proto: e.proto, metric: e.metric, dst: e.dst}) {
			e.hops = slices.Clone(e.hops)
			if f.garble && e.cong != "" {
				e.values[unix.RTAX_MTU]++
			}
			out = append(out, e)
		}
	}
	return out, nil
}

func (f *fakeTable) do(s step) error {
	for start, err := range f.refuse {
		if strings.HasPrefix(s.String(), start) {
			f.log = append(f.log, s.String()+"    refused")
			return err
		}
	}
	f.log = append(f.log, s.String())
	i := slices.IndexFunc(f.all, func(e entry) bool { return e.dst == s.dst && e.metric == s.metric && e.proto == s.proto })
	switch {
	case s.add && i >= 0:
		return unix.EEXIST
	case s.add:
		f.all = append(f.all, s.entry)
	case i < 0:
		return unix.ESRCH
	default:
		f.all = slices.Delete(f.all, i, i+1)
	}
	return nil
}

func (f *fakeTable) congOf(a netip.Addr) (string, bool, error) {
	if cong, ok := f.past[a]; ok {
		return cong, false, nil
	}
	best := f.way(a)
	if best == nil {
		return "", false, unix.ENETUNREACH
	}
	return best.cong, best.kind == unix.RTN_LOCAL, nil
}

func (f *fakeTable) way(a netip.Addr) (best *entry) {
	for i := range f.all {
		e := &f.all[i]
		if !e.dst.Contains(a) || !e.alive() {
			continue
		}
		if best == nil || cmp.Or(cmp.Compare(best.dst.Bits(), e.dst.Bits()), cmp.Compare(e.metric, best.metric)) < 0 {
			best = e
		}
	}
	return best
}

// parseRoute reads a line as `ip route` writes it, links by number.
func parseRoute(line string) (e entry, err error) {
	w := strings.Fields(line)
	e.kind = unix.RTN_UNICAST
	for kind, name := range kindNames {
		if w[0] == name {
			e.kind, w = kind, w[1:]
		}
	}
	six := strings.Contains(line, ":")
	switch {
	case w[0] == "default" && six:
		e.dst = netip.PrefixFrom(netip.IPv6Unspecified(), 0)
	case w[0] == "default":
		e.dst = netip.PrefixFrom(netip.IPv4Unspecified(), 0)
	default:
		if e.dst, err = netip.ParsePrefix(w[0]); err != nil {
			return e, err
		}
	}
	var h *hop
	for w = w[1:]; len(w) > 0; {
		n, err := e.word(&h, w)
		if err != nil {
			return e, fmt.Errorf("%q: %w", line, err)
		}
		w = w[n:]
	}
	e.hops = slices.DeleteFunc(e.hops, func(h hop) bool { return h.dev == 0 }) // dead
	slices.SortFunc(e.hops, compareHops)
	return e, nil
}

// word reads one word and its value, and says how many words that was.
func (e *entry) word(h **hop, w []string) (int, error) {
	if *h == nil && slices.Contains([]string{"via", "dev"}, w[0]) || w[0] == "nexthop" {
		e.hops = append(e.hops, hop{})
		*h = &e.hops[len(e.hops)-1]
	}
	switch w[0] {
	case "nexthop", "dead":
		return 1, nil
	case "onlink":
		(*h).onlink = true
		return 1, nil
	case "from":
		e.from = true
		return 2, nil
	case "encap":
		e.odd = encapsulation
		return 2, nil
	case "congctl":
		n := 1
		if w[1] == "lock" {
			n, e.values[unix.RTAX_LOCK] = 2, e.values[unix.RTAX_LOCK]|1<<unix.RTAX_CC_ALGO
		}
		e.cong = w[n]
		return n + 1, nil
	}
	return e.pair(*h, w)
}

func (e *entry) pair(h *hop, w []string) (n int, err error) {
	switch w[0] {
	case "via":
		h.gw, err = netip.ParseAddr(w[1])
		return 2, err
	case "src":
		e.src, err = netip.ParseAddr(w[1])
		return 2, err
	case "scope":
		e.scope = unix.RT_SCOPE_LINK
		return 2, nil
	}
	lock := 0
	if w[1] == "lock" {
		lock = 1
	}
	v, err := strconv.ParseUint(strings.TrimPrefix(w[1+lock], "if"), 0, 32)
	if err != nil {
		return 0, err
	}
	switch w[0] {
	case "dev":
		h.dev = int32(v)
	case "weight":
		h.weight = uint8(v - 1)
	case "proto":
		e.proto = uint8(v)
	case "metric":
		e.metric = uint32(v)
	case "tos":
		e.tos = uint8(v)
	case "nhid":
		e.nhid = uint32(v)
	default:
		i := slices.Index(valueNames[:], w[0])
		if i < 0 {
			return 0, fmt.Errorf("%q is not known", w[0])
		}
		e.values[i] = uint32(v)
		e.values[unix.RTAX_LOCK] |= uint32(lock) << i
	}
	return 2 + lock, nil
}
