package uplink

import (
	"context"
	"errors"
	"net/netip"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/congctl/congctl/internal/tcp/record"
)

func TestBatches(t *testing.T) {
	within(t, Options{FirstSequence: 40}, &memorySpool{}, func(b *bench) {
		b.add(2500, 300)
		b.after(0)
		if n := len(b.far.all()); n != 2 {
			t.Fatalf("%d batches of 2,500 records at once", n)
		}
		b.after(10 * time.Second)
		b.add(1, 300)
		b.EndWindow(WindowEnd{Start: 300, Starved: "steal", DefaultCongs: []string{"cubic"}})
		b.after(0)
		var sizes []int
		for i, m := range b.far.all() {
			if m.Sequence != uint64(40+i) || (len(m.Ends) == 1) != (i == 3) {
				t.Errorf("batch %d: %+v", i, m)
			}
			sizes = append(sizes, len(m.Conns))
		}
		if !slices.Equal(sizes, []int{1000, 1000, 500, 1}) {
			t.Errorf("batches of %v", sizes)
		}
		last := b.far.all()[3]
		if c := last.Conns[0]; c.Cookie != 2501 || c.Remote != netip.MustParseAddrPort("203.0.113.0:0") || c.Weight != 0 {
			t.Errorf("%+v", c)
		}
		if e := last.Ends[0]; e.Start != 300 || e.Starved != "steal" || !slices.Equal(e.DefaultCongs, []string{"cubic"}) {
			t.Errorf("%+v", e)
		}
		b.after(time.Minute)
		if n := len(b.far.all()); n != 4 {
			t.Errorf("%d batches: one without anything was sent", n)
		}
		if s := b.Status(); s.Batches != 4 || s.Records != 2501 || s.SentBatches != 4 || s.WaitingBatches != 0 || s.OldestS != 0 || s.Weight != 1 {
			t.Errorf("%+v", s)
		}
	})
}

func TestBatchEndsAtItsBytes(t *testing.T) {
	within(t, Options{}, &memorySpool{}, func(b *bench) {
		b.coder.connBytes = 64 << 10
		b.add(9, 0)
		b.after(0)
		if n := b.far.records(); n != 8 || len(b.far.all()) != 2 {
			t.Errorf("%d records in %d batches", n, len(b.far.all()))
		}
	})
}

// TestFarAwayForAMinute: nothing is lost, nothing comes twice, and the log has two lines.
func TestFarAwayForAMinute(t *testing.T) {
	within(t, Options{}, &memorySpool{}, func(b *bench) {
		back := time.Now().Add(time.Minute)
		b.far.answers = func(context.Context, message) error {
			if time.Now().Before(back) {
				return errors.New("no route")
			}
			return nil
		}
		for range 60 {
			b.add(100, 0)
			b.after(time.Second)
		}
		if s := b.Status(); s.SentBatches != 0 || s.WaitingBatches < 5 || s.OldestS < 49 || s.OldestS > 60 {
			t.Errorf("while it is away: %+v", s)
		}
		b.after(45 * time.Second)
		s := b.Status()
		if b.far.records() != 6000 || s.Records != 6000 || s.SentBatches != s.Batches || s.DroppedBatches+s.LostBatches+s.RefusedBatches != 0 {
			t.Errorf("%d of 6000 records came; %+v", b.far.records(), s)
		}
		if s.ResentBatches < 3 || s.ResentBatches > 40 {
			t.Errorf("sent again %d times in a minute", s.ResentBatches)
		}
		for i, m := range b.far.all() {
			if m.Sequence != uint64(i+1) {
				t.Fatalf("batch %d is %d", i, m.Sequence)
			}
		}
		if len(b.lines()) != 2 || !strings.Contains(b.lines()[0], "no route") || !strings.HasPrefix(b.lines()[1], "over: ") {
			t.Errorf("told %q", b.lines())
		}
	})
}

// TestSlowReader: what the spool has no room for is dropped, the oldest first, and all is accounted for.
func TestSlowReader(t *testing.T) {
	within(t, Options{}, &memorySpool{max: 5}, func(b *bench) {
		b.far.answers = func(context.Context, message) error { time.Sleep(7 * time.Second); return nil }
		for i := range 40 {
			b.add(1000, int64(i))
			b.after(time.Second)
		}
		if s := b.Status(); s.WaitingBatches != 5 || s.DroppedBatches < 25 || s.DroppedRecords != 1000*s.DroppedBatches {
			t.Errorf("%+v", s)
		}
		b.after(time.Minute)
		s := b.Status()
		if s.SentBatches != uint64(len(b.far.all())) || s.Batches != 40 || s.WaitingBatches != 0 {
			t.Errorf("%d came; %+v", len(b.far.all()), s)
		}
		// One may be dropped on its way and come nevertheless: it counts in both.
		if sum := s.SentBatches + s.DroppedBatches; sum < 40 || sum > 40+s.SentBatches {
			t.Errorf("%d of 40 accounted for: %+v", sum, s)
		}
		if last := b.far.all()[len(b.far.all())-1]; last.Sequence != 40 {
			t.Errorf("the last is %d: the newest were dropped", last.Sequence)
		}
	})
}

