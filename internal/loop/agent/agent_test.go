package agent

import (
	"errors"
	"net/netip"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/congctl/congctl/internal/loop/window"
	"github.com/congctl/congctl/internal/tcp/abi"
	"github.com/congctl/congctl/internal/tcp/inetdiag"
	"github.com/congctl/congctl/internal/tcp/record"
)

func TestWindowCarriesWhatPollsAndClosesSaw(t *testing.T) {
	run(t, func(h *host, a *Agent) {
		toBoundary(h)
		h.with(func() { h.outs = nil })
		// A long connection that moves 50 kB a poll, and a short one that lives
		// between two polls and is known by its close record alone.
		for i := range 29 {
			h.with(func() { h.socks = []inetdiag.Sock{sock(7, "203.0.113.9", uint64(i+1)*50_000)} })
			time.Sleep(10 * time.Second)
		}
		_, boot := h.clock()
		c := abi.Close{Cookie: 8, Netns: 1, AtNs: uint64(boot), LocalPort: 443, RemotePort: 6000, Cong: inetdiag.CongOf("cubic"),
			Local: netip.MustParseAddr("192.0.2.1").As16(), Remote: netip.MustParseAddr("198.51.100.3").As16(),
			BytesAcked: 300_000, BytesSent: 300_000, DeliveryRate: 2_000_000, MinRttUs: 9_000, SrttUs: 9_000}
		c.Mark.EstablishedNs = uint64(boot) - uint64(2*time.Second)
		c.Mark.RateN, c.Mark.RateSum = 3, 6_000_000
		h.with(func() { h.closes = append(h.closes, c) })
		toBoundary(h)
		if len(h.outs) != 1 || h.outs[0].Unknown != "" || !slices.Equal(h.outs[0].DefaultCongs, []string{"cubic"}) {
			t.Fatalf("outs: %+v", h.outs)
		}
		got := map[string]record.Window{}
		for _, r := range h.outs[0].Rows {
			got[r.Prefix.String()] = r
		}
		long, short := got["203.0.113.0/24"], got["198.51.100.0/24"]
		if long.Conns != 1 || long.Eligible != 1 || long.Bytes == 0 || !long.Control {
			t.Errorf("long connection: %+v", long)
		}
		if short.Conns != 1 || short.Eligible != 1 || short.Bytes != 300_000 || short.RateBytesPerS[record.Q50] != 2_000_000 || short.RateMeans != 1 {
			t.Errorf("short connection: %+v", short)
		}
	})
}

func TestWithoutEBPFTheLevelIsMeasured(t *testing.T) {
	noEBPF := func(r *Deps) { r.Follower, r.Treater, r.Sweeper = nil, nil, nil }
	runIn(t, noEBPF, func(h *host, a *Agent) {
		toBoundary(h)
		h.with(func() { h.outs = nil })
		for i := range 20 {
			s := sock(7, "203.0.113.9", uint64(i+1)*50_000)
			s.Has &^= inetdiag.HasStorage
			h.with(func() { h.socks = []inetdiag.Sock{s} })
			time.Sleep(10 * time.Second)
		}
		toBoundary(h)
		if len(h.outs) != 1 || len(h.outs[0].Rows) != 1 || !h.outs[0].Rows[0].Control || h.outs[0].Rows[0].Eligible != 1 {
			t.Fatalf("outs: %+v", h.outs)
		}
	})
}

func TestWallClockStepMakesTheWindowUnknown(t *testing.T) {
	run(t, func(h *host, a *Agent) {
		toBoundary(h)
		time.Sleep(time.Minute)
		h.with(func() { h.outs = nil; h.step = 612 * time.Second })
		toBoundary(h)
		if len(h.outs) == 0 || !strings.Contains(h.outs[0].Unknown, "wall clock stepped by +612 s") {
			t.Fatalf("outs: %+v", h.outs)
		}
		h.with(func() { h.outs = nil })
		toBoundary(h)
		if len(h.outs) != 1 || h.outs[0].Unknown != "" {
			t.Errorf("the window after the step: %+v", h.outs)
		}
	})
}

