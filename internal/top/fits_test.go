package top

import (
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/congctl/congctl/internal/loop/policy"
	"github.com/congctl/congctl/internal/tcp/record"
)

var keys = []string{"up", "down", "j", "k", "pgup", "pgdown", "home", "end", "G", "enter", "esc", "tab", "1", "2", "/", "r", "<", ">", "space", "?", "a", "0", "ü", "backspace", "x", "left", "right"}

// TestEveryScreenFits: whatever answers hold, whatever keys came and whatever the size, a
// screen has no line that is too wide, none too many, and no character that a terminal acts on.
func TestEveryScreenFits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := New(Options{Host: rapid.Bool().Draw(t, "host"), Every: time.Second})
		now := noon
		for range rapid.IntRange(1, 30).Draw(t, "steps") {
			now = now.Add(time.Duration(rapid.IntRange(0, 90).Draw(t, "seconds")) * time.Second)
			step(t, m, now)
			width, height := rapid.IntRange(0, 220).Draw(t, "width"), rapid.IntRange(0, 70).Draw(t, "height")
			m.Resize(width, height)
			if fault := unfit(m.View(), width, height); fault != "" {
				t.Fatalf("at %dx%d: %s", width, height, fault)
			}
		}
	})
}

// step does one thing that can happen.
func step(t *rapid.T, m *Model, now time.Time) {
	text := rapid.String()
	switch rapid.IntRange(0, 5).Draw(t, "what") {
	case 0:
		s := State{PoP: text.Draw(t, "pop"), Stopped: rapid.Bool().Draw(t, "stopped"), Default: text.Draw(t, "default"), Alarms: rapid.SliceOfN(text, 0, 3).Draw(t, "alarms")}
		m.Answered(now, s, rapid.SliceOfN(rapid.Custom(anyNetwork), 0, 80).Draw(t, "networks"))
	case 1:
		m.Dumped(now, rapid.SliceOfN(rapid.Custom(anyConn), 0, 80).Draw(t, "conns"))
	case 2:
		m.Failed(now, Trouble{Text: text.Draw(t, "trouble"), Hint: text.Draw(t, "hint"), Down: rapid.Bool().Draw(t, "down")})
	case 3:
		m.Explained(m.Detail(), text.Draw(t, "explanation"))
		m.NoDump(now, text.Draw(t, "why"))
	default:
		m.Key(rapid.SampledFrom(keys).Draw(t, "key"))
		m.Type(text.Draw(t, "paste"))
	}
}

func anyNetwork(t *rapid.T) Network {
	n := Network{Treatment: rapid.String().Draw(t, "treatment"), Arm: record.Arm(rapid.IntRange(0, 9).Draw(t, "arm")), ArmUntil: rapid.Int64Range(0, 1<<33).Draw(t, "until")}
	n.Prefix = record.Prefix(rapid.Uint64Range(1, 9).Draw(t, "prefix")<<33 | 56)
	n.State, n.Guard, n.Signature = policy.State(rapid.String().Draw(t, "state")), rapid.String().Draw(t, "guard"), policy.Class(rapid.String().Draw(t, "class"))
	n.PerfBytesPerS, n.Rate, n.MinRTTUs = rapid.Float64().Draw(t, "rate"), rapid.Float64().Draw(t, "gain"), rapid.Float64().Draw(t, "rtt")
	return n
}

func anyConn(t *rapid.T) Conn {
	b := rapid.SliceOfN(rapid.Byte(), 16, 16).Draw(t, "addr")
	a := netip.AddrPortFrom(netip.AddrFrom16([16]byte(b)), rapid.Uint16().Draw(t, "port"))
	c := Conn{Netns: rapid.String().Draw(t, "netns"), Cookie: rapid.Uint64Range(0, 20).Draw(t, "cookie"), Local: a, Remote: a, Cong: rapid.String().Draw(t, "cong"),
		RttUs: rapid.Uint32().Draw(t, "rtt"), Acked: rapid.Uint64().Draw(t, "acked"), Sent: rapid.Uint64().Draw(t, "sent"), Retrans: rapid.Uint64().Draw(t, "retrans")}
	c.Network, _ = record.PrefixOf(a.Addr())
	return c
}

func unfit(lines []Line, width, height int) string {
	if len(lines) > height {
		return "too many lines"
	}
	for _, l := range lines {
		if widthOf(l.Text) > width {
			return "too wide: " + l.Text
		}
		if strings.ContainsFunc(l.Text, func(r rune) bool { return cells(r) == 0 }) {
			return "not clean: " + l.Text
		}
	}
	return ""
}

