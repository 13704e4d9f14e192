package ledger

import (
	"cmp"
	"net/netip"
	"testing"

	"github.com/congctl/congctl/internal/loop/policy"
	"github.com/congctl/congctl/internal/loop/window"
	"github.com/congctl/congctl/internal/tcp/inetdiag"
	"github.com/congctl/congctl/internal/tcp/record"
)

// flow is a ledger that feeds an aggregator, as an agent does.
type flow struct {
	l     *Ledger
	agg   *window.Aggregator
	first bool
	off   int64 // Unix seconds minus boot seconds
}

// ledgerOf returns a ledger with what c leaves out.
func ledgerOf(c Config) *Ledger {
	c.WindowSeconds, c.BlockSeconds, c.MaxConns = cmp.Or(c.WindowSeconds, 300), cmp.Or(c.BlockSeconds, 1800), cmp.Or(c.MaxConns, 1<<18)
	if c.Emit == nil {
		c.Emit = func(*record.Conn) {}
	}
	return New(c)
}

func newFlow(c Config) *flow {
	f := &flow{first: true, off: testOffset / 1e9, agg: window.New(window.Config{
		WindowSeconds: 300, BlockSeconds: 1800, WashoutSeconds: 300, MinBytes: 100_000, MaxPrefixes: 1000, ArmAt: c.ArmAt})}
	c.Emit = f.agg.Add
	f.l = ledgerOf(c)
	return f
}

// poll shows lives to the ledger at a Unix second.
func (f *flow) poll(at, win int64, final bool, lives ...*life) {
	listening := func(a netip.AddrPort) bool { return a.Port() == 443 }
	f.l.BeginPoll(Poll{Netns: 1, AtNs: at * 1e9, BootNs: (at - f.off) * 1e9, DefaultCong: inetdiag.CongOf("cubic"), Listening: listening, First: f.first, Final: final, Window: win})
	for _, c := range lives {
		f.l.Sock(c.sock())
	}
	f.l.EndPoll(true)
	f.first = false
}

func (f *flow) flush(win int64) ([]record.Window, window.Stats) {
	f.l.Settle(win)
	return f.agg.Flush(win)
}

// Blocks alternate C (even) and T (odd) for 203.0.113.0/24.
func alternate(p record.Prefix, unix int64) (record.Arm, bool) {
	if p.String() != "203.0.113.0/24" {
		return record.ArmNone, false
	}
	return record.ArmControl - record.Arm(unix/1800%2), true
}

// Without eBPF no connection has a mark: those on the default must still measure
// the level, or nothing is ever ranked. They do in the block in which they were first seen.
func TestWithoutMarksTheLevelIsMeasured(t *testing.T) {
	for block, arm := range map[int64]record.Arm{2: record.ArmControl, 3: record.ArmTreatment} {
		f := newFlow(Config{Unfollowed: true, ArmAt: alternate})
		unplanned, planned, routed := newLife(1, 1), newLife(1, 2), newLife(1, 3)
		unplanned.remote = netip.MustParseAddrPort("198.51.100.9:4000")
		routed.cong = "bbr"
		first := block*1800 + 300
		f.poll(first, first, false)
		for _, win := range []int64{first, first + 1200, first + 1800} {
			for _, c := range []*life{unplanned, planned, routed} {
				c.n[acked] += 200_000
				c.rate = 1_000_000
			}
			f.poll(win+200, win, false, unplanned, planned, routed)
			f.poll(win+300, win, true, unplanned, planned, routed)
			rows, st := f.flush(win)
			if len(rows) != 2 || st.Unknown != 1 || st.Eligible != 2 {
				t.Fatalf("window %d: rows %+v, stats %+v", win, rows, st)
			}
			byArm := map[string]record.Window{rows[0].Prefix.String(): rows[0], rows[1].Prefix.String(): rows[1]}
			free, pl := byArm["198.51.100.0/24"], byArm["203.0.113.0/24"]
			if later := win/1800 != block; free.Carryover != later || pl.Carryover != later || later && (free.Control || pl.Control) {
				t.Errorf("window %d: %+v, %+v", win, free, pl)
			} else if later {
				continue
			}
			if free.Arm != record.ArmNone || !free.Control || free.RateBytesPerS[record.Q50] != 1_000_000 {
				t.Errorf("window %d, unplanned: %+v", win, free)
			}
			if pl.Arm != arm || pl.Control != (arm == record.ArmControl) {
				t.Errorf("window %d, planned: %+v, want arm %s", win, pl, arm)
			}
		}
	}
}

