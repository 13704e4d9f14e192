package main

import (
	"fmt"
	"net/netip"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/congctl/congctl/internal/loop/plan"
	"github.com/congctl/congctl/internal/tcp/record"
)

// Blocks of two windows, control every second block: each boundary is seen with
// every change of arm, and the agent sleeps over one.
const (
	blockSeconds = 2 * windowSeconds
	armNetworks  = 10
)

func armSettings() settings {
	cfg := quickSettings()
	cfg.Block, cfg.ControlEvery = fmt.Sprintf("%ds", blockSeconds), 2
	return cfg
}

// armClients are one client in each of the planned networks, the last two IPv6.
func armClients() (clients []netip.Addr) {
	for i := range armNetworks {
		if i >= armNetworks-2 {
			i += networks
		}
		clients = append(clients, client(i, 9))
	}
	return clients
}

// TestArmsAcrossBlocks holds every record of a run over several blocks, the agent
// stopped over a boundary, against arms recomputed from prefix, block and salt.
func TestArmsAcrossBlocks(t *testing.T) {
	notShort(t, "six blocks of 6 s")
	e := newEdge(t, armSettings())
	clients := armClients()
	var prefixes []record.Prefix
	for _, c := range clients {
		prefixes = append(prefixes, prefixOf(t, c))
	}
	p := e.planFor(prefixes...)
	e.keepPlan(p)
	e.start()
	s := newServer(t)
	if status, err := e.status(); err != nil || status.Agent.InForce != armNetworks {
		t.Fatalf("%+v, %v", status, err)
	}
	twentyOfEach(t, s, p, clients)
	asleep := loadOverBlocks(t, e, s, clients)
	e.stop()
	checkArms(t, p, e.records(), asleep)
}

// twentyOfEach runs transfers until 20 of each arm began and ended in one block,
// and reads back what they ran.
func twentyOfEach(t *testing.T, s *server, p *plan.Plan, clients []netip.Addr) {
	t.Helper()
	want := map[record.Arm]string{record.ArmTreatment: "bbr", record.ArmControl: "cubic"}
	ran := map[record.Arm][]string{}
	for end := time.Now().Add(patience); len(ran[record.ArmTreatment]) < 20 || len(ran[record.ArmControl]) < 20; {
		if time.Now().After(end) {
			t.Fatalf("transfers within a block: %v", ran)
		}
		var wait sync.WaitGroup
		got := make([]string, len(clients))
		before := time.Now().Unix() / blockSeconds
		for i, from := range clients {
			v := s.dial(from)
			wait.Go(func() {
				if v.get(large) == nil {
					got[i] = v.runs()
				}
				v.Close()
			})
		}
		wait.Wait()
		if time.Now().Unix()/blockSeconds != before {
			continue
		}
		for i, from := range clients {
			arm, _ := p.ArmAt(prefixOf(t, from), before*blockSeconds)
			ran[arm] = append(ran[arm], got[i])
		}
	}
	for arm, cong := range want {
		for _, got := range ran[arm] {
			if got != cong {
				t.Errorf("arm %s: a large transfer ran %q, want %s", arm, got, cong)
			}
		}
		t.Logf("arm %s: %d of %d large transfers ran %s", arm, len(ran[arm]), len(ran[arm]), cong)
	}
}

// span is a time of the wall clock in Unix nanoseconds.
type span struct{ from, to int64 }

func (s span) holds(ns int64) bool { return ns >= s.from && ns < s.to }

// loadOverBlocks downloads from every client, over new connections and over old
// ones, for two blocks, then with the agent stopped from the middle of a block to
// the middle of the next, and for two more.
func loadOverBlocks(t *testing.T, e *edge, s *server, clients []netip.Addr) (asleep span) {
	t.Helper()
	var stop atomic.Bool
	var wait sync.WaitGroup
	defer wait.Wait()
	defer stop.Store(true)
	for i, from := range clients {
		kept := s.dial(from)
		wait.Go(func() { // one connection, many responses, into later blocks
			for n := 120_000; !stop.Load() && kept.get(n+i*20_000) == nil; {
				time.Sleep(150 * time.Millisecond)
			}
			kept.Close()
		})
		endless := s.dial(from)
		wait.Go(func() { _ = endless.get(1 << 30) }) // crosses once and stays
		wait.Go(func() { defer endless.Close(); untilStopped(&stop) })
		wait.Go(func() {
			for !stop.Load() {
				s.transfer(from, 250_000)
			}
		})
	}
	sleepInto(2*blockSeconds, 3500*time.Millisecond)
	asleep.from = time.Now().UnixNano()
	e.pause()
	sleepInto(blockSeconds, 3500*time.Millisecond)
	asleep.to = time.Now().UnixNano()
	e.signal(syscall.SIGCONT)
	sleepInto(2*blockSeconds, 2*time.Second)
	return asleep
}

