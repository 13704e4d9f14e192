package accesslog

import (
	"fmt"
	"net/netip"
	"strconv"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/congctl/congctl/internal/tcp/record"
)

// TestScripts: one command, whose lines are fed in order. Times are seconds after
// 2026-11-20T12:00:00Z, a block's start.
//
//	conn COOKIE REMOTE WINDOW AT [close] [arm=T] [applied=T] [crossed=S] [carryover] [back-office] [netns=N] [rtt=MS] [local=ADDR]
//	resp CLIENT START END BYTES [HTTP/2.0] [server=ADDR:PORT] [wait=S]
//	settle WINDOW
func TestScripts(t *testing.T) {
	datadriven.Walk(t, "testdata/match", func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			m := NewMatcher(MatchConfig{WindowSeconds: testWindow, MinBytes: testMin, MaxConns: 5, MaxResponses: 5})
			var out strings.Builder
			for _, line := range strings.Split(d.Input, "\n") {
				w := strings.Fields(line)
				switch w[0] {
				case "conn":
					m.Conn(scriptConn(t, w))
				case "resp":
					m.Response(scriptResponse(t, w))
				case "settle":
					showSettled(&out, m, morning+int64(number(t, w[1])))
				default:
					d.Fatalf(t, "what is %q?", w[0])
				}
			}
			return out.String()
		})
	})
}

func showSettled(out *strings.Builder, m *Matcher, start int64) {
	matched, tally := m.Settle(start)
	for _, b := range matched {
		fmt.Fprintf(out, "%s #%d %.1f-%.1f s, %d bytes, streams=%d: window %d, %s/%s", b.Client, b.Cookie, float64(b.StartUs)/1e6-morning,
			float64(b.EndUs)/1e6-morning, b.BodyBytes, b.Streams, b.Window-morning, b.Assigned, b.Applied)
		for _, f := range []struct {
			on   bool
			name string
		}{{b.Crossed, "crossed"}, {!b.Big, "small"}, {b.Carryover, "carryover"}, {b.Buffered, "buffered"}} {
			if f.on {
				out.WriteString(" " + f.name)
			}
		}
		out.WriteString("\n")
	}
	fmt.Fprintf(out, "%d of %d matched", tally.Matched, tally.Matched+tally.UnmatchedTotal())
	for r, n := range tally.Unmatched {
		if n > 0 {
			fmt.Fprintf(out, ", %d %s", n, Reason(r))
		}
	}
	if tally.ConnsOverflow > 0 {
		fmt.Fprintf(out, "; %d connections too many", tally.ConnsOverflow)
	}
	out.WriteString("\n")
}

func number(t *testing.T, s string) float64 {
	t.Helper()
	v, err := strconv.ParseFloat(s, 64)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func scriptConn(t *testing.T, w []string) *record.Conn {
	c := &record.Conn{
		Netns: 1, Cookie: record.Cookie(number(t, w[1])), Remote: netip.MustParseAddrPort(w[2]), Window: morning + int64(number(t, w[3])),
		AtNs: int64((morning + number(t, w[4])) * 1e9), Local: netip.MustParseAddrPort("192.0.2.1:443"), Passive: true, ClientFacing: true,
	}
	c.Prefix, _ = record.PrefixOf(c.Remote.Addr())
	for _, word := range w[5:] {
		key, value, _ := strings.Cut(word, "=")
		var err error
		switch key {
		case "close":
			c.End = record.EndClose
		case "arm":
			err = c.Assigned.UnmarshalText([]byte(value))
		case "applied":
			err = c.Applied.UnmarshalText([]byte(value))
		case "crossed":
			c.CrossedNs = int64((morning + number(t, value)) * 1e9)
		case "carryover":
			c.Carryover = true
		case "back-office":
			c.ClientFacing = false
		case "netns":
			c.Netns = record.NetnsID(number(t, value))
		case "rtt":
			c.Info.MinRttUs = uint32(number(t, value) * 1000)
		case "local":
			c.Local = netip.AddrPortFrom(netip.MustParseAddr(value), 443)
		default:
			err = fmt.Errorf("what is %q?", word)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return c
}

func scriptResponse(t *testing.T, w []string) Response {
	us := func(s string) int64 { return int64((morning + number(t, s)) * 1e6) }
	r := Response{Client: netip.MustParseAddrPort(w[1]), StartUs: us(w[2]), EndUs: us(w[3]), BodyBytes: uint64(number(t, w[4])),
		Server: netip.AddrPortFrom(netip.Addr{}, 443)}
	for _, word := range w[5:] {
		if server, ok := strings.CutPrefix(word, "server="); ok {
			r.Server = netip.MustParseAddrPort(server)
		} else if wait, ok := strings.CutPrefix(word, "wait="); ok {
			r.WaitUs = us(wait) - morning*1e6
		} else if r.Protocol, ok = protocols[word]; !ok && word != "HTTP/1.1" {
			t.Fatalf("what is %q?", word)
		}
	}
	return r
}
