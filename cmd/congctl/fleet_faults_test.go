package main

import (
	"context"
	"errors"
	"log/slog"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/sys/unix"

	"github.com/congctl/congctl/internal/fleet/pop"
	"github.com/congctl/congctl/internal/fleet/rollout"
	"github.com/congctl/congctl/internal/fleet/store/batchlog"
	"github.com/congctl/congctl/internal/fleet/store/inbox"
	"github.com/congctl/congctl/internal/fleet/uplink"
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

const fullDiskEnv = "CONGCTL_TEST_FULL_DISK"

// TestUplinkOnAFullDisk: the disk of an agent's spool is full while the controller is away. What it holds comes once
// when the controller is back, what it did not hold is counted, and the uplink goes on.
func TestUplinkOnAFullDisk(t *testing.T) {
	if os.Getenv(fullDiskEnv) == "" {
		if os.Geteuid() != 0 {
			t.Skip("needs root: mounts a tmpfs in a mount namespace of its own; minimum kernel 2.6.16")
		}
		cmd := program("-test.run", "^TestUplinkOnAFullDisk$", "-test.v")
		cmd.Env = append(os.Environ(), fullDiskEnv+"="+t.TempDir())
		cmd.SysProcAttr = &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS}
		out, err := cmd.CombinedOutput()
		t.Logf("%s", out)
		if err != nil || !strings.Contains(string(out), "--- PASS: TestUplinkOnAFullDisk") {
			t.Fatal(err)
		}
		return
	}
	fillSpool(t, os.Getenv(fullDiskEnv))
}

func fillSpool(t *testing.T, dir string) {
	check(t, unix.Mount("none", dir, "tmpfs", 0, "size=2m"))
	far, away := &uplinkSink{came: map[uint64]int{}}, true
	far.answer = func(uint64) error {
		if away {
			return errors.New("away")
		}
		return nil
	}
	log, err := batchlog.Open(batchlog.Options{Dir: filepath.Join(dir, "spool"), MaxBytes: 64 << 20, SegmentBytes: 200 << 10})
	check(t, err)
	u := uplinkOf(uplink.Options{FirstSequence: 1}, log, far)
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- u.Run(ctx) }()
	const all = 40_000 // some 10 MB
	for i := range uint64(all) {
		u.Record(uplinkConn(i))
		if i%1000 == 0 {
			time.Sleep(5 * time.Millisecond)
		}
	}
	eventually(t, "all of it in the spool, or counted", patience, func() bool { return u.Status().QueuedBatches == 0 })
	before := u.Status()
	far.mu.Lock()
	away = false
	far.mu.Unlock()
	eventually(t, "what the spool held", patience, func() bool { n, _, _ := log.Waiting(); return n == 0 })
	for i := range uint64(500) {
		u.Record(uplinkConn(all + i))
	}
	stop()
	check(t, errors.Join(<-done, log.Close()))
	s := u.Status()
	far.mu.Lock()
	defer far.mu.Unlock()
	t.Logf("before: %d records, %d batches wait, %d dropped; after: %d came, %d dropped, %d lost", before.Records, before.WaitingBatches, before.DroppedRecords, far.conns, s.DroppedRecords, s.LostRecords)
	last, _ := log.Dropped()
	if before.DroppedRecords == 0 || before.WaitingBatches == 0 {
		t.Errorf("the disk was not full: %+v", before)
	}
	if missing := all + 500 - far.conns - int(s.DroppedRecords+s.LostRecords); missing < 0 || missing > 500 {
		t.Errorf("%d records are neither there nor counted, the last 500 may be in the spool; %d batches dropped", missing, last)
	}
	for sequence, n := range far.came {
		if n != 1 {
			t.Errorf("batch %d came %d times", sequence, n)
		}
	}
}