// TestUnfitIsFound: a rule that finds nothing proves nothing.
func TestUnfitIsFound(t *testing.T) {
	for _, c := range []struct {
		text string
		ok   bool
	}{{"12345", true}, {"123456", false}, {"äöü…▲", true}, {"漢字1", true}, {"漢字12", false}, {"\x1b[m", false}, {"a\u0301", false}, {"\u202e", false}, {"\U0001f600", false}} {
		if got := unfit([]Line{{Text: c.text}}, 5, 1) == ""; got != c.ok {
			t.Errorf("%q: %v", c.text, got)
		}
	}
	if unfit(make([]Line, 2), 5, 1) == "" {
		t.Error("two lines on one")
	}
}

func TestClean(t *testing.T) {
	const hostile, want = "Köln\t\x1b]0;pwned\x07\u202e\U0001f600 漢", `Köln \u001b]0;pwned\u0007\u202e\u1f600 漢`
	if got := clean(hostile); got != want {
		t.Errorf("%q, wanted %q", got, want)
	}
}

// TestSortFilterFollow: rows come in the order of the column, and the cursor stays on its row.
func TestSortFilterFollow(t *testing.T) {
	m := full(200, 60)
	first := func() string { return m.nets.now()[0].Prefix.String() }
	for i := range networkColumns {
		press(m, ">")
		compare := networkColumns[i].compare
		up := slices.Clone(m.nets.now())
		if !networkColumns[i].words {
			slices.Reverse(up)
		}
		if m.nets.sort != i || !slices.IsSortedFunc(up, compare) {
			t.Errorf("%s: sort %d: %v", networkColumns[i].name, m.nets.sort, m.nets.now())
		}
	}
	if press(m, ">"); m.nets.sort != -1 || first() != "203.0.113.0/24" {
		t.Errorf("round: %d, %s", m.nets.sort, first())
	}
	press(m, "down", "down") // on 198.18.11.0/24
	s, networks, _ := edge()
	slices.Reverse(networks)
	m.Answered(noon, s, networks)
	m.join()
	if r, _ := m.nets.at(); r.Prefix != prefix("198.18.11.0/24") {
		t.Errorf("the cursor went to %s", r.Prefix)
	}
	if press(m, "/", "p", "o", "l", "i", "enter"); len(m.nets.now()) != 1 || first() != "198.18.11.0/24" {
		t.Errorf("filter: %v", m.nets.now())
	}
	if press(m, "enter"); m.Detail() != prefix("198.18.11.0/24") {
		t.Errorf("detail of %s", m.Detail())
	}
	if press(m, "esc", "esc"); len(m.nets.now()) != 6 || m.Detail() != 0 {
		t.Errorf("no filter: %v", m.nets.now())
	}
	if !m.Key("q") || !m.Key("ctrl+c") {
		t.Error("q or Ctrl-C does not do its work")
	}
}

// TestTotals: each connection and network counts once, rates come from two dumps.
func TestTotals(t *testing.T) {
	m := full(80, 24)
	conns, networks := 0, 0
	m.join()
	for _, x := range m.totals {
		conns, networks = conns+x.Connections, networks+x.Networks
	}
	if conns != 5 || networks != 6 || m.totals[0].Cong != "cubic" || m.totals[0].PerS != 1_500_000 {
		t.Errorf("%+v", m.totals)
	}
	m.Dumped(noon.Add(time.Second), append(edgeConns(1), Conn{Netns: "own", Cookie: 99, Cong: "cubic", Acked: 700}))
	if m.join(); m.totals[0].PerS != 700 {
		t.Errorf("a connection that is new: %+v", m.totals[0])
	}
	press(m, "space")
	if m.Dumped(noon.Add(2*time.Second), nil); len(m.conns) != 6 || !strings.Contains(m.View()[0].Text, "paused") {
		t.Error("paused, and the picture changed")
	}
}

// BenchmarkScreen: an answer of 100,000 networks, a dump of 100,000 connections, and the screen.
func BenchmarkScreen(b *testing.B) {
	const many = 100_000
	networks, conns := make([]Network, many), make([]Conn, many)
	for i := range networks {
		networks[i].Prefix = record.Prefix(uint64(i+1)<<8 | 24)
		networks[i].PerfBytesPerS = float64(i * 7919 % many)
		conns[i] = Conn{Netns: "own", Cookie: uint64(i), Network: networks[i].Prefix, Cong: "cubic", Acked: uint64(i * 7919 % many)}
	}
	m := press(New(Options{Host: true, Every: time.Second}), ">", ">", ">")
	m.Resize(200, 60)
	for b.Loop() {
		m.Answered(noon, State{Running: true, Default: "cubic"}, networks)
		m.Dumped(noon, slices.Clone(conns))
		m.View()
	}
}
