package enforce

import (
	"testing"

	"golang.org/x/sys/unix"

	"github.com/congctl/congctl/internal/loop/plan"
	"github.com/congctl/congctl/internal/tcp/abi"
	"github.com/congctl/congctl/internal/tcp/inetdiag"
	"github.com/congctl/congctl/internal/tcp/record"
)

// Pacing caps of these tests, and what their applications set themselves, bytes/s.
const (
	ours    = 10_000_000
	another = 15_000_000
	own     = 20_000_000
	noLimit = 1<<32 - 1
)

// capped puts a policy with a cap and scouts in force.
func (r *rig) capped(bytesPerS uint64, scout uint8) {
	r.t.Helper()
	p, _ := record.PrefixOf(clientT)
	v := policyFor(record.ArmTreatment)
	v.CapBytesPerS, v.Scout = bytesPerS, scout
	_, err := r.Set(plan.Program{Plan: 7, MinBytes: 100_000, Entries: []plan.ProgramEntry{{Prefix: p, Policy: v}}})
	check(r.t, err)
}

// pace is what the application does.
func (k *talk) pace(bytesPerS int) {
	k.r.t.Helper()
	k.with(func(fd int) error { return unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_MAX_PACING_RATE, bytesPerS) })
}

// paced is the socket's limit.
func (k *talk) paced() (bytesPerS uint32) {
	k.r.t.Helper()
	k.with(func(fd int) error {
		v, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_MAX_PACING_RATE)
		bytesPerS = uint32(v)
		return err
	})
	return bytesPerS
}

// expect compares the socket's limit, and what the mark says of it.
func (k *talk) expect(when string, limit, ours uint32, ranCapped bool) {
	k.r.t.Helper()
	m, _ := k.state()
	if got := k.paced(); got != limit || m.Cap != ours || m.Flags&abi.MarkRanCapped != 0 != ranCapped {
		k.r.t.Errorf("%s: paced to %d bytes/s, ours %d, flags %b, want %d, %d, ran capped %v", when, got, m.Cap, m.Flags, limit, ours, ranCapped)
	}
}

// One connection in so many is a scout: switched like all others, never capped. What its application
// paces is drawn like all others.
func TestScouts(t *testing.T) {
	const conns = 40
	r := newRig(t)
	for _, c := range []struct {
		scout     uint8
		low, high int // of conns run capped
		own       bool
	}{{0, conns, conns, false}, {1, 0, 0, false}, {2, 10, 30, false}, {2, 10, 30, true}} {
		r.capped(ours, c.scout)
		ran := 0
		for range conns {
			k := r.talk(clientT)
			if c.own {
				k.pace(own)
			}
			k.ask()
			k.send(300_000)
			m, _ := k.state()
			if m.Applied != record.AppliedTreatment || m.Cong != inetdiag.CongOf("bbr") {
				t.Errorf("scout %d: %s, switched to %q", c.scout, m.Applied, m.Cong)
			}
			if m.Flags&abi.MarkRanCapped != 0 {
				ran++
			}
		}
		if ran < c.low || ran > c.high {
			t.Errorf("scout %d: %d of %d connections ran capped, want %d to %d", c.scout, ran, conns, c.low, c.high)
		}
	}
}

// That a response ran capped is known after the way back, until the next one crosses.
func TestRanCapped(t *testing.T) {
	r := newRig(t)
	k := r.talk(clientT)
	for _, c := range []struct {
		when      string
		planned   uint64
		bytes     int
		limit     uint32
		ours      uint32
		ranCapped bool
	}{
		{"capped", ours, large, ours, ours, true},
		{"back on the default", 0, small, noLimit, 0, true},
		{"without a cap", 0, large, noLimit, 0, false},
		{"capped again", ours, large, ours, ours, true},
	} {
		r.capped(c.planned, 0)
		k.ask()
		k.send(c.bytes)
		k.expect(c.when, c.limit, c.ours, c.ranCapped)
	}
}

// What an application paces itself keeps its limit, before and after the switch, and teaches no late rate.
func TestOwnPacingStays(t *testing.T) {
	r := newRig(t)
	r.capped(ours, 0)
	for _, c := range []struct {
		when        string
		before, mid bool // the application sets its limit before the response, or in it
	}{{"its own from the start", true, false}, {"its own after the switch", false, true}, {"its own anew after the switch", true, true}} {
		k := r.talk(clientT)
		if c.before {
			k.pace(own)
		}
		k.ask()
		k.send(large)
		late, _ := k.state()
		if (late.LateN == 0) != c.before {
			t.Errorf("%s: %d late samples", c.when, late.LateN)
		}
		if c.mid {
			k.pace(another)
			k.send(large)
			if m, _ := k.state(); m.Crossings != 1 || m.LateN != late.LateN {
				t.Errorf("%s: %d crossings, %d late samples, %d before", c.when, m.Crossings, m.LateN, late.LateN)
			}
		}
		limit := map[bool]uint32{false: own, true: another}[c.mid]
		k.ask()
		k.send(small)
		k.expect(c.when+", way back", limit, 0, true)
		if k.cong() != "cubic" {
			t.Errorf("%s: %s", c.when, k.cong())
		}
	}
}

// The sweep that moves connections back lifts our cap, and no other limit.
func TestEvictLiftsCap(t *testing.T) {
	r := newRig(t)
	r.capped(ours, 0)
	free, theirs := r.talk(clientT), r.talk(clientT)
	for _, k := range []*talk{free, theirs} {
		k.ask()
		k.send(large)
		k.expect("capped", ours, ours, true)
	}
	theirs.pace(own)
	if sw, err := r.Sweep(abi.SweepRequest{Evict: true, DefaultCong: inetdiag.CongOf("cubic")}); err != nil || sw.Evicted != 2 || sw.EvictFailed != 0 {
		t.Fatalf("sweep %+v, %v", sw, err)
	}
	free.expect("evicted", noLimit, 0, true)
	theirs.expect("evicted, with a limit of its own", own, 0, true)
}

// A response that crosses while the way back from the one before still waits has the cap that the plan has now.
func TestCapOfAWaitingWayBack(t *testing.T) {
	r := newRig(t)
	for _, next := range []uint32{another, ours, 0} {
		k := r.talk(clientT)
		r.capped(ours, 0)
		k.ask()
		k.send(large)
		_, err := r.SetNetns(nil) // what is no longer polled has no default to go back to
		check(t, err)
		k.ask()
		k.send(large)
		m, _ := k.state()
		if m.Flags&abi.MarkReturn == 0 || m.Crossings != 1 {
			t.Fatalf("the way back does not wait: flags %b, %d crossings", m.Flags, m.Crossings)
		}
		r.capped(uint64(next), 0)
		_, err = r.SetNetns(map[record.NetnsID]inetdiag.Cong{r.ns: inetdiag.CongOf("cubic")})
		check(t, err)
		k.send(large) // goes on
		if m, _ = k.state(); m.Crossings != 2 || k.cong() != "bbr" {
			t.Errorf("then cap %d: %d crossings, %s", next, m.Crossings, k.cong())
		}
		limit := next
		if limit == 0 {
			limit = noLimit
		}
		k.expect("the plan's cap now", limit, next, next > 0)
	}
}
