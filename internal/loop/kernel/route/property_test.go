package route

import (
	"fmt"
	"net/netip"
	"testing"

	"golang.org/x/sys/unix"
	"pgregory.net/rapid"

	"github.com/congctl/congctl/internal/tcp/record"
)

// universe is where random routes and targets lie: close together, to meet often.
var universe = [...]netip.Addr{netip.MustParseAddr("203.0.112.0"), netip.MustParseAddr("2001:db8:0:a000::")}

// drawNet draws a network of a few bits around the length of a client prefix.
func drawNet(t *rapid.T, six bool) netip.Prefix {
	a, bits := universe[0], 24
	if six {
		a, bits = universe[1], 56
	}
	b := a.AsSlice()
	at := bits/8 - 1
	b[at] |= byte(rapid.IntRange(0, 3).Draw(t, "net"))
	b[at+1] |= byte(rapid.IntRange(0, 3).Draw(t, "host")) << 6
	a, _ = netip.AddrFromSlice(b)
	return netip.PrefixFrom(a, rapid.SampledFrom([]int{0, bits - 1, bits, bits, bits + 1, bits + 2}).Draw(t, "bits")).Masked()
}

func drawRoute(t *rapid.T) entry {
	e := entry{dst: drawNet(t, rapid.Bool().Draw(t, "six")), kind: unix.RTN_UNICAST, proto: unix.RTPROT_BGP}
	e.metric = rapid.SampledFrom([]uint32{0, 1, 20, 1024, 0xffffffff}).Draw(t, "metric")
	if rapid.IntRange(0, 9).Draw(t, "kind") == 0 {
		e.kind = unix.RTN_BLACKHOLE
		return e
	}
	if rapid.IntRange(0, 9).Draw(t, "dead") > 0 {
		e.hops = []hop{{dev: rapid.Int32Range(2, 99).Draw(t, "dev")}}
	}
	return e
}

// sameKernelWay compares what happens to packets, not who says so.
func sameKernelWay(a, b *entry) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.kind == b.kind && fmt.Sprint(a.hops) == fmt.Sprint(b.hops)
}

// Whatever the table and the plan: packets go where they went, nobody outside the
// targets is treated, a target without a word in the report is treated whole, and
// the routes of others are as they were.
func TestCopiesNeverChangeTheWay(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		real := rapid.SliceOfN(rapid.Custom(drawRoute), 0, 8).Draw(t, "table")
		f, alone := &fakeTable{all: real}, &fakeTable{all: append([]entry(nil), real...)}
		r := newRouter(f, func() int64 { return 100e9 })
		targets := map[record.Prefix]bool{}
		for range rapid.IntRange(1, 4).Draw(t, "targets") {
			n := drawNet(t, rapid.Bool().Draw(t, "six"))
			if p, ok := record.PrefixOf(n.Addr()); ok && n.Bits() > 0 {
				targets[p] = true
			}
		}
		var list []record.Prefix
		for p := range targets {
			list = append(list, p)
		}
		n, err := r.Set(programOf("bbr", list...))
		if err != nil {
			t.Fatal(err)
		}
		if n > len(list) || n < len(list)-len(r.Report().Skipped) {
			t.Fatalf("%d of %d in force: %+v", n, len(list), r.Report())
		}
		checkWays(t, f, alone, targets, skippedOf(r))
		if err := r.Close(); err != nil || fmt.Sprint(f.all) != fmt.Sprint(alone.all) {
			t.Fatalf("%v; left %v, was %v", err, f.all, alone.all)
		}
	})
}

func skippedOf(r *Router) map[record.Prefix]bool {
	out := map[record.Prefix]bool{}
	for _, s := range r.Report().Skipped {
		out[s.Prefix] = true
	}
	return out
}

func checkWays(t *rapid.T, with, without *fakeTable, targets, skipped map[record.Prefix]bool) {
	for _, base := range universe {
		at := 2
		if base.Is6() {
			at = 6
		}
		for i := range 5 * 16 {
			b := base.AsSlice()
			b[at] += byte(i / 16)
			b[at+1] |= byte(i%16) << 4
			b[len(b)-1] |= 1
			a, _ := netip.AddrFromSlice(b)
			got, want := with.way(a), without.way(a)
			if !sameKernelWay(got, want) {
				t.Fatalf("%s goes by %v, went by %v", a, got, want)
			}
			p, _ := record.PrefixOf(a)
			treated := got != nil && got.cong == "bbr"
			if treated && !targets[p] || targets[p] && !skipped[p] && !treated {
				t.Fatalf("%s treated: %v, target: %v, skipped: %v", a, treated, targets[p], skipped[p])
			}
		}
	}
}
