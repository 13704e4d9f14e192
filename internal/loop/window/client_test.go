package window

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"net/netip"
	"slices"
	"testing"

	"github.com/congctl/congctl/internal/tcp/record"
)

// slowCut returns each client's part of its size, so that none has more than a third, or more than
// an even share of fewer: the most that one may have by bisection. Clients of size 0 are none.
func slowCut(size map[string]float64) map[string]float64 {
	clients, low, high := 0, 0.0, 0.0
	for _, n := range size {
		if n > 0 {
			clients++
			high = max(high, n)
		}
	}
	part, all := map[string]float64{}, high
	for range 200 {
		sum, top := 0.0, 0.0
		for c, n := range size {
			if part[c] = 1; n > all {
				part[c] = all / n
			}
			sum, top = sum+n*part[c], max(top, n*part[c])
		}
		if top <= sum*max(1./3, 1/float64(clients))*(1+1e-12) {
			low = all
		} else {
			high = all
		}
		if all = (low + high) / 2; low == high {
			break
		}
	}
	return part
}

func name(c *record.Conn) string { return fmt.Sprint(c.Remote.Addr()) }

// slowPooled pools a share, without one client ("" for none).
func slowPooled(part, whole map[string]float64, without string) (share float64) {
	cut := slowCut(whole)
	var p, w float64
	for c := range whole {
		if c != without && whole[c] > 0 {
			p, w = p+part[c]*cut[c], w+whole[c]*cut[c]
		}
	}
	if w == 0 {
		return 0
	}
	return min(p/w, 1)
}

// slowShares computes the shares of guards; byClient is false where nothing reached the threshold.
func slowShares(w *record.Window, conns []*record.Conn, byClient bool) {
	sum := func(get func(*record.Conn) uint64) map[string]float64 {
		m := map[string]float64{}
		for _, c := range conns {
			if byClient {
				m[name(c)] += float64(get(c))
			} else {
				m["all"] += float64(get(c))
			}
		}
		return m
	}
	busy := sum(func(c *record.Conn) uint64 { return c.WinBusyUs })
	rwnd, elapsed := sum(func(c *record.Conn) uint64 { return c.WinRwndLimitedUs }), sum(func(c *record.Conn) uint64 { return c.WinElapsedUs })
	w.RetransShare = slowPooled(sum(func(c *record.Conn) uint64 { return c.WinBytesRetrans }), sum(func(c *record.Conn) uint64 { return c.WinBytesSent }), "")
	w.RwndShare, w.BusyShare = slowPooled(rwnd, busy, ""), slowPooled(busy, elapsed, "")
	least := func(m map[string]float64) int { // clients that count
		n := 0
		for _, v := range m {
			if v > 0 {
				n++
			}
		}
		return n
	}
	for c := range busy {
		if least(busy) >= 3 && busy[c] > 0 {
			w.RwndShare = min(w.RwndShare, slowPooled(rwnd, busy, c))
		}
		if least(elapsed) >= 3 && elapsed[c] > 0 {
			w.BusyShare = max(w.BusyShare, slowPooled(busy, elapsed, c))
		}
	}
}

// slowQuantiles are of type 7 over weighted values, by the definition: the mean of the step
// function over one n-th of its length.
func slowQuantiles(elig []*record.Conn, value func(*record.Conn) float64, quantiles []float64) []float64 {
	out := make([]float64, len(quantiles))
	conns := map[string]float64{}
	for _, c := range elig {
		conns[name(c)]++
	}
	cut := slowCut(conns)
	elig = slices.DeleteFunc(slices.Clone(elig), func(c *record.Conn) bool { return value(c) == 0 })
	slices.SortFunc(elig, func(a, b *record.Conn) int { return cmp.Compare(value(a), value(b)) })
	var sum, squares float64
	for _, c := range elig {
		sum, squares = sum+cut[name(c)], squares+cut[name(c)]*cut[name(c)]
	}
	n := sum * sum / squares
	for i, q := range quantiles {
		low, at, taken := q*(n-1)/n*sum, 0.0, 0.0
		for _, c := range elig {
			next := at + cut[name(c)]
			if part := min(next, low+sum/n) - max(at, low); part > 0 {
				out[i], taken = out[i]+part*value(c), taken+part
			}
			at = next
		}
		if taken > 0 {
			out[i] /= taken
		}
	}
	return out
}

func comesFrom(c *record.Conn, a netip.Addr) {
	c.Remote = netip.AddrPortFrom(a, 443)
	c.Prefix, _ = record.PrefixOf(a)
}

