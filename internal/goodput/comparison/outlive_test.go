package comparison

import (
	"math"
	"math/rand/v2"
	"net/netip"
	"testing"
	"unsafe"

	"github.com/congctl/congctl/internal/loop/ledger"
	"github.com/congctl/congctl/internal/loop/plan"
	"github.com/congctl/congctl/internal/loop/policy"
	"github.com/congctl/congctl/internal/loop/window"
	"github.com/congctl/congctl/internal/tcp/abi"
	"github.com/congctl/congctl/internal/tcp/inetdiag"
	"github.com/congctl/congctl/internal/tcp/record"
)

// Real connections outlive blocks. An edge is a host with known truth whose connections do: it
// shows sockets, marks and close records to the real ledger, as the kernel would, and the rows go
// to the real engine and to a builder.

// traffic is what the slow networks do, the unit of all figures of a world.
type traffic struct {
	shorts, shortBytes float64 // a window, and their size
	sessions           float64 // open at a time, of 40 min on average: half a megabyte a minute
	sessionFactor      float64 // their rate over that of the others
	downloads          float64 // a window
	downloadBytes      float64
	spread             float64 // standard deviation of ln rate between connections
	reader             float64 // share of the connections that are one client's, at 0.3 of the others' rate
}

var (
	slowSessions = traffic{shorts: 4, shortBytes: 1e6, sessions: 4, sessionFactor: 0.5, spread: 0.4}
	fastSessions = traffic{shorts: 4, shortBytes: 1e6, sessions: 4, sessionFactor: 2, spread: 0.4}
	slowReader   = traffic{shorts: 10, shortBytes: 1e6, spread: 0.4, reader: 0.8}
	longLoads    = traffic{shorts: 4, shortBytes: 1e6, downloads: 1, downloadBytes: 200e6, spread: 0.78}
)

const (
	edgeNets     = 60
	edgeSlow     = 12 // the slowest fifth
	slowRate     = 250_000.0
	sessionLife  = 2400.0 // s
	sessionPause = 60.0
	edgeWashout  = 60 // s
	bootUnix     = morning - 86_400
	minBytes     = 100_000
)

// flow is one connection as the kernel knows it.
type flow struct {
	sock    inetdiag.Sock
	mark    abi.Mark
	prefix  record.Prefix
	rate    float64 // under the default, bytes/s
	now     float64 // Unix s: what it did until then is in the counters
	left    float64 // bytes; a session's are endless
	session bool
	slow    bool
	end     float64 // of a session
	until   float64 // end of the block, while the response in progress has crossed; 0 not crossed
}

type edge struct {
	rnd     *rand.Rand
	draws   *plan.Draws
	chosen  map[record.Prefix]policy.Selected
	ledger  *ledger.Ledger
	agg     *window.Aggregator
	engine  *policy.Engine
	builder *Builder
	traffic traffic
	effect  float64
	nets    []record.Prefix // the slow ones first
	slow    int
	flows   []*flow
	cookies uint64
	brakes  int
}

func newEdge(seed uint64, w traffic, effect float64, nets, slow int, heldOut []netip.Prefix) *edge {
	e := &edge{rnd: rand.New(rand.NewPCG(seed, 14)), traffic: w, effect: effect, slow: slow, chosen: map[record.Prefix]policy.Selected{}}
	e.draws = plan.NewDraws(append([]byte("an edge by seed "), byte(seed)), 0, 0)
	rules := policy.DefaultRules()
	rules.Cap, rules.HoldoutPrefixes, rules.Trial.BlockSeconds = false, heldOut, testBlock
	rules.Trial.GroupPromoted = 2 // most pairs
	rules.Guards.MinBusyShare = 0 // seen once a window, a session is mostly idle
	if rules.Trial.CooldownSeconds, rules.Trial.MaxCooldownSeconds = 0, 0; heldOut == nil {
		for i := range slow { // to the end of the day, whatever is believed
			rules.Always = append(rules.Always, policy.Listed{Net: record.Prefix(0xcb000000 | uint32(i)<<8 | 24).Netip(), Reason: "slow"})
		}
	}
	rules.Guards.MaxRwndShare, rules.MaxNewPerRound = 1, slow
	for i := slow; i < nets; i++ { // none is tried to learn
		rules.Guards.Never = append(rules.Guards.Never, policy.Listed{Net: record.Prefix(0xcb000000 | uint32(i)<<8 | 24).Netip()})
	}
	e.engine = policy.New(rules, e.draws)
	e.agg = window.New(window.Config{WindowSeconds: testWindow, BlockSeconds: testBlock, WashoutSeconds: edgeWashout, MinBytes: minBytes,
		MaxPrefixes: 1000, ArmAt: e.armAt})
	e.ledger = ledger.New(ledger.Config{WindowSeconds: testWindow, BlockSeconds: testBlock, MaxConns: 100_000, ArmAt: e.armAt, Emit: e.agg.Add})
	e.builder = New(Config{WindowSeconds: testWindow, BlockSeconds: testBlock, WashoutSeconds: edgeWashout, GroupTrial: 2, GroupPromoted: 2,
		From: morning, To: morning + 30*86_400, ArmOf: e.draws.Arm})
	for i := range nets {
		e.nets = append(e.nets, record.Prefix(0xcb000000|uint32(i)<<8|24))
	}
	return e
}