// A clock that jumps 12 h and is set right, and one that is set back by 12 h, cost
// the windows that the steps touch and nothing more.
func TestWallClockThereAndBack(t *testing.T) {
	run(t, func(h *host, a *Agent) {
		moved := uint64(0)
		windows := func(n int) {
			for range 30 * n {
				moved += 50_000
				h.with(func() { h.socks = []inetdiag.Sock{sock(7, "203.0.113.9", moved)} })
				time.Sleep(10 * time.Second)
			}
			toBoundary(h)
		}
		windows(2)
		for _, step := range []time.Duration{12 * time.Hour, -12 * time.Hour, -12 * time.Hour, 12 * time.Hour} {
			time.Sleep(time.Minute)
			h.with(func() { h.outs = nil; h.step += step })
			windows(4)
			good, seen := 0, map[int64]bool{}
			for i, o := range h.outs {
				if seen[o.Start] {
					t.Errorf("step %s: window %d twice", step, o.Start)
				}
				seen[o.Start] = true
				if o.Unknown != "" != (i < 2) || o.Unknown != "" && !strings.Contains(o.Unknown, "stepped") {
					t.Errorf("step %s, window %d of %d: unknown %q", step, i, len(h.outs), o.Unknown)
				}
				if o.Unknown == "" && len(o.Rows) == 1 && o.Rows[0].Eligible == 1 {
					good++
				}
			}
			if good < 3 {
				t.Errorf("step %s: %d good windows of %d: %+v", step, good, len(h.outs), h.outs)
			}
		}
	})
}

// A clock that is set back by seconds over a window's start does not end it.
func TestSmallStepBackOverABoundary(t *testing.T) {
	run(t, func(h *host, a *Agent) {
		toBoundary(h)
		h.with(func() { h.outs = nil; h.step -= 20 * time.Second })
		time.Sleep(2 * time.Minute)
		for i := range 10 {
			h.with(func() { h.socks = []inetdiag.Sock{sock(7, "203.0.113.9", uint64(i+1)*50_000)} })
			time.Sleep(10 * time.Second)
		}
		toBoundary(h)
		if len(h.outs) != 1 || h.outs[0].Unknown != "" || len(h.outs[0].Rows) != 1 {
			t.Errorf("outs: %+v", h.outs)
		}
	})
}

func TestPausedAgentMarksTheWindowItMissed(t *testing.T) {
	run(t, func(h *host, a *Agent) {
		toBoundary(h)
		time.Sleep(4 * time.Minute)
		h.with(func() { h.outs = nil; h.stall = 3 * time.Minute })
		time.Sleep(4 * time.Minute)
		synctest.Wait()
		if len(h.outs) != 1 || !strings.Contains(h.outs[0].Unknown, "no poll at its end") {
			t.Fatalf("outs: %+v", h.outs)
		}
	})
}

// The first window after the start: connections that are accepted and closed before
// their namespace's first dump is through measure the level like any other.
func TestCloseBeforeTheFirstDumpIsOnTheDefault(t *testing.T) {
	run(t, func(h *host, a *Agent) {
		toBoundary(h)
		h.with(func() { h.outs = nil; h.second = true })
		time.Sleep(11 * time.Second)
		_, boot := h.clock()
		c := abi.Close{Cookie: 30, Netns: 2, AtNs: uint64(boot), LocalPort: 443, Cong: inetdiag.CongOf("cubic"), DeliveryRate: 1_000_000,
			Local: netip.MustParseAddr("192.0.2.1").As16(), Remote: netip.MustParseAddr("198.51.100.3").As16(), BytesAcked: 300_000}
		c.Mark.EstablishedNs = uint64(boot) - uint64(time.Second)
		c.Mark.RateN, c.Mark.RateSum = 2, 2_000_000
		h.with(func() { h.closes = append(h.closes, c) })
		toBoundary(h)
		if len(h.outs) != 1 || len(h.outs[0].Rows) != 1 || !h.outs[0].Rows[0].Control {
			t.Errorf("outs: %+v", h.outs)
		}
	})
}

func TestStopRightAfterAWindowKeepsIt(t *testing.T) {
	var outs int
	var of *host
	run(t, func(h *host, a *Agent) {
		toBoundary(h)
		unix, _ := h.clock()
		time.Sleep(5*time.Minute - time.Duration(unix%int64(5*time.Minute)) + 50*time.Millisecond)
		synctest.Wait()
		of, outs = h, len(h.outs)
	})
	if len(of.outs) != outs+1 || of.outs[outs].Unknown != "" {
		t.Errorf("%d windows went out at the stop", len(of.outs)-outs)
	}
}