// crowdOf is a network of one client with so many connections beside healthy ones of one each, in one window.
func crowdOf(rng *rand.Rand, window int64, heavy, healthy int, reader bool) (conns []*record.Conn) {
	for i := range heavy + healthy {
		host, rate, limited := byte(7), 0.1e6, 0.95
		if i >= heavy || !reader {
			rate, limited = 1e6*math.Exp(0.4*rng.NormFloat64()), 0.02
		}
		if i >= heavy {
			host = byte(100 + i)
		}
		a := netip.AddrFrom4([4]byte{203, 0, 113, host})
		c := &record.Conn{Cookie: record.Cookie(i), Window: window, Passive: true, ClientFacing: true,
			Cong: "cubic", DefaultCong: true, RateBytesPerS: rate, RateSource: record.RateMean, WinBytesAcked: 500_000, WinBytesSent: 500_000}
		comesFrom(c, a)
		c.WinBusyUs = uint64(5e11 / rate)
		c.WinRwndLimitedUs, c.WinElapsedUs = uint64(limited*float64(c.WinBusyUs)), c.WinBusyUs*10/9
		conns = append(conns, c)
	}
	return conns
}

// TestSlowReader: beside ten healthy clients one slow reader has 80 % of the connections and 98 %
// of the busy time. The level moves to 0.75 of what it is without it, that of the healthy ones' slowest
// quarter (to 0.1 without the bound), and the guard rwnd, whose limit is 20 %, stays off (93 %
// without). Beside one client it is half of the network, and alone all of it.
func TestSlowReader(t *testing.T) {
	for _, c := range []struct {
		healthy     int
		least, most float64 // of the level, relative to that without it
		rwnd        float64 // at most
	}{{10, 0.65, 0.85, 0.05}, {3, 0.5, 0.95, 0.05}, {1, 0.05, 0.7, 1}} {
		rng := rand.New(rand.NewPCG(1, 12))
		a := aggregatorOf(Config{})
		var with, without, rwnd, busy float64
		const windows = 400
		for i := range int64(windows) {
			for _, reader := range []bool{true, false} {
				for _, x := range crowdOf(rng, i*300, 4*c.healthy, c.healthy, reader) {
					if reader || x.Remote.Addr().As4()[3] != 7 {
						a.Add(x)
					}
				}
				rows, _ := a.Flush(i * 300)
				if a.Rewind(i * 300); reader {
					with, rwnd, busy = with+math.Log(rows[0].RateBytesPerS[record.Q50])/windows, max(rwnd, rows[0].RwndShare), rows[0].BusyShare
				} else {
					without += math.Log(rows[0].RateBytesPerS[record.Q50]) / windows
				}
			}
		}
		moved := math.Exp(with - without)
		t.Logf("%d healthy: level x %.2f, rwnd share up to %.3f, busy share %.2f", c.healthy, moved, rwnd, busy)
		if moved < c.least || moved > c.most || rwnd > c.rwnd {
			t.Errorf("%d healthy: level x %.2f (%.2f to %.2f), rwnd share up to %.3f (at most %.3f)", c.healthy, moved, c.least, c.most, rwnd, c.rwnd)
		}
	}
}

// TestEachClientOnce: where no client has more than a third, each connection counts alike.
func TestEachClientOnce(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 12))
	var rates []float64
	a := aggregatorOf(Config{})
	for i, c := range crowdOf(rng, 0, 0, 99, false) {
		c.Remote = netip.AddrPortFrom(netip.AddrFrom4([4]byte{203, 0, 113, byte(i % 3)}), 443)
		a.Add(c)
		rates = append(rates, float64(float32(c.RateBytesPerS)))
	}
	rows, _ := a.Flush(0)
	slices.Sort(rates)
	if got, want := rows[0].RateBytesPerS[record.Q50], rates[49]; got != want {
		t.Errorf("median %v, want %v", got, want)
	}
}

// TestClientOf: an address of IPv4 and a /64 of IPv6 is a client.
func TestClientOf(t *testing.T) {
	for text, want := range map[string]uint8{"203.0.113.7": 7, "::ffff:203.0.113.7": 7, "2001:db8:0:abcd::1": 0xcd, "2001:db8:0:abcd:ffff::9": 0xcd} {
		var c record.Conn
		comesFrom(&c, netip.MustParseAddr(text))
		if got := c.ClientNumber(); got != want {
			t.Errorf("%s: %d, want %d", text, got, want)
		}
	}
}

// TestFloodOfClients: sums of clients are bounded as samples are, and whoever is put together with
// others weighs no more for it.
func TestFloodOfClients(t *testing.T) {
	a := aggregatorOf(Config{})
	a.caps.totalCap = 1000
	for i := range 100 * 256 {
		addr := netip.AddrFrom4([4]byte{10, 0, byte(i >> 8), byte(i)})
		c := &record.Conn{Cookie: record.Cookie(i), Passive: true, ClientFacing: true,
			WinBytesAcked: 100_000, WinBusyUs: 1000, RateBytesPerS: 1000, RateSource: record.RateMean}
		comesFrom(c, addr)
		a.Add(c)
		if p := a.panes[0]; p.samples.clients > 1000 {
			t.Fatalf("%d sums after %d records", p.samples.clients, i)
		}
	}
	n := 0
	for _, r := range a.panes[0].rows {
		n += len(r.clients)
	}
	if p := a.panes[0]; n != p.samples.clients || p.samples.mask != 7 {
		t.Errorf("%d sums, %d counted, mask %d", n, p.samples.clients, p.samples.mask)
	}
}