// A clock set back by less than a second loses no window, so it must not move a connection
// out of the block that it was first seen in either.
func TestSmallStepBackIsNoCarryover(t *testing.T) {
	var got []record.Conn
	l := ledgerOf(Config{Unfollowed: true, Emit: func(r *record.Conn) { got = append(got, *r) }})
	c, win := newLife(1, 1), int64(3*1800)
	for i, off := range []int64{testOffset + 200e6, testOffset - 100e6} {
		at := (win + 100 + int64(i)*200) * 1e9
		l.BeginPoll(Poll{Netns: 1, AtNs: at, BootNs: at - off, DefaultCong: inetdiag.CongOf("cubic"), Final: i == 1, Window: win,
			Listening: func(a netip.AddrPort) bool { return a.Port() == 443 }})
		c.n[acked] += 200_000
		l.Sock(c.sock())
		l.EndPoll(true)
	}
	if len(got) != 1 || !got[0].Passive || got[0].Carryover {
		t.Errorf("%+v", got)
	}
}

// clocked is an agent's and a controller's order of calls under a wall clock that
// a test sets.
type clocked struct {
	*flow
	engine *policy.Engine
	boot   int64 // seconds
	open   int64 // start of the open window
	lives  []*life
	out    []policy.Decision
}

// poll ends an interval of 100 s in which everyone moves enough to be eligible.
func (c *clocked) poll() {
	c.boot += 100
	for i, l := range c.lives {
		l.n[acked] += 100_000
		l.rate = uint64(i+1) * 100_000
	}
	at := c.boot + c.off
	cur := at - at%300
	if c.open == 0 || cur == c.open {
		c.open = cur
		c.flow.poll(at, cur, false, c.lives...)
		return
	}
	c.flow.poll(at, c.open, true, c.lives...)
	rows, _ := c.flush(c.open)
	unknown := ""
	if cur != c.open+300 {
		unknown = "wall clock stepped"
	}
	c.out = append(c.out, c.engine.Round(policy.Input{Start: c.open, RoundStart: c.open + 300, Rows: rows, Unknown: unknown}))
	if cur < c.open {
		c.agg.Rewind(cur)
	}
	c.open = cur
}

func (c *clocked) polls(n int) {
	for range n {
		c.poll()
	}
}

// After a step of the wall clock, ahead or back, the windows that it touches are
// lost and nothing more: connections that live on are known again at once.
func TestClockStepsLoseOnlyTheWindowsTheyTouch(t *testing.T) {
	rules := policy.DefaultRules().ByLevel()
	rules.MinRanked, rules.MinSamples = 3, 1
	// One block is longer than the test: what outlives its block counts nowhere.
	c := &clocked{flow: newFlow(Config{Unfollowed: true, BlockSeconds: 1 << 40}), engine: policy.New(rules, nil), boot: 3000}
	for i := range 3 {
		l := newLife(1, uint64(i+1))
		l.remote = netip.AddrPortFrom(netip.AddrFrom4([4]byte{198, 51, byte(i), 1}), 4000)
		c.lives = append(c.lives, l)
	}
	c.off = 1_795_176_000 - c.boot // a window's start
	c.polls(16)
	for _, step := range []int64{12 * 3600, -12 * 3600, -12 * 3600, 12 * 3600} {
		c.off += step
		c.out = nil
		c.polls(16)
		if len(c.out) < 5 {
			t.Fatalf("step %d s: %d rounds in 1600 s", step, len(c.out))
		}
		for _, d := range c.out[1:] {
			if d.Known != 3 || d.Ranked != 3 || d.Window > c.boot+c.off {
				t.Errorf("step %d s, window %d: known %d ranked %d, %s", step, d.Window, d.Known, d.Ranked, d.Note)
			}
		}
	}
	if st := c.l.Stats(); st.Late > 0 || st.SetBack == 0 {
		t.Errorf("%+v", st)
	}
}

// Web clients: ten downloads of 5 MB in 20 s, on connections that stay open. Each
// is busy while it sends; that it is kept alive does not make it idle.
func TestKeptAliveConnectionsAreNotIdle(t *testing.T) {
	f := newFlow(Config{Unfollowed: true})
	lives := make([]*life, 10)
	for i := range lives {
		lives[i] = newLife(1, uint64(i+1))
		lives[i].rate = 250_000
	}
	f.poll(3000, 3000, false, lives...)
	for at := int64(3010); at <= 3300; at += 10 {
		for i, l := range lives {
			if begin := 3000 + 25*int64(i); at > begin && at <= begin+20 {
				l.n[acked], l.n[sent], l.n[busyUs] = l.n[acked]+2_500_000, l.n[sent]+2_500_000, l.n[busyUs]+10e6
			}
		}
		win := (at - 1) / 300 * 300
		f.poll(at, win, at%300 == 0, lives...)
	}
	rows, _ := f.flush(3000)
	if len(rows) != 1 || rows[0].Eligible != 10 || rows[0].BusyShare < 0.95 {
		t.Errorf("rows %+v", rows)
	}
}
