package limit

import (
	"context"
	"fmt"
	"io"
	"math"
	"net"
	"net/netip"
	"os"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/congctl/congctl/internal/change"
	"github.com/congctl/congctl/internal/linux/netns"
	"github.com/congctl/congctl/internal/linux/qdisc"
	"github.com/congctl/congctl/internal/shape"
)

// share is how far from the asked rate a shaper may be.
const share = 0.01

// payload is what TCP's data is of the bytes that tbf counts: 1448 of 1514.
const payload = 1448.0 / 1514

// needVirtual skips on a clock that goes on while the guest has no CPU: what that does to a rate says nothing of the shaper.
func needVirtual(t *testing.T) {
	t.Helper()
	if os.Getenv("CONGCTL_VIRTUAL") == "" {
		t.Skip("needs a machine in virtual time: VIRTUAL=1 tools/vm.sh internal/shape/kernel/limit; minimum kernel 5.3")
	}
}

// The rates hold with super-packets on, in the bytes that the kernel counts on the wire
// and in those that the receiver reads.
func TestRates(t *testing.T) {
	needVirtual(t)
	for _, c := range []struct {
		rate   string
		burst  shape.Size // 0: computed
		queue  shape.Queue
		bursts uint64
		slow   bool
	}{
		{rate: "0.1Mbit/s", bursts: 201, slow: true},
		{rate: "1Mbit/s", bursts: 250},
		{rate: "10Mbit/s", bursts: 1000},
		{rate: "100Mbit/s", bursts: 2000},
		{rate: "1MB/s", burst: 200 << 10, queue: shape.Queue{Bytes: 1 << 20}, bursts: 201, slow: true},
	} {
		t.Run(c.rate, func(t *testing.T) {
			if c.slow && testing.Short() {
				t.Skip("needs 42 to 49 s: 200 bursts of a slow bucket; minimum kernel 5.3")
			}
			t.Parallel()
			p := newPair(t)
			rate, err := shape.ParseRate(c.rate)
			if err != nil {
				t.Fatal(err)
			}
			goal := target(t, p.a, shape.Ask{Rate: rate, Burst: c.burst, Queue: c.queue})
			set(t, p.a, change.Egress, value(goal.Tbf, goal.Inner).Text)
			checkRate(t, p.flood(t, false), goal.Tbf, c.bursts)
		})
	}
}

func checkRate(t *testing.T, f *flow, tbf shape.Tbf, bursts uint64) {
	t.Helper()
	want := float64(tbf.Rate.BytesPerS())
	f.await(t, 2*uint64(tbf.Burst)) // the full bucket of the beginning has gone
	wire, data := f.measure(t, bursts*uint64(tbf.Burst))
	t.Logf("%s, burst %d: wire %.0f B/s (%+.2f %%), data %.0f B/s, %d bursts", tbf.Rate, tbf.Burst, wire, 100*(wire/want-1), data, bursts)
	if math.Abs(wire/want-1) > share || math.Abs(data/(want*payload)-1) > 2*share {
		t.Error("not at the rate")
	}
}

// flow is a connection that always has more to send.
type flow struct {
	ns   *netns.NS
	link int
	read atomic.Uint64
}

// flood sends from a, or to it, and counts at the bucket there.
func (p pair) flood(t *testing.T, incoming bool) *flow {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	t.Cleanup(cancel)
	l, err := p.b.Listen(ctx, nil, netip.AddrPortFrom(addrB.Addr(), 0))
	if err != nil {
		t.Fatal(err)
	}
	f := &flow{ns: p.a}
	in(t, p.a, func() error {
		l, err := find("a")
		if err == nil && incoming {
			l, err = find(ifbName(l.Attrs().Index))
		}
		if err == nil {
			f.link = l.Attrs().Index
		}
		return err
	})
	out, err := p.a.Dial(ctx, netip.Addr{}, l.Addr().(*net.TCPAddr).AddrPort())
	if err != nil {
		t.Fatal(err)
	}
	come, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { out.Close(); come.Close(); l.Close() })
	if incoming {
		out, come = come, out
	}
	if err := cubic(out); err != nil {
		t.Fatal(err)
	}
	go func() {
		b := make([]byte, 64<<10)
		for {
			if _, err := out.Write(b); err != nil {
				return
			}
		}
	}()
	go func() { _, _ = io.Copy(counter{&f.read}, come) }()
	return f
}

// cubic keeps the queue full; BBR would leave it near empty, and be measured itself.
func cubic(c net.Conn) error {
	raw, err := c.(*net.TCPConn).SyscallConn()
	if err != nil {
		return err
	}
	var set error
	err = raw.Control(func(fd uintptr) {
		set = unix.SetsockoptString(int(fd), unix.IPPROTO_TCP, unix.TCP_CONGESTION, "cubic")
	})
	if set != nil {
		err = fmt.Errorf("set cubic: %w", set)
	}
	return err
}

type counter struct{ n *atomic.Uint64 }

func (c counter) Write(b []byte) (int, error) {
	c.n.Add(uint64(len(b)))
	return len(b), nil
}

// wire is what the bucket has let pass, headers of each frame included.
func (f *flow) wire(t *testing.T) (n uint64) {
	t.Helper()
	in(t, f.ns, func() error {
		return withConn(func(c *qdisc.Conn) error {
			s, err := c.Get(f.link, qdisc.Handle(shape.Handle))
			n = s.Bytes
			return err
		})
	})
	return n
}

func (f *flow) await(t *testing.T, bytes uint64) {
	t.Helper()
	const patience = 3 * time.Minute // the slowest takes 50 s on an idle machine
	for start, end := f.wire(t), time.Now().Add(patience); f.wire(t)-start < bytes; time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%d bytes in %s", f.wire(t)-start, patience)
		}
	}
}

// measure returns bytes a second on the wire and read, over so many bytes.
func (f *flow) measure(t *testing.T, bytes uint64) (wire, data float64) {
	t.Helper()
	start := time.Now() // before the first count: a pause between makes it slower, never faster
	w0, d0 := f.wire(t), f.read.Load()
	f.await(t, bytes)
	w1, d1, took := f.wire(t), f.read.Load(), time.Since(start).Seconds()
	return float64(w1-w0) / took, float64(d1-d0) / took
}