func TestWindowThatEndsDuringAPollIsClosedAtOnce(t *testing.T) {
	run(t, func(h *host, a *Agent) {
		toBoundary(h)
		unix, _ := h.clock()
		end := (unix/1e9/300 + 1) * 300
		h.with(func() { h.outs = nil })
		time.Sleep(time.Duration(end*1e9-unix) - 15*time.Second)
		h.with(func() { h.stall = 11 * time.Second }) // from 10 s before the end to 1 s behind it
		time.Sleep(15*time.Second + 3*time.Second)
		synctest.Wait()
		if len(h.outs) != 1 || h.outs[0].Unknown != "" {
			t.Errorf("3 s after the window's end: %+v", h.outs)
		}
	})
}

func TestWindowsThatNoPollSawGoOutAlone(t *testing.T) {
	run(t, func(h *host, a *Agent) {
		toBoundary(h)
		unix, _ := h.clock()
		first := unix / 1e9 / 300 * 300
		h.with(func() { h.outs = nil; h.stall = 11 * time.Minute })
		for i := range 2 { // one close in each of the two windows without a poll
			time.Sleep(5 * time.Minute)
			_, boot := h.clock()
			c := abi.Close{Cookie: uint64(20 + i), Netns: 1, AtNs: uint64(boot), LocalPort: 443, Cong: inetdiag.CongOf("cubic"),
				Local: netip.MustParseAddr("192.0.2.1").As16(), Remote: netip.MustParseAddr("198.51.100.3").As16(), BytesAcked: 300_000}
			c.Mark.EstablishedNs = uint64(boot) - uint64(time.Second)
			c.Mark.RateN, c.Mark.RateSum = 2, 2_000_000
			h.with(func() { h.closes = append(h.closes, c) })
		}
		time.Sleep(2 * time.Minute)
		toBoundary(h)
		seen := map[int64]string{}
		for _, o := range h.outs {
			for _, r := range o.Rows {
				if r.Start != o.Start {
					t.Errorf("window %d has a row of %d", o.Start, r.Start)
				}
			}
			seen[o.Start] = o.Unknown
		}
		if len(seen) < 3 || !strings.Contains(seen[first+300], "no poll") {
			t.Errorf("windows from %d: %v", first, seen)
		}
	})
}

func TestPlanIsRenewedAndDroppedWhenItExpires(t *testing.T) {
	run(t, func(h *host, a *Agent) {
		if err := a.SetPlan(signed(1, time.Now(), time.Hour, "203.0.113.0/24")); err != nil {
			t.Fatal(err)
		}
		time.Sleep(30 * time.Minute)
		h.with(func() {
			if n := len(h.programs); n < 25 || n > 31 {
				t.Errorf("%d times set in 30 min, want one a minute", n)
			}
			last := h.programs[len(h.programs)-1]
			if len(last.Entries) != 1 {
				t.Errorf("renewed with %d prefixes", len(last.Entries))
			}
		})
		time.Sleep(32 * time.Minute)
		h.with(func() {
			if last := h.programs[len(h.programs)-1]; len(last.Entries) != 0 {
				t.Errorf("expired plan still sets %d prefixes", len(last.Entries))
			}
			if !slices.ContainsFunc(h.alarms, func(s string) bool { return strings.HasPrefix(s, "plan: plan 1 expired") }) {
				t.Errorf("alarms: %q", h.alarms)
			}
		})
		if err := a.SetPlan(signed(2, time.Now(), time.Hour, "203.0.113.0/24")); err != nil {
			t.Fatal(err)
		}
		if s := a.Status(); len(s.Alarms) != 0 || s.InForce != 1 {
			t.Errorf("after a new plan: %+v", s)
		}
		if arm, in := a.armAt(0x18, 0); in {
			t.Errorf("expired plan gives arm %s", arm)
		}
	})
}

func TestBadPlansAreRefusedAndTheOldOneStays(t *testing.T) {
	run(t, func(h *host, a *Agent) {
		good := signed(1, time.Now(), time.Hour, "203.0.113.0/24")
		if err := a.SetPlan(good); err != nil {
			t.Fatal(err)
		}
		broken := slices.Clone(good)
		broken[len(broken)/2] ^= 1
		for name, text := range map[string][]byte{
			"damaged": broken,
			"expired": signed(2, time.Now().Add(-2*time.Hour), time.Hour, "203.0.113.0/24"),
			"private": signed(2, time.Now(), time.Hour, "10.0.0.0/24"),
		} {
			if err := a.SetPlan(text); err == nil {
				t.Errorf("%s plan accepted", name)
			}
		}
		if s := a.Status(); s.Plan != 1 || s.InForce != 1 {
			t.Errorf("status %+v", s)
		}
	})
}

