package cubiclt

import (
	"errors"
	"net"
	"net/netip"
	"testing"
	"time"

	"github.com/cilium/ebpf"
	"golang.org/x/sys/unix"

	"github.com/congctl/congctl/internal/costtest"
	"github.com/congctl/congctl/internal/linux/ethtool"
	"github.com/congctl/congctl/internal/linux/netns"
)

// BenchmarkAck is what acknowledgements cost under CUBIC, BBR and cubic_lt: the processor time of a transfer over a link that
// joins no packets, so that every second one is acknowledged by itself. Sender, receiver and both ways of the network are in it,
// the same for all three. Of cubic_lt the kernel also tells what its programs take alone, CUBIC's own functions included.
func BenchmarkAck(b *testing.B) {
	needKernel(b)
	const name = "lt_bench"
	r, err := registerAs(name)
	if err != nil {
		b.Fatal(err)
	}
	defer r.close()
	stats, err := ebpf.EnableStats(unix.BPF_STATS_RUN_TIME)
	if err != nil {
		b.Fatal(err)
	}
	defer stats.Close()
	dial := overVeth(b)
	took, acks := map[string]time.Duration{}, map[string]uint32{}
	for b.Loop() {
		for _, cong := range []string{"cubic", "bbr", name} {
			c := dial()
			if err := c.set(cong); err != nil {
				b.Skipf("needs a kernel with %s; minimum kernel 4.9 (%v)", cong, err)
			}
			began := costtest.CPU()
			c.carry(b, 128<<20)
			took[cong] += costtest.CPU() - began
			if err := c.control(func(fd int) error {
				info, err := unix.GetsockoptTCPInfo(fd, unix.IPPROTO_TCP, unix.TCP_INFO)
				if err == nil {
					acks[cong] += info.Segs_in
				}
				return err
			}); err != nil {
				b.Fatal(err)
			}
		}
	}
	cubic := float64(took["cubic"]) / float64(acks["cubic"])
	for cong, d := range took {
		b.ReportMetric(float64(d)/float64(acks[cong]), "ns/ack-"+cong)
		b.ReportMetric(float64(d)/float64(acks[cong])/cubic, "of-cubic-"+cong)
	}
	var alone time.Duration
	for _, p := range r.objs.Programs {
		s, err := p.Stats()
		if err != nil {
			b.Fatal(err)
		}
		alone += s.Runtime
	}
	b.ReportMetric(float64(alone)/float64(acks[name]), "ns/ack-programs")
}

// overVeth returns a function that connects two namespaces, over a link that joins no packets on either side.
func overVeth(b *testing.B) func() conn {
	b.Helper()
	near, err := netns.Anonymous()
	far, err2 := netns.Anonymous()
	if err := errors.Join(err, err2); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { near.Close(); far.Close() })
	prepare := func(ns *netns.NS, link, address string) error {
		err := errors.Join(ns.AddAddr(link, netip.MustParsePrefix(address)), ns.Up(link))
		for _, o := range []ethtool.Offload{ethtool.TSO, ethtool.GSO, ethtool.GRO} {
			err = errors.Join(err, ns.Do(func() error { return o.Set(link, false) }))
		}
		return err
	}
	if err := errors.Join(netns.Veth(near, "a", far, "b"), prepare(near, "a", "10.9.0.1/24"), prepare(far, "b", "10.9.0.2/24")); err != nil {
		b.Fatal(err)
	}
	l, err := far.Listen(b.Context(), &net.ListenConfig{}, netip.MustParseAddrPort("10.9.0.2:0"))
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { l.Close() })
	to := l.Addr().(*net.TCPAddr).AddrPort()
	return func() conn {
		c, err := near.Dial(b.Context(), netip.Addr{}, to)
		if err != nil {
			b.Fatal(err)
		}
		s, err := l.Accept()
		if err != nil {
			b.Fatal(err)
		}
		b.Cleanup(func() { c.Close(); s.Close() })
		return conn{c.(*net.TCPConn), s.(*net.TCPConn)}
	}
}
