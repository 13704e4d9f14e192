package main

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"time"

	"github.com/congctl/congctl/internal/linux/netns"
	"github.com/congctl/congctl/internal/linux/qdisc"
)

// transfer sends n bytes between two namespaces over a link that delays and loses packets,
// and reports when each 64 KB arrived, in ns. Any difference between two runs shows here:
// losses, timers, scheduling, the cost of a single packet.
func transfer(j job, _ func(string)) ([]byte, error) {
	listener, dial, err := twoNamespaces(qdisc.Netem{DelayNs: 2_000_000, LossPPM: 5000, LimitPackets: 10_000})
	if err != nil {
		return nil, err
	}
	return measure(listener, dial, j.N)
}

var address = netip.MustParseAddrPort("192.0.2.2:4000")

// twoNamespaces joins two by a link; path is the qdisc on the end that dials.
func twoNamespaces(path qdisc.Spec) (listener net.Listener, dial func() (net.Conn, error), err error) {
	from, err := netns.Anonymous()
	if err != nil {
		return nil, nil, err
	}
	to, err := netns.Anonymous()
	if err != nil {
		return nil, nil, err
	}
	if err := netns.Veth(from, "a", to, "b"); err != nil {
		return nil, nil, err
	}
	for _, end := range []struct {
		ns   *netns.NS
		link string
		ip   string
	}{{from, "a", "192.0.2.1/24"}, {to, "b", "192.0.2.2/24"}} {
		if err := end.ns.AddAddr(end.link, netip.MustParsePrefix(end.ip)); err != nil {
			return nil, nil, err
		}
		if err := end.ns.Up(end.link); err != nil {
			return nil, nil, err
		}
	}
	if err := from.Do(func() error { return place(path, "a") }); err != nil {
		return nil, nil, err
	}
	if err := to.Do(func() (err error) { listener, err = net.Listen("tcp4", address.String()); return err }); err != nil {
		return nil, nil, err
	}
	dial = func() (conn net.Conn, err error) {
		err = from.Do(func() (err error) { conn, err = net.Dial("tcp4", address.String()); return err })
		return conn, err
	}
	return listener, dial, nil
}

// place puts a qdisc on a link of the calling thread's namespace.
func place(s qdisc.Spec, link string) error {
	l, err := net.InterfaceByName(link)
	if err != nil {
		return err
	}
	tc, err := qdisc.Open()
	if err != nil {
		return err
	}
	defer tc.Close()
	return tc.Replace(qdisc.At{Link: l.Index, Parent: qdisc.Root, Handle: qdisc.Handle(1)}, s)
}

func measure(listener net.Listener, dial func() (net.Conn, error), n int) ([]byte, error) {
	started := time.Now()
	conn, err := dial()
	if err != nil {
		return nil, err
	}
	sent := make(chan error, 1)
	go func() {
		_, err := conn.Write(make([]byte, n))
		sent <- err
		conn.Close()
	}()
	in, err := listener.Accept()
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	chunk := make([]byte, 64<<10)
	for {
		got, err := io.ReadFull(in, chunk)
		fmt.Fprintf(&out, "%d %d %s\n", got, time.Since(started).Nanoseconds(), in.RemoteAddr())
		if err == io.EOF || err == io.ErrUnexpectedEOF {
			break
		}
		if err != nil {
			return nil, err
		}
	}
	dev, err := os.ReadFile("/proc/net/netstat")
	out.Write(dev)
	return out.Bytes(), joinErr(err, <-sent)
}

func joinErr(a, b error) error {
	if a != nil {
		return a
	}
	return b
}