func TestStarvedAndKilledAreSeparate(t *testing.T) {
	run(t, func(h *host, a *Agent) {
		a.Kill(true)
		h.with(func() { h.starved = "steal 30 %" })
		time.Sleep(11 * time.Second)
		h.with(func() {
			if h.stop != abi.StopKilled|abi.StopStarved {
				t.Errorf("stop bits %b", h.stop)
			}
			h.starved = ""
		})
		time.Sleep(11 * time.Second)
		h.with(func() {
			if h.stop != abi.StopKilled {
				t.Errorf("stop bits %b after the shortage", h.stop)
			}
		})
		toBoundary(h)
		if h.outs[0].Starved != "steal 30 %" {
			t.Errorf("window's word on CPU: %q", h.outs[0].Starved)
		}
	})
}

// What is in no row is in the status: a close that comes after its window was sent, and a
// flood of networks.
func TestStatusShowsWhatWindowsLeaveOut(t *testing.T) {
	run(t, func(h *host, a *Agent) {
		toBoundary(h)
		toBoundary(h)
		ended := func(n int, ago time.Duration) {
			_, boot := h.clock()
			c := abi.Close{Cookie: uint64(n), Netns: 1, AtNs: uint64(boot - int64(ago)), LocalPort: 443, RemotePort: 6000, Cong: inetdiag.CongOf("cubic"),
				Local: netip.MustParseAddr("192.0.2.1").As16(), Remote: netip.AddrFrom4([4]byte{8, byte(n >> 8), byte(n), 1}).As16(), BytesAcked: uint64(n)}
			c.Mark.EstablishedNs = c.AtNs
			h.with(func() { h.closes = append(h.closes, c) })
		}
		ended(1, 6*time.Minute)
		for n := range 1001 { // one more than the agent's limit
			if n == 500 {
				time.Sleep(10 * time.Second) // the queue is shorter than that
			}
			ended(1000+n, 0)
		}
		toBoundary(h)
		// A sixteenth of the places is cleared at once.
		if got, want := a.Status().LeftOut, (window.LeftOut{Late: 1, EvictedPrefixes: 62, EvictedConns: 62, IneligiblePrefixes: 1001 - 62, IneligibleConns: 1001 - 62}); got != want {
			t.Errorf("left out: %+v, want %+v", got, want)
		}
		if n := len(h.outs[len(h.outs)-1].Rows); n != 0 {
			t.Errorf("%d rows of connections that moved some bytes each", n)
		}
	})
}

// Its cause is named on a kernel without iterators, too.
func TestCoverageAlarmAndItsEnd(t *testing.T) {
	runIn(t, func(r *Deps) { r.Sweeper = nil }, func(h *host, a *Agent) {
		time.Sleep(15 * time.Second)
		h.with(func() { h.opens, h.seen = 1000, 900 })
		time.Sleep(11 * time.Second)
		if s := a.Status(); len(s.Alarms) != 0 {
			t.Errorf("one poll raised %q", s.Alarms)
		}
		time.Sleep(10 * time.Second)
		s := a.Status()
		if len(s.Alarms) != 1 || !strings.Contains(s.Alarms[0], "900 of 1000") || !strings.Contains(s.Alarms[0], "the fake thief") {
			t.Fatalf("alarms %q", s.Alarms)
		}
		time.Sleep(2 * time.Minute)
		if s := a.Status(); len(s.Alarms) != 0 || len(h.alarms) != 1 || len(h.cleared) != 1 {
			t.Errorf("alarms %q after the fault was over, told %q and over %q", s.Alarms, h.alarms, h.cleared)
		}
	})
}

func TestTheftIsNoticedWithinAMinute(t *testing.T) {
	run(t, func(h *host, a *Agent) {
		h.with(func() { h.stripped = 4 })
		time.Sleep(time.Minute)
		if s := a.Status(); s.Stripped == 0 || s.Rearmed != s.Stripped || len(s.Alarms) != 1 || !strings.Contains(s.Alarms[0], "theft") {
			t.Errorf("status %+v", s)
		}
	})
}

