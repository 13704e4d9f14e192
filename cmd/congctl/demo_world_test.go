package main

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"net/netip"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/congctl/congctl/internal/linux/netns"
	"github.com/congctl/congctl/internal/linux/netns/wan"
)

// What the demonstration's clients see. A lossy radio network loses packets for itself, which is
// what CUBIC takes for a full queue.
const (
	demoNetworks = 24  // of each PoP: 20 are needed to rank
	demoLossy    = 4   // of them
	demoLoss     = .05 // of their packets
	demoRate     = 2_500_000.
	demoDelay    = 20 * time.Millisecond // each way
	demoSize     = 400_000
	demoHub      = "10.77.255.1" // where controllers and Kafka listen
)

// demoWorld is edge hosts and client networks in namespaces, with a path to each client network.
type demoWorld struct {
	t       testing.TB
	clients *netns.NS
	hosts   []*demoHost
	nets    []*demoNet
}

// demoHost is an edge of a PoP, with a cache that serves.
type demoHost struct {
	pop, name string
	ns        *netns.NS
	cg        *testCgroup
	cache     netip.AddrPort
	agent     *edge
}

// demoNet is a client network with what its downloads were like.
type demoNet struct {
	pop  string
	addr netip.Addr
	path wan.Path
	line *wan.Line

	mu   sync.Mutex // guards got
	got  []download
	lost int // that did not end
}

type download struct {
	began time.Time
	mbit  float64 // Mbit/s
	cong  string  // by the server's kernel
}

func newDemoWorld(t testing.TB, pops map[string]int) *demoWorld {
	t.Helper()
	w := &demoWorld{t: t}
	var err error
	w.clients, err = netns.Anonymous()
	check(t, err)
	t.Cleanup(func() { w.clients.Close() })
	home := w.link(w.clients, "home")
	check(t, w.clients.AddRoute("home", netns.Route{To: netip.MustParsePrefix("10.77.0.0/16")}))
	hub, err := netns.Current()
	check(t, err)
	t.Cleanup(func() { hub.Close() })
	check(t, hub.Up("lo"))
	check(t, hub.AddAddr("lo", netip.MustParsePrefix(demoHub+"/32")))
	up := map[netip.Addr]*wan.Line{}
	down := map[netip.Addr]*wan.Line{}
	for i, pop := range demoPops {
		for k := range pops[pop] {
			h, wire := w.host(hub, pop, len(w.hosts)+1, k+1)
			up[h.cache.Addr()] = wan.NewLine(wan.Path{Delay: demoDelay}, wire, 1)
			go wan.Each(wire, func(packet []byte) { forward(packet, down) })
		}
		for k := range demoNetworks {
			n := &demoNet{pop: pop, addr: netip.AddrFrom4([4]byte{198, byte(18 + i), byte(k), 7}),
				path: wan.Path{BytesPerS: demoRate, BufferBytes: demoRate / 10, Delay: demoDelay}}
			if k%6 == 3 {
				n.path.Loss = demoLoss
			}
			check(t, w.clients.AddAddr("home", netip.PrefixFrom(n.addr, 32)))
			down[n.addr] = wan.NewLine(n.path, home, uint64(len(w.nets)))
			w.nets = append(w.nets, n)
		}
	}
	go wan.Each(home, func(packet []byte) { forward(packet, up) })
	return w
}

// forward sends an IPv4 packet on the line of its destination.
func forward(packet []byte, lines map[netip.Addr]*wan.Line) {
	if len(packet) < 20 || packet[0]>>4 != 4 {
		return
	}
	to, _ := netip.AddrFromSlice(packet[16:20])
	if l := lines[to]; l != nil {
		l.Send(packet)
	}
}

func (w *demoWorld) link(ns *netns.NS, name string) *os.File {
	w.t.Helper()
	end, err := wan.Link(ns, name)
	check(w.t, err)
	w.t.Cleanup(func() { end.Close() })
	check(w.t, ns.Up(name))
	return end
}