func (e *edge) armAt(p record.Prefix, unix int64) (record.Arm, bool) {
	s, ok := e.chosen[p]
	switch {
	case !ok:
		return record.ArmNone, false
	case s.Role != record.ArmNone:
		return s.Role, true
	}
	return e.draws.Arm(p, 2, unix/testBlock), true
}

func bootNs(unix float64) uint64 { return uint64((unix - bootUnix) * 1e9) }

// open begins a connection.
func (e *edge) open(p record.Prefix, at, rate, bytes float64, session bool) {
	e.cookies++
	addr := p.Netip().Addr().As4()
	if addr[3] = byte(e.cookies); e.traffic.reader > 0 && e.rnd.Float64() < e.traffic.reader {
		addr[3], rate = 0, rate*0.3
	}
	f := &flow{prefix: p, rate: rate * math.Exp(e.traffic.spread*e.rnd.NormFloat64()), now: at, left: bytes, session: session, slow: p < e.nets[e.slow]}
	f.sock = inetdiag.Sock{Family: 2, State: 1, Cookie: e.cookies, Local: netip.MustParseAddrPort("192.0.2.1:443"),
		Remote: netip.AddrPortFrom(netip.AddrFrom4(addr), uint16(e.cookies)), Cong: inetdiag.CongOf("cubic"),
		Has:  inetdiag.HasInfo | inetdiag.HasCong | inetdiag.HasStorage,
		Info: inetdiag.TCPInfo{State: 1, MinRttUs: 30_000, RttUs: 31_000}}
	f.mark.EstablishedNs = bootNs(at)
	if session {
		f.end = at + sessionLife*e.rnd.ExpFloat64()
	}
	e.flows = append(e.flows, f)
}

// What bpf/congctl.bpf.c does: cross where a response reaches the threshold, border where the
// block of its crossing ends, over where the next one begins.

func (e *edge) cross(f *flow, at float64) {
	m := &f.mark
	m.Crossings++
	m.CrossedNs = bootNs(at)
	block := math.Floor(at/testBlock) * testBlock
	f.until = block + testBlock
	arm, _ := e.armAt(f.prefix, int64(at))
	if m.Assigned = arm; arm == record.ArmHoldout {
		m.Assigned = record.ArmNone // not in the kernel's map
	}
	switch m.Applied = record.AppliedNone; arm {
	case record.ArmTreatment:
		m.Flags = m.Flags&^abi.MarkEvicted | abi.MarkSwitched
		m.SwitchedNs, m.Applied, m.Cong = m.CrossedNs, record.AppliedTreatment, inetdiag.CongOf("bbr")
		f.sock.Cong = m.Cong
	case record.ArmControl:
		m.Applied = record.AppliedControl
	}
	f.count(at >= block+edgeWashout)
}

func (e *edge) border(f *flow) {
	f.count(false)
	if arm, _ := e.armAt(f.prefix, int64(f.now)); arm != record.ArmTreatment {
		f.back()
	}
	f.until += testBlock
}

func (f *flow) over() {
	f.count(false)
	f.back()
	f.until = 0
}

func (f *flow) treated() bool { return f.sock.Cong == inetdiag.CongOf("bbr") }

func (f *flow) back() {
	if f.treated() {
		f.mark.Flags |= abi.MarkEvicted
		f.sock.Cong = inetdiag.CongOf("cubic")
	}
}

