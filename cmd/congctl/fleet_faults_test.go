package main

import (
	"context"
	"errors"
	"log/slog"
	"net/netip"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/congctl/congctl/internal/fleet/pop"
	"github.com/congctl/congctl/internal/fleet/rollout"
	"github.com/congctl/congctl/internal/fleet/store/inbox"
	"github.com/congctl/congctl/internal/loop/agent"
	"github.com/congctl/congctl/internal/loop/store/wire"
	"github.com/congctl/congctl/internal/tcp/record"
)

// roundsOnly is a controller that counts the connections of each round.
type roundsOnly struct {
	mu    sync.Mutex
	conns map[int64]int
	late  map[int64]time.Duration // after the window's end
}

func (r *roundsOnly) Round(_ context.Context, w agent.ClosedWindow) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, row := range w.Rows {
		r.conns[w.Start] += int(row.Conns)
	}
	r.late[w.Start] = time.Since(time.Unix(w.Start+300, 0))
	return nil
}
func (*roundsOnly) Tell(context.Context, string, string) error            { return nil }
func (*roundsOnly) Signed(context.Context, record.PlanID) ([]byte, error) { return nil, nil }
func (*roundsOnly) Rewrite(context.Context, record.PlanID) error          { return nil }
func (*roundsOnly) Remember(context.Context, string, []byte) error        { return nil }

// TestClocksApart: hosts whose clocks are ten minutes ahead and behind, for an hour. What the one ahead sends counts
// once, in the windows that it names; the one behind is late and counted as that; and no window waits for either
// beyond the lateness. A clock 30 minutes ahead is refused.
func TestClocksApart(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		in, err := inbox.Open(inbox.Options{Dir: dir, PoP: "chi", WindowSeconds: 300, MaxBytes: 1 << 30}, 0)
		check(t, err)
		defer in.Shut()
		r := &roundsOnly{conns: map[int64]int{}, late: map[int64]time.Duration{}}
		p, err := pop.New(pop.Options{Name: "chi", Key: []byte("key"), Lateness: 30 * time.Second, Window: 300 * time.Second, Block: 1800 * time.Second,
			Washout: 60 * time.Second, MinBytes: 1e5, MaxPrefixes: 100}, windows{in}, r, r, pop.Past{}, slog.New(slog.DiscardHandler), time.Now)
		check(t, err)
		go p.Run(t.Context())
		time.Sleep(time.Until(time.Unix((time.Now().Unix()/300+1)*300, 0)))
		clocks := map[string]int64{"right": 0, "ahead": 600, "behind": -600, "far-ahead": 1800}
		for name := range clocks {
			go func() {
				_ = p.Follow(t.Context(), rollout.Connect{Host: name, Boot: "b"}, pop.Takes{}, func(pop.Order) error { return nil })
			}()
		}
		sent, refused := map[string]int{}, 0
		for i := range 12 {
			time.Sleep(time.Until(time.Unix((time.Now().Unix()/300+1)*300+1, 0)))
			for name, off := range clocks {
				start := time.Now().Unix()/300*300 - 300 + off
				h := wire.Header{PoP: "chi", Host: name, Boot: record.BootID{1}, Sequence: uint64(i + 1), Ends: []wire.WindowEnd{{Start: start}}}
				err := in.Take(name, batchOf(t, h, start, 10), time.Now().Unix())
				switch {
				case errors.Is(err, inbox.ErrRefused):
					refused++
				case err != nil:
					t.Fatal(err)
				default:
					sent[name] += 10
				}
				p.Came()
			}
		}
		time.Sleep(20 * time.Minute)
		synctest.Wait()
		counted, longest := 0, time.Duration(0)
		for start, n := range r.conns {
			counted += n
			longest = max(longest, r.late[start])
		}
		late := int(in.Counts().Late)
		t.Logf("before: %v records sent, %d batches refused; after: %d counted, %d late, the last window closed %s after its end", sent, refused, counted, late, longest)
		if sent["ahead"] != 120 || sent["right"] != 120 || refused != 12 || sent["far-ahead"] != 0 {
			t.Errorf("sent %v, %d refused", sent, refused)
		}
		if counted+late != sent["right"]+sent["ahead"]+sent["behind"] || late > sent["behind"] || counted < 240 {
			t.Errorf("%d counted and %d late of %v", counted, late, sent)
		}
		if longest > 31*time.Second {
			t.Errorf("a window closed %s after its end", longest)
		}
	})
}

// batchOf codes a batch of n records of a window, with the length before it.
func batchOf(t testing.TB, h wire.Header, start int64, n int) []byte {
	t.Helper()
	var b wire.Batch
	for i := range n {
		c := uplinkConn(h.Sequence*1000 + uint64(i))
		c.Window, c.Assigned, c.Applied, c.CrossedNs = start, record.ArmNone, record.AppliedNone, (start+200)*1e9
		c.Remote = netip.AddrPortFrom(c.Remote.Addr(), uint16(1000+i))
		check(t, b.Add(c))
	}
	out, err := b.AppendFrame(nil, &h)
	check(t, err)
	return out
}
