package enforce

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"os"
	"testing"
	"time"

	"github.com/congctl/congctl/internal/linux/netns"
	"github.com/congctl/congctl/internal/linux/netns/wan"
	"github.com/congctl/congctl/internal/tcp/record"
)

// What the cap is for: behind a buffer of a quarter of the bandwidth-delay product BBR resends a lot, and less under a cap of 1.15 x what it
// has shown to get, for the same goodput. The figures are in the log; the machine decides how exact they are.
func TestCapBehindShortBuffer(t *testing.T) {
	r := newRig(t)
	const rate, rtt = 1_250_000, 40 * time.Millisecond
	far := behindPath(t, wan.Path{BytesPerS: rate, BufferBytes: rate * rtt.Seconds() / 4, Delay: rtt / 2})
	r.standard()
	const conns, size = 3, 3_000_000
	measure := func(name string) (late uint32, share, goodput float64) {
		var sent, again, acked, busy float64
		for range conns {
			r.fetchFrom(far, size)
			c := r.next()
			if c.Mark.Applied != record.AppliedTreatment {
				t.Fatalf("%s: %s", name, c.Mark.Applied)
			}
			late = max(late, c.Mark.LateRate)
			sent, again = sent+float64(c.BytesSent), again+float64(c.BytesRetrans)
			acked, busy = acked+float64(c.BytesAcked), busy+float64(c.BusyUs)
		}
		share, goodput = again/sent, 1e6*acked/busy
		t.Logf("%s: late rate %d bytes/s, goodput %.0f bytes/s, %.1f %% resent", name, late, goodput, 100*share)
		return late, share, goodput
	}
	late, free, fast := measure("uncapped")
	if late == 0 {
		t.Fatal("no late rate")
	}
	r.capped(uint64(1.15*float64(late)), 0)
	held, share, goodput := measure("capped")
	t.Logf("goodput x %.3f, resent %.1f %% of what it was, the late rate is %.2f of the cap", goodput/fast, 100*share/free, float64(held)/(1.15*float64(late)))
	if share >= free {
		t.Errorf("%.1f %% resent under the cap, %.1f %% without", 100*share, 100*free)
	}
}

// far is a client of the treated network in a namespace of its own.
type far struct {
	ns   *netns.NS
	addr netip.Addr
}

// behindPath puts a client behind a path.
func behindPath(t *testing.T, down wan.Path) far {
	t.Helper()
	edge, err := netns.Current()
	check(t, err)
	t.Cleanup(func() { edge.Close() })
	client, err := netns.Anonymous()
	check(t, err)
	t.Cleanup(func() { client.Close() })
	f := far{client, netip.MustParseAddr("203.0.113.77")}
	near, home := tun(t, edge, "path"), tun(t, client, "home")
	check(t, errors.Join(client.AddAddr("home", netip.PrefixFrom(f.addr, 32)), edge.Up("path"), client.Up("home"),
		edge.AddRoute("path", netns.Route{To: netip.PrefixFrom(f.addr, 32)}), client.AddRoute("home", netns.Route{To: netip.PrefixFrom(edge4, 32)})))
	for _, way := range []struct {
		wan.Path
		from, to *os.File
	}{{down, near, home}, {wan.Path{Delay: down.Delay}, home, near}} {
		line := wan.NewLine(way.Path, way.to, 1)
		go func() {
			defer line.Close()
			wan.Each(way.from, line.Send)
		}()
	}
	return f
}

// tun makes a link whose other end is the file.
func tun(t *testing.T, ns *netns.NS, name string) *os.File {
	t.Helper()
	end, err := wan.Link(ns, name)
	check(t, err)
	t.Cleanup(func() { end.Close() })
	return end
}

// fetchFrom makes one connection from a client in another namespace and asks for so many bytes.
func (r *rig) fetchFrom(f far, size int) {
	r.t.Helper()
	ln := listen(r.t, "tcp4", net.JoinHostPort(edge4.String(), "0"))
	defer ln.Close()
	out := serve(r.t, ln, []int{size})
	ctx, cancel := context.WithTimeout(r.t.Context(), patience)
	defer cancel()
	c, err := f.ns.Dial(ctx, f.addr, ln.Addr().(*net.TCPAddr).AddrPort())
	check(r.t, err)
	defer c.Close()
	_, err = c.Write([]byte{1})
	check(r.t, err)
	for buf := make([]byte, 64<<10); size > 0; {
		check(r.t, c.SetReadDeadline(time.Now().Add(patience)))
		n, err := c.Read(buf)
		check(r.t, err)
		size -= n
	}
	check(r.t, c.(*net.TCPConn).CloseWrite())
	<-out
}