func (f *flow) count(on bool) {
	m, i := &f.mark, &f.sock.Info
	if on == (m.Flags&abi.MarkCounting != 0) {
		return
	}
	m.Flags ^= abi.MarkCounting
	m.CountedAcked, m.CountedSent, m.CountedBusyUs = i.BytesAcked-m.CountedAcked, i.BytesSent-m.CountedSent, i.BusyTimeUs-m.CountedBusyUs
}

// send moves bytes for as long as that takes.
func (e *edge) send(f *flow, bytes, noise float64) {
	rate := f.rate * noise
	if f.treated() {
		rate *= e.effect
	}
	if f.mark.Flags&abi.MarkCounting != 0 {
		f.mark.RateSum += uint64(rate)
		f.mark.RateN++
	}
	i := &f.sock.Info
	i.BytesAcked += uint64(bytes)
	i.BytesSent += uint64(bytes)
	if f.slow {
		i.BytesRetrans += uint64(bytes / 50) // one by one: belief has such a network tried
	}
	i.BusyTimeUs += uint64(bytes / rate * 1e6)
	f.now += bytes / rate
}

// begin sends a response up to its crossing.
func (e *edge) begin(f *flow, noise float64) {
	f.over()
	e.send(f, minBytes, noise)
	e.cross(f, f.now)
}

// run lets a connection live until a time, and reports whether it ended before.
func (e *edge) run(f *flow, until, noise float64) (ended bool) {
	for f.now < until {
		switch {
		case f.session && f.now >= f.end:
			return true
		case f.session:
			next := f.now + sessionPause
			e.begin(f, noise)
			e.send(f, 5e5-minBytes, noise)
			f.now = max(f.now, next)
		case f.left <= 0:
			return true
		case f.until == 0:
			e.begin(f, noise)
			f.left -= minBytes
		case f.now >= f.until:
			e.border(f)
		default: // a response goes on in pieces
			piece := min(f.left, 1e6)
			f.left -= piece
			e.send(f, piece, noise)
		}
	}
	return false
}

// arrivals begins the connections of a window.
func (e *edge) arrivals(start float64) {
	often := func(mean float64, begin func(at float64)) {
		for at := e.rnd.ExpFloat64() / mean; at < 1; at += e.rnd.ExpFloat64() / mean {
			begin(start + at*testWindow)
		}
	}
	for i, p := range e.nets {
		rate, w := slowRate, e.traffic
		if i >= e.slow {
			rate, w = 8*slowRate, traffic{shorts: 6, shortBytes: 1e6}
		}
		often(w.shorts, func(at float64) { e.open(p, at, rate, w.shortBytes, false) })
		often(w.sessions*testWindow/sessionLife, func(at float64) { e.open(p, at, rate*w.sessionFactor, 0, true) })
		often(w.downloads, func(at float64) { e.open(p, at, rate, w.downloadBytes, false) })
	}
}

// window lets one window pass, and the round at its end.
func (e *edge) window(start int64) {
	end := start + testWindow
	e.arrivals(float64(start))
	live := e.flows[:0]
	for _, f := range e.flows {
		if !e.run(f, float64(end), math.Exp(0.1*e.rnd.NormFloat64())) {
			live = append(live, f)
			continue
		}
		e.close(f, min(f.now, float64(end)-1e-3))
	}
	e.flows = live
	e.ledger.BeginPoll(ledger.Poll{Netns: 1, AtNs: end * 1e9, BootNs: (end - bootUnix) * 1e9, DefaultCong: inetdiag.CongOf("cubic"), Final: true, Window: start})
	for _, f := range e.flows {
		f.sock.Storage = unsafe.Slice((*byte)(unsafe.Pointer(&f.mark)), abi.MarkSize)
		e.ledger.Sock(&f.sock)
	}
	e.ledger.EndPoll(true)
	e.ledger.Settle(start)
	rows, _ := e.agg.Flush(start)
	for i := range rows {
		e.builder.Window(&rows[i])
	}
	d := e.engine.Round(policy.Input{Start: start, RoundStart: end, Rows: rows, Stopped: e.brakes > 0})
	if d.Brake != "" {
		e.brakes++
	}
	clear(e.chosen)
	for _, s := range d.Selection {
		e.chosen[s.Prefix] = s
	}
	e.builder.Round(end, d.Selection)
}