func untilStopped(stop *atomic.Bool) {
	for !stop.Load() {
		time.Sleep(50 * time.Millisecond)
	}
}

// sleepInto sleeps for about that many seconds, to a moment within a block.
func sleepInto(seconds int64, offset time.Duration) {
	block := (time.Now().Unix() + seconds) / blockSeconds
	time.Sleep(time.Until(time.Unix(block*blockSeconds, 0).Add(offset)))
}

// clockSlew: boundaries are in boot time as of a plan's renewal, records in wall
// time as of the record. The wall clock may be slewed by 500 ppm in between.
const clockSlew = int64(10 * time.Millisecond)

func checkArms(t *testing.T, p *plan.Plan, all []record.Conn, asleep span) {
	t.Helper()
	seen := map[string]int{}
	bad := 0
	for i := range all {
		c := &all[i]
		if !c.Passive {
			continue
		}
		what, err := judgeArm(p, c)
		seen[what]++
		if asleep.holds(c.CrossedNs) {
			seen["crossed while the agent slept, "+what]++
		}
		if err != nil {
			if bad++; bad <= 10 {
				t.Errorf("cookie %d %s window %d end %s at %d assigned %s applied %s carryover %t crossed %d switched %d: %v", c.Cookie, c.Prefix,
					c.Window, c.End, c.AtNs, c.Assigned, c.Applied, c.Carryover, c.CrossedNs, c.SwitchedNs, err)
			}
		}
	}
	t.Logf("%d records, %d bad: %v", len(all), bad, seen)
	for _, must := range []string{"T", "C", "C, carried over", "T, carried over", "crossed while the agent slept, T", "crossed while the agent slept, C"} {
		if seen[must] == 0 {
			t.Errorf("no record %q: the run proves nothing about it", must)
		}
	}
}

// roundTripBytes are more than a round trip brings, on a busy machine too: the kernel stops counting at the first
// callback after the border.
const roundTripBytes = 512 << 10

// judgeArm names what a record shows, or says what is not as it must be.
func judgeArm(p *plan.Plan, c *record.Conn) (string, error) {
	block := func(unix int64) int64 { return unix / blockSeconds }
	if edge := c.CrossedNs % (blockSeconds * 1e9); c.CrossedNs != 0 && (edge < clockSlew || edge > blockSeconds*1e9-clockSlew) {
		return "at the boundary", nil
	}
	carried := c.CrossedNs != 0 && block(c.CrossedNs/1e9) != block(c.Window)
	onTime := block(c.AtNs/1e9-1) == block(c.Window) // no agent that slept into the next block
	want, _ := p.ArmAt(c.Prefix, c.Window)           // the same in all windows of a block
	switch {
	case c.Assigned != want:
		return "wrong arm", fmt.Errorf("recomputed arm is %s", want)
	case c.Carryover != carried:
		return "unexplained", fmt.Errorf("last crossing in the window's block: %t", !carried)
	case carried && (c.Applied != record.AppliedNone || onTime && c.WinCountedBytesAcked > roundTripBytes):
		return "unexplained", fmt.Errorf("crossed in another block, and %d bytes count", c.WinCountedBytesAcked)
	case carried:
		return want.String() + ", carried over", nil
	case c.CrossedNs == 0 && c.Applied == record.AppliedNone:
		return "no crossing", nil
	case want == record.ArmTreatment && c.Applied == record.AppliedTreatment, want == record.ArmControl && c.Applied == record.AppliedControl:
		return want.String(), nil
	case want == record.ArmTreatment && (c.Applied == record.AppliedNonePending || c.Applied == record.AppliedNoneExpired):
		return want.String() + ", " + c.Applied.String(), nil
	}
	return "unexplained", fmt.Errorf("recomputed arm is %s: nothing explains what was applied", want)
}