// TestRefused: one bad batch does not hold up the others.
func TestRefused(t *testing.T) {
	within(t, Options{}, &memorySpool{}, func(b *bench) {
		b.far.answers = func(_ context.Context, m message) error {
			if m.Sequence == 3 || m.Sequence == 4 {
				return errors.Join(errors.New("window 7: windows are 300 s here"), errRefused)
			}
			return nil
		}
		b.add(6000, 0)
		b.after(0)
		s := b.Status()
		if s.RefusedBatches != 2 || s.SentBatches != 4 || s.ResentBatches != 0 || b.far.records() != 4000 {
			t.Errorf("%d came; %+v", b.far.records(), s)
		}
		if len(b.lines()) != 2 || !strings.Contains(b.lines()[0], "windows are 300 s here") {
			t.Errorf("told %q", b.lines())
		}
	})
}

// TestCrashBetweenSendAndDelivered: the batch comes twice, under one name.
func TestCrashBetweenSendAndDelivered(t *testing.T) {
	within(t, Options{}, &memorySpool{}, func(b *bench) {
		b.spool.set(func(s *memorySpool) { s.crash = func() { go b.stop() } })
		b.add(1000, 0)
		b.after(0)
		b.stop()
		if len(b.far.all()) == 0 || b.spool.len() != 1 {
			t.Fatalf("%d taken, %d kept", len(b.far.all()), b.spool.len())
		}
		b.spool.set(func(s *memorySpool) { s.crash = nil })
		b.start(Options{FirstSequence: 2})
		b.add(1000, 0)
		b.after(time.Second)
		once := map[uint64]int{}
		for _, m := range b.far.all() {
			once[m.Sequence] = len(m.Conns)
		}
		if len(b.far.all()) < 3 || len(once) != 2 || once[1] != 1000 || once[2] != 1000 || b.spool.len() != 0 {
			t.Errorf("%d batches came, by name %v", len(b.far.all()), once)
		}
	})
}

// TestNeverWaits: a disk that hangs costs records, not the agent's time.
func TestNeverWaits(t *testing.T) {
	within(t, Options{}, &memorySpool{}, func(b *bench) {
		waits := make(chan struct{})
		b.spool.set(func(s *memorySpool) { s.waits = waits })
		b.add(1000, 0)
		synctest.Wait()  // the spool has one batch now, and waits
		b.add(99_000, 0) // in a bubble a wait that nothing ends is a deadlock, and fails
		b.EndWindow(WindowEnd{Start: 0})
		b.EndWindow(WindowEnd{Start: 300})
		synctest.Wait()
		s := b.Status()
		if s.LostRecords+s.Records != 100_000 || s.QueuedBatches != maxQueue || s.LostRecords < 34_000 || s.LostBatches != s.LostRecords/1000+2 {
			t.Errorf("%+v", s)
		}
		close(waits)
		b.after(10 * time.Second)
		if got := b.far.records(); uint64(got) != s.Records {
			t.Errorf("%d of %d came", got, s.Records)
		}
		// The ends are not lost with their batches.
		if last := b.far.all()[len(b.far.all())-1]; len(last.Ends) != 2 {
			t.Errorf("the last batch has the ends %v", last.Ends)
		}
	})
}

func TestSendHasALimit(t *testing.T) {
	within(t, Options{SendTimeout: 5 * time.Second}, &memorySpool{}, func(b *bench) {
		var hung atomic.Bool
		b.far.answers = func(ctx context.Context, _ message) error {
			if !hung.Load() {
				<-ctx.Done()
				hung.Store(true)
			}
			return ctx.Err()
		}
		b.add(1000, 0)
		b.after(5*time.Second - 1)
		if hung.Load() {
			t.Error("the first attempt ended early")
		}
		b.after(2 * time.Second)
		if s := b.Status(); s.SentBatches != 1 || s.ResentBatches != 1 {
			t.Errorf("%+v", s)
		}
	})
}

// TestEndKeepsWhatIsOpen: the next start sends it.
func TestEndKeepsWhatIsOpen(t *testing.T) {
	within(t, Options{}, &memorySpool{}, func(b *bench) {
		b.far.answers = func(context.Context, message) error { return errors.New("away") }
		b.add(1500, 0)
		b.stop()
		if n, _, _ := b.spool.Waiting(); n != 2 || b.far.records() != 0 {
			t.Errorf("%d batches in the spool", n)
		}
	})
}

// TestEndDuringSend: that the uplink ends is not the far side's fault.
func TestEndDuringSend(t *testing.T) {
	within(t, Options{}, &memorySpool{}, func(b *bench) {
		b.far.answers = func(ctx context.Context, _ message) error { <-ctx.Done(); return ctx.Err() }
		b.add(1000, 0)
		b.after(time.Second)
		b.stop()
		if told := b.lines(); len(told) != 0 || b.spool.len() != 1 {
			t.Errorf("told %q, %d in the spool", told, b.spool.len())
		}
	})
}