func (e *edge) close(f *flow, at float64) {
	i := &f.sock.Info
	e.ledger.Close(&abi.Close{Cookie: f.sock.Cookie, Netns: 1, AtNs: bootNs(at), OldState: 1,
		Local: f.sock.Local.Addr().As16(), Remote: f.sock.Remote.Addr().As16(), LocalPort: 443, RemotePort: f.sock.Remote.Port(),
		Cong: f.sock.Cong, Mark: f.mark, BytesAcked: i.BytesAcked, BytesSent: i.BytesSent, BusyUs: i.BusyTimeUs,
		MinRttUs: i.MinRttUs, SrttUs: i.RttUs}, bootUnix*1e9)
}

// day is what a day of an edge says. Its rows come in the order of time, and so do its rounds.
func (e *edge) day() Report {
	e.builder.Round(morning, nil)
	for start := int64(morning); start < morning+86_400; start += testWindow {
		e.window(start)
	}
	return e.builder.Report(Grouping{}, 1)
}

// interval is between two bounds.
type interval struct{ low, high float64 }

func (i interval) covers(v float64) bool { return i.low <= v && v <= i.high }

// TestOutlive: six days of each world. Where switched connections alone were left out, the worlds
// without an effect read 0.945, 1.064 and 0.953, and the brake was pulled on 10 of their 18 days;
// 1.5 read 1.47, 1.53 and 1.39 (p10 1.20), and 3 read 2.94 and 2.79 (p10 2.39).
func TestOutlive(t *testing.T) {
	const days = 6
	for _, c := range []struct {
		name    string
		traffic traffic
		effect  float64
		within  float64 // of the mean over the days, as a share
	}{
		{"slow sessions", slowSessions, 1, 0.01},
		{"fast sessions", fastSessions, 1, 0.01},
		{"downloads", longLoads, 1, 0.02}, // one day's standard error is 0.02
		{"a slow reader", slowReader, 1, 0.01},
		{"a slow reader", slowReader, 1.5, 0.03},
		{"slow sessions", slowSessions, 1.5, 0.03},
		{"fast sessions", fastSessions, 1.5, 0.03},
		{"downloads", longLoads, 1.5, 0.05}, // a treated download counts in fewer windows: see docs/measured.md
		{"slow sessions", slowSessions, 3, 0.03},
		{"downloads", longLoads, 3, 0.03},
	} {
		ln, ln10, brakes, covered, covered10 := 0.0, 0.0, 0, 0, 0
		for seed := range uint64(days) {
			e := newEdge(seed, c.traffic, c.effect, edgeNets, edgeSlow, nil)
			r := e.day()
			o, p10 := r.Overall, r.Estimates[0].Ratios[1]
			ln, ln10, brakes = ln+o.LogRatio/days, ln10+math.Log(p10.Ratio)/days, brakes+e.brakes
			covered += count(interval{o.Low, o.High}.covers(math.Log(c.effect)))
			covered10 += count(interval{p10.Low, p10.High}.covers(c.effect))
		}
		t.Logf("%s, x %g: overall x %.3f, covered on %d days, p10 x %.3f, on %d, %d brakes", c.name, c.effect, math.Exp(ln), covered, math.Exp(ln10), covered10, brakes)
		inside(t, c.name+", overall over truth", math.Exp(ln)/c.effect, 1-c.within, 1+c.within)
		// A download under the default counts in more windows than a treated one, and the slowest in most: at 3 x
		// that bends the p10 of downloads below the truth (docs/measured.md).
		if covered < days-2 || covered10 < days-2 && !(c.effect == 3 && c.traffic.downloads > 0) || brakes > 0 {
			t.Errorf("%s, x %g: of %d days' intervals %d cover, at p10 %d; %d brakes", c.name, c.effect, days, covered, covered10, brakes)
		}
	}
}

func count(yes bool) int {
	if yes {
		return 1
	}
	return 0
}

// TestOutliveHoldOut: networks held out have one arm for ever, the others change theirs with the
// block. Both count a connection in its first block alone, and the same windows of it. Where they
// did not, no effect read 1.10 and 0.90.
func TestOutliveHoldOut(t *testing.T) {
	const nets, slow = 240, 48
	var held []netip.Prefix
	for i := range slow / 2 {
		held = append(held, record.Prefix(0xcb000000|uint32(i)<<8|24).Netip())
	}
	for _, w := range []traffic{slowSessions, fastSessions} {
		e := newEdge(1, w, 1, nets, slow, held)
		h := e.day().HoldOut
		if !h.Known || !(interval{h.Low, h.High}.covers(1)) {
			t.Errorf("sessions of %g x the rate: %+v", w.sessionFactor, h)
		}
		inside(t, "hold-out", h.Ratio, 0.98, 1.02)
	}
}