// host makes the n-th edge: a namespace, a cgroup, a cache that serves, a link to the clients, and
// one to the hub.
func (w *demoWorld) host(hub *netns.NS, pop string, n, k int) (h *demoHost, wire *os.File) {
	t := w.t
	t.Helper()
	addr := netip.AddrFrom4([4]byte{10, 77, byte(n), 1})
	h = &demoHost{pop: pop, name: fmt.Sprintf("%s-%d", pop, k), cache: netip.AddrPortFrom(addr, 8080)}
	var err error
	h.ns, err = netns.Anonymous()
	check(t, err)
	t.Cleanup(func() { h.ns.Close() })
	wire = w.link(h.ns, "wan")
	inner, outer := "hub", fmt.Sprintf("edge%d", n)
	check(t, netns.Veth(hub, outer, h.ns, inner))
	for _, err := range []error{
		h.ns.Up("lo"), h.ns.Up(inner), hub.Up(outer),
		h.ns.AddAddr("wan", netip.PrefixFrom(addr, 32)),
		h.ns.AddRoute("wan", netns.Route{To: netip.MustParsePrefix("198.18.0.0/15")}),
		h.ns.AddRoute(inner, netns.Route{To: netip.MustParsePrefix(demoHub + "/32")}),
		hub.AddRoute(outer, netns.Route{To: netip.PrefixFrom(addr, 32)}),
	} {
		check(t, err)
	}
	h.cg, err = newCgroup(fmt.Sprintf("congctl-demo-%d-%d", os.Getpid(), n))
	check(t, err)
	t.Cleanup(func() { _ = h.cg.Close() })
	h.serve(t)
	w.hosts = append(w.hosts, h)
	return h, wire
}

// serve starts the cache in its namespace and cgroup.
func (h *demoHost) serve(t testing.TB) {
	t.Helper()
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = append(os.Environ(), asEnv+"=cache", cacheAddrEnv+"="+h.cache.String())
	cmd.Stderr = os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, UseCgroupFD: true, CgroupFD: h.cg.Fd()}
	check(t, h.ns.Start(cmd))
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
}

// download lets each client network download every so often, from the hosts of its PoP in turn,
// until ctx ends.
func (w *demoWorld) download(ctx context.Context, every time.Duration) (done *sync.WaitGroup) {
	done = &sync.WaitGroup{}
	for i, n := range w.nets {
		hosts := slices.DeleteFunc(slices.Clone(w.hosts), func(h *demoHost) bool { return h.pop != n.pop })
		done.Go(func() {
			slots := make(chan struct{}, 4) // at a time
			wait := time.Duration(i) * every / time.Duration(len(w.nets))
			for turn := 0; ; turn++ {
				select {
				case <-ctx.Done():
					return
				case <-time.After(wait):
				}
				wait = every
				slots <- struct{}{}
				done.Go(func() {
					defer func() { <-slots }()
					n.add(w.fetch(ctx, n.addr, hosts[turn%len(hosts)].cache))
				})
			}
		})
	}
	return done
}

func (n *demoNet) add(d download, err error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if err != nil {
		n.lost++
	} else {
		n.got = append(n.got, d)
	}
}

// fetch makes one download over a connection of its own.
func (w *demoWorld) fetch(ctx context.Context, from netip.Addr, to netip.AddrPort) (d download, err error) {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	d.began = time.Now()
	c, err := w.clients.Dial(ctx, from, to)
	if err != nil {
		return d, err
	}
	defer c.Close()
	_ = c.SetDeadline(d.began.Add(30 * time.Second))
	var ask [4]byte
	binary.BigEndian.PutUint32(ask[:], demoSize)
	began := time.Now()
	if _, err := c.Write(ask[:]); err != nil {
		return d, err
	}
	if _, err := io.CopyN(io.Discard, c, demoSize); err != nil {
		return d, err
	}
	d.mbit = demoSize * 8 / 1e6 / time.Since(began).Seconds()
	name := make([]byte, 16)
	if _, err := io.ReadFull(c, name); err != nil {
		return d, err
	}
	d.cong = strings.TrimRight(string(name), "\x00")
	return d, nil
}

// rates returns the downloads of a time that ran a congestion control, or "" for all, slowest first.
func (n *demoNet) rates(cong string, from, to time.Time) (mbit []float64) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, d := range n.got {
		if (cong == "" || d.cong == cong) && !d.began.Before(from) && d.began.Before(to) {
			mbit = append(mbit, d.mbit)
		}
	}
	slices.Sort(mbit)
	return mbit
}

// quantile of sorted values; 0 of none.
func quantile(sorted []float64, q float64) float64 {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[min(int(q*float64(len(sorted))), len(sorted)-1)]
}