func TestStatusHasTheKernelsCounts(t *testing.T) {
	var broken atomic.Bool
	counts := func(d *Deps) {
		d.KernelCounts = func() (KernelCounts, error) {
			if broken.Load() {
				return KernelCounts{RingFull: 3}, errors.New("no map")
			}
			return KernelCounts{RingFull: 3}, nil
		}
	}
	runIn(t, counts, func(_ *host, a *Agent) {
		if s := a.Status(); s.RingFull != 3 || len(s.Alarms) != 1 || !strings.HasPrefix(s.Alarms[0], "losses: 3 close records were lost since the last poll") {
			t.Errorf("counts: %+v, alarms %q", s.KernelCounts, s.Alarms)
		}
		time.Sleep(4 * time.Minute)
		if s := a.Status(); len(s.Alarms) != 1 {
			t.Errorf("lost in this window: alarms %q", s.Alarms)
		}
		time.Sleep(2 * time.Minute)
		broken.Store(true)
		if s := a.Status(); s.RingFull != 0 || !slices.Equal(s.Alarms, []string{"counters: no map"}) {
			t.Errorf("counts that cannot be read: %+v, alarms %q", s.KernelCounts, s.Alarms)
		}
	})
}

// TestStatusReadsTheKernelBesideTheLoop: a scrape that waits for the kernel holds no lock that a poll needs.
func TestStatusReadsTheKernelBesideTheLoop(t *testing.T) {
	var of atomic.Pointer[Agent]
	asked := 0
	counts := func(d *Deps) {
		d.KernelCounts = func() (KernelCounts, error) {
			if a := of.Load(); a != nil {
				asked++
				if !a.mu.TryLock() {
					t.Error("the counts were read under the agent's lock")
					return KernelCounts{}, nil
				}
				a.mu.Unlock()
			}
			return KernelCounts{}, nil
		}
	}
	runIn(t, counts, func(_ *host, a *Agent) {
		of.Store(a)
		defer of.Store(nil)
		if a.Status(); asked == 0 {
			t.Error("no counts were read")
		}
	})
}

func TestCloseQueueIsBoundedAndCounts(t *testing.T) {
	const limit = (keepBlocks+1)*blockCloses + 3 // in one block more than it keeps, and a part of another
	q := newCloseQueue(limit)
	next := uint64(0)
	for _, n := range []int{limit, 0, 1, blockCloses, limit} { // blocks are used again from the second on
		for i := range n + 2*(n/limit) {
			q.put(&abi.Close{Cookie: next + uint64(i)})
		}
		got := 0
		for _, block := range q.take() {
			for _, c := range block {
				if c.Cookie != next {
					t.Fatalf("of %d: cookie %d in the place of %d", n, c.Cookie, next)
				}
				got, next = got+1, next+1
			}
			q.give(block)
		}
		if got != n || len(q.spare) > keepBlocks {
			t.Errorf("%d of %d taken, %d blocks kept", got, n, len(q.spare))
		}
	}
	if q.lost() != 4 {
		t.Errorf("%d lost", q.lost())
	}
}

func TestClients(t *testing.T) {
	c := Clients{
		Allow:   []netip.Prefix{netip.MustParsePrefix("10.1.0.0/16")},
		Exclude: []netip.Prefix{netip.MustParsePrefix("10.1.2.0/24"), netip.MustParsePrefix("203.0.113.0/28")},
	}
	local := netip.MustParseAddrPort("192.0.2.1:443")
	for addr, want := range map[string]bool{
		"203.0.113.77": true, "203.0.113.7": false, "10.0.0.1": false, "10.1.0.1": true, "10.1.2.1": false,
		"127.0.0.1": false, "::ffff:203.0.113.77": true, "fe80::1": false, "2001:db8::9": true, "192.0.2.1": false,
	} {
		r := netip.AddrPortFrom(netip.MustParseAddr(addr), 1)
		if got := c.Facing(0, local, r, true); got != want {
			t.Errorf("%s: %v", addr, got)
		}
		if c.Facing(0, local, r, false) {
			t.Errorf("%s: an outbound connection is client-facing", addr)
		}
	}
	// Addresses of the namespace itself are no clients, in whichever form, unless they are allowed.
	own := netip.MustParsePrefix("203.0.113.64/26")
	c.Local = func(ns record.NetnsID, a netip.Addr) bool {
		return ns == 7 && (own.Contains(a) || a == netip.MustParseAddr("2001:db8::9"))
	}
	c.Allow = append(c.Allow, netip.MustParsePrefix("203.0.113.120/29"))
	for addr, want := range map[string]bool{
		"203.0.113.77": false, "::ffff:203.0.113.77": false, "203.0.113.121": true, "203.0.113.130": true, "2001:db8::9": false, "2001:db8::a": true,
	} {
		r := netip.AddrPortFrom(netip.MustParseAddr(addr), 1)
		if got := c.Facing(7, local, r, true); got != want {
			t.Errorf("%s of this namespace: %v", addr, got)
		}
		if !c.Facing(8, local, r, true) {
			t.Errorf("%s of another namespace is no client", addr)
		}
	}
}