func TestSpoolThatDoesNotTake(t *testing.T) {
	within(t, Options{}, &memorySpool{fails: errors.New("no space left")}, func(b *bench) {
		b.add(2000, 0)
		b.after(0)
		b.spool.set(func(s *memorySpool) { s.fails = nil })
		b.add(1000, 0)
		b.after(0)
		if s := b.Status(); s.DroppedBatches != 2 || b.far.records() != 1000 || len(b.lines()) != 2 || !strings.Contains(b.lines()[0], "no space left") {
			t.Errorf("%d came, told %q, %+v", b.far.records(), b.lines(), s)
		}
	})
}

func TestEndsThatAreTooLong(t *testing.T) {
	within(t, Options{}, &memorySpool{}, func(b *bench) {
		b.coder.longest = 1
		b.ends = []WindowEnd{{Start: 1}}
		b.add(1, 0)
		b.EndWindow(WindowEnd{Start: 2})
		b.after(0)
		if len(b.lines()) != 1 || b.far.records() != 1 || len(b.far.all()[0].Ends) != 0 {
			t.Errorf("told %q; %+v", b.lines(), b.far.all())
		}
	})
}

// TestBudgetThins: a load of 3 budgets is thinned to within one, by halves, and back; sums stay.
func TestBudgetThins(t *testing.T) {
	within(t, Options{BudgetBytes: 1000, Window: 100 * time.Second, Key: [16]byte{1}}, &memorySpool{}, func(b *bench) {
		var weights []int
		for w, load := range []int{6, 6, 6, 6, 6, 6, 1, 1, 1, 1} {
			window := int64(w * 100)
			for range 10 {
				b.add(load*50, window) // load times 500 records of 100 bytes, a budget of 100,000
				b.after(10 * time.Second)
			}
			b.EndWindow(WindowEnd{Start: window})
			weights = append(weights, b.Status().Weight)
		}
		if want := []int{1, 2, 4, 4, 4, 4, 4, 4, 2, 1}; !slices.Equal(weights, want) {
			t.Errorf("weights %v, want %v", weights, want)
		}
		b.after(1000 * time.Second)
		sums, kept := map[int64]uint64{}, map[int64]int{}
		for _, m := range b.far.all() {
			for _, c := range m.Conns {
				sums[c.Window] += (&record.Conn{Weight: c.Weight}).Times()
				kept[c.Window]++
			}
		}
		for w := int64(200); w < 600; w += 100 { // 750 of 3,000 kept, give or take 24: four of those stand for 380
			if kept[w] > 850 || sums[w] < 2620 || sums[w] > 3380 {
				t.Errorf("window %d: %d kept stand for %d", w, kept[w], sums[w])
			}
		}
		if s := b.Status(); s.ThinnedRecords+s.Records != 20_000 || s.LostRecords != 0 {
			t.Errorf("%+v", s)
		}
	})
}

// TestSlowFarSideThins, and one that is away does not.
func TestSlowFarSideThins(t *testing.T) {
	for name, want := range map[string]bool{"slow": true, "away": false} {
		within(t, Options{Window: 100 * time.Second, SpoolBytes: 1 << 20}, &memorySpool{}, func(b *bench) {
			b.far.answers = func(context.Context, message) error {
				if !want {
					return errors.New("away")
				}
				time.Sleep(90 * time.Second)
				return nil
			}
			most := 1
			for w := range 10 {
				b.add(5000, int64(w*100))
				b.after(100 * time.Second)
				most = max(most, b.Status().Weight)
			}
			if (most > 1) != want {
				t.Errorf("%s: weight %d", name, most)
			}
		})
	}
}

func TestRecordDoesNotKeepWhatItGets(t *testing.T) {
	within(t, Options{Addresses: record.AddressesFull}, &memorySpool{}, func(b *bench) {
		c := record.Conn{Cookie: 1, Cong: "cubic"}
		b.Record(&c)
		c = record.Conn{Cookie: 2, Cong: "bbr"}
		b.after(10 * time.Second)
		if got := b.far.all()[0].Conns[0]; got.Cookie != 1 || got.Cong != "cubic" {
			t.Errorf("%+v", got)
		}
	})
}

// TestClientsByDay: a record's number is by the key of its window's day, and in a day without a key it has none.
func TestClientsByDay(t *testing.T) {
	within(t, Options{}, &memorySpool{}, func(b *bench) {
		const day = 86400
		b.TellClientsApart([]record.ClientKey{{Day: 1, Key: []byte("one")}, {Day: 2, Key: []byte("two")}})
		for _, start := range []int64{day, 2*day - 300, 2 * day, 3 * day} {
			b.add(1, start)
		}
		b.after(10 * time.Second)
		one, two := record.NewClientNumbers([]byte("one")), record.NewClientNumbers([]byte("two"))
		conns := b.far.all()[0].Conns
		full := record.Conn{Remote: netip.MustParseAddrPort("203.0.113.7:4711")}
		for i, n := range []*record.ClientNumbers{one, one, two, nil} {
			c, want := conns[i], uint16(0)
			if n != nil {
				want = n.Of(&full)
			}
			if c.Client != want {
				t.Errorf("record %d of window %d: client %d, want %d", i, c.Window, c.Client, want)
			}
		}
	})
}
