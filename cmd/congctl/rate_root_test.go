package main

import (
	"errors"
	"net/netip"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/congctl/congctl/internal/linux/netns"
	"github.com/congctl/congctl/internal/loop/control"
)

// BenchmarkAgentRecords reports the CPU of an agent's process for each record, all its work included: polls, close records,
// the join, the spool, TLS to a controller, at 10,000 short connections a second or as many as this machine makes.
// CONGCTL_TEST_BINARY measures what is shipped; with -short it takes 2 s in place of 12.
func BenchmarkAgentRecords(b *testing.B) {
	const perS = 10_000
	length := 12 * time.Second
	if testing.Short() {
		length = 2 * time.Second
	}
	cfg := quickSettings()
	cfg.Window, cfg.Poll, cfg.Expiry = "6s", "2s", "18s"
	cfg.Store = "addresses: prefix" // as shipped: a records file is for debugging
	e := newFleetOf(b, cfg, "").agent("edge-1", cfg)
	e.start()
	l, err := crowdListen(netns.EdgeAddr4)
	check(b, err)
	for b.Loop() {
		first, before, began := recordsOf(e), e.cpu(), time.Now()
		n := 0
		for time.Since(began) < length {
			for due := int(perS * time.Since(began).Seconds()); n < due; n++ { // a slow machine makes fewer
				check(b, l.brief(client(n%networks, 1+n%perNetwork)))
			}
			time.Sleep(5 * time.Millisecond)
		}
		took := time.Since(began).Seconds()
		time.Sleep(9 * time.Second) // a window's end, and what is sent: a status that is asked for would cost more
		cpu := e.cpu() - before
		e.awaitStatus("all records", func(s control.Status) bool { return emitted(s)-first >= 0.99*float64(n) })
		records := recordsOf(e) - first
		b.ReportMetric(records/took, "records/s")
		b.ReportMetric(1e6*cpu/records, "cpu-us/record")
		b.ReportMetric(cpu/records*10_000*100, "%-of-a-core-at-10000/s")
	}
	e.stop()
}

// brief is one connection of 500 bytes, over at once: pair takes longer than it.
func (l *crowdListener) brief(from netip.Addr) error {
	fd, err := unix.Socket(l.family, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	err = errors.Join(unix.Bind(fd, sockaddr(from)), unix.Connect(fd, l.at))
	end, _, err2 := unix.Accept4(l.fd, unix.SOCK_CLOEXEC)
	if err := errors.Join(err, err2); err != nil {
		return err
	}
	_, err = unix.Write(end, body[:500])
	_, err2 = unix.Read(fd, make([]byte, 500))
	// A reset leaves no TIME_WAIT.
	return errors.Join(err, err2, unix.SetsockoptLinger(fd, unix.SOL_SOCKET, unix.SO_LINGER, &unix.Linger{Onoff: 1}), unix.Close(fd), unix.Close(end))
}

func emitted(s control.Status) (n float64) {
	for _, k := range s.Agent.Ledger.Emitted {
		n += float64(k)
	}
	return n
}

func recordsOf(e *edge) float64 {
	s, err := e.status()
	check(e.t, err)
	return emitted(s)
}
