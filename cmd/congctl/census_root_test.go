package main

import (
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/congctl/congctl/internal/loop/control"
	"github.com/congctl/congctl/internal/tcp/record"
)

// TestEveryConnectionOnce holds the records of 20,000 connections against the
// server's own accept log: none lost, none doubled, one record for each window
// that a connection lived in, and their bytes add up to the socket's.
func TestEveryConnectionOnce(t *testing.T) {
	notShort(t, "20,000 connections, some over four windows")
	e := newEdge(t, quickSettings())
	e.start()
	stalls := watchStalls(t)
	log := startAcceptLog(t, e)
	log.visit(20_000)
	lines := log.end()
	// The last close records are in the ring for a tenth of a second.
	last := e.awaitStatus("all close records", func(s control.Status) bool { return s.Agent.Ledger.Emitted[record.EndClose] >= uint64(len(lines)) })
	e.stop()

	if len(lines) != 20_000 {
		t.Errorf("the server accepted %d connections", len(lines))
	}
	a := last.Agent
	if a.RingFull != 0 || a.DroppedCloses != 0 || a.MalformedCloses != 0 || a.MalformedMessages != 0 || a.Ledger.VanishedMarked != 0 {
		t.Errorf("losses: %+v", a)
	}
	for _, ns := range a.Ledger.Netns {
		if ns.NewUnmarked != 0 {
			t.Errorf("coverage: %d passive connections were not seen by eBPF", ns.NewUnmarked)
		}
	}
	// The status compares two counters that are read a moment apart, and a machine that
	// stands still in that moment spoils the figure of one poll. The alarm needs two.
	if strings.Contains(e.log.String(), "alarm-") {
		t.Errorf("alarms, lowest coverage %.5f:\n%s", log.worst, e.log.String())
	}
	t.Logf("coverage never below %.2f %%, longest stall %s; dumps %d, interrupted %d, duplicate sights %d, tombstones %d, spanned %d, late %d, closes joined %d alone %d",
		100*log.worst, stalls.longest(), a.Polls, a.InterruptedDumps, a.Ledger.DuplicateSights, a.Ledger.Tombstones, a.Ledger.Spanned, a.Ledger.Late,
		a.Ledger.ClosesJoined, a.Ledger.ClosesAlone)
	compareWithLog(t, lines, e.records(), time.Second+stalls.longest())
}

type acceptLogProcess struct {
	t     testing.TB
	e     *edge
	cmd   *exec.Cmd
	stdin io.Closer
	path  string
	at    map[bool]netip.AddrPort // by IPv4 or not
	worst float64                 // coverage, by the status
}

func startAcceptLog(t testing.TB, e *edge) *acceptLogProcess {
	t.Helper()
	l := &acceptLogProcess{t: t, e: e, path: filepath.Join(e.dir, "accepted"), at: map[bool]netip.AddrPort{}, worst: 1}
	l.cmd = exec.Command("/proc/self/exe")
	l.cmd.Env = append(os.Environ(), asEnv+"=acceptlog", logFileEnv+"="+l.path)
	l.cmd.Stderr = os.Stderr
	in, err := l.cmd.StdinPipe()
	check(t, err)
	l.stdin = in
	out, err := l.cmd.StdoutPipe()
	check(t, err)
	check(t, l.cmd.Start())
	t.Cleanup(func() { in.Close() })
	for range 2 {
		var text string
		_, err := fmt.Fscanln(out, &text)
		check(t, err)
		a, err := netip.ParseAddrPort(text)
		check(t, err)
		l.at[a.Addr().Is4()] = a
	}
	return l
}

// visit makes n connections, 250 each tenth of a second, so that windows end in
// the middle of it.
func (l *acceptLogProcess) visit(n int) {
	var wait sync.WaitGroup
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	const burst = 250
	for first := 0; first < n; first += burst {
		<-tick.C
		for i := first; i < min(n, first+burst); i++ {
			wait.Go(func() { l.one(i) })
		}
		if s, err := l.e.status(); err == nil && s.Agent.CoverageOf > 0 {
			l.worst = min(l.worst, s.Agent.Coverage)
		}
	}
	wait.Wait()
}

// mannerOf spreads the manners: one in 50 is long, most are short.
func mannerOf(i int) (how manner, size int) {
	size = 1000 + i%2000
	switch {
	case i%50 == 0:
		return slow, 200_000
	case i%20 == 1:
		return clientReset, size
	case i%40 == 3:
		return serverReset, size
	case i%100 == 7:
		return clientAborts, 300_000
	}
	return []manner{clientFirst, serverFirst, plainClose}[i%3], size
}

func (l *acceptLogProcess) one(i int) {
	how, size := mannerOf(i)
	from := client(i%97, 1+i%200)
	if i%5 == 0 {
		from = client(networks+i%97, 1+i%200)
	}
	d := net.Dialer{LocalAddr: &net.TCPAddr{IP: from.AsSlice()}, Timeout: patience}
	c, err := d.Dial("tcp", l.at[from.Is4()].String())
	if err != nil {
		l.t.Errorf("connection %d: %v", i, err)
		return
	}
	defer c.Close()
	req := make([]byte, requestBytes)
	req[0] = byte(how)
	binary.BigEndian.PutUint32(req[1:], uint32(size))
	if _, err := c.Write(req); err != nil {
		l.t.Errorf("connection %d: %v", i, err)
		return
	}
	if how == clientAborts {
		size /= 10
	}
	if _, err := io.CopyN(io.Discard, c, int64(size)); err != nil {
		l.t.Errorf("connection %d, manner %d: %v", i, how, err)
		return
	}
	switch how {
	case clientReset, clientAborts:
		_ = c.(*net.TCPConn).SetLinger(0)
	case serverFirst, serverReset, plainClose:
		_, _ = io.Copy(io.Discard, c) // until it ends or is reset
	}
}

func (l *acceptLogProcess) end() (lines []accepted) {
	l.t.Helper()
	l.stdin.Close()
	check(l.t, l.cmd.Wait())
	f, err := os.Open(l.path)
	check(l.t, err)
	defer f.Close()
	for {
		var a accepted
		if _, err := fmt.Fscanf(f, acceptedLine, a.fields()...); err == io.EOF || err == io.ErrUnexpectedEOF {
			return lines
		} else if err != nil {
			l.t.Fatalf("accept log, line %d: %v", len(lines)+1, err)
		}
		lines = append(lines, a)
	}
}

func compareWithLog(t *testing.T, lines []accepted, all []record.Conn, late time.Duration) {
	t.Helper()
	byCookie := map[record.Cookie][]record.Conn{}
	for _, c := range all {
		if c.Passive {
			byCookie[c.Cookie] = append(byCookie[c.Cookie], c)
		}
	}
	var lost, wrong, records, several int
	perManner := make([]int, manners)
	for i := range lines {
		got := byCookie[lines[i].Cookie]
		delete(byCookie, lines[i].Cookie)
		perManner[lines[i].How]++
		records += len(got)
		if len(got) == 0 {
			lost++
			continue
		}
		if len(got) > 1 {
			several++
		}
		if err := lines[i].compare(got, late); err != nil {
			if wrong++; wrong <= 10 {
				t.Errorf("%+v: %v", lines[i], err)
			}
		}
	}
	if lost > 0 || wrong > 0 || len(byCookie) > 0 {
		t.Errorf("%d lost, %d wrong, %d that nobody accepted", lost, wrong, len(byCookie))
	}
	t.Logf("%d connections, %d records, %d connections in several windows; by manner %v", len(lines), records, several, perManner)
}

// compare holds the records of one connection against its line.
func (a *accepted) compare(got []record.Conn, late time.Duration) error {
	slices.SortFunc(got, func(x, y record.Conn) int { return int(x.Window - y.Window) })
	var sum accepted
	for i, c := range got {
		switch {
		case i > 0 && c.Window == got[i-1].Window:
			return fmt.Errorf("two records of window %d", c.Window)
		case i > 0 && c.Window > got[i-1].Window+windowSeconds+wholeWindows(late):
			return fmt.Errorf("no record between windows %d and %d", got[i-1].Window, c.Window)
		case (c.End == record.EndClose) != (i == len(got)-1):
			return fmt.Errorf("record %d of %d ends with %s", i+1, len(got), c.End)
		case c.PreStart || !c.ClientFacing || c.Cong != "cubic":
			return fmt.Errorf("record %+v", c)
		}
		sum.Acked += c.WinBytesAcked
		sum.Sent += c.WinBytesSent
		sum.Retrans += c.WinBytesRetrans
		sum.Received += c.WinBytesReceived
	}
	if err := near(got[0].Window, a.AcceptNs, late); err != nil {
		return fmt.Errorf("first window: %w", err)
	}
	if err := near(got[len(got)-1].Window, a.CloseNs, late); err != nil {
		return fmt.Errorf("last window: %w", err)
	}
	fin := uint64(0)
	if a.Loose {
		fin = 1 // each side's FIN counts as a byte, when it comes
	}
	if sum.Sent != a.Sent || sum.Retrans != a.Retrans || sum.Acked-a.Acked > fin || sum.Received-a.Received > fin {
		return fmt.Errorf("deltas add up to %d acked, %d sent, %d retransmitted, %d received", sum.Acked, sum.Sent, sum.Retrans, sum.Received)
	}
	return nil
}

const windowSeconds = 3

// wholeWindows is how much of a stall the agent may have slept through: it polls in
// none of these windows, and what moved in them is in the next one's record.
func wholeWindows(late time.Duration) int64 {
	return int64(late/time.Second) / windowSeconds * windowSeconds
}

// near allows the neighbouring window where the server looked so shortly before or
// after the boundary: it accepts and sees the end later than the kernel does, and
// later by as long as the machine stood still.
func near(window, atNs int64, late time.Duration) error {
	const second = int64(time.Second)
	from, to := window*second, (window+windowSeconds)*second
	if atNs < from-int64(late) || atNs >= to+int64(late) {
		return fmt.Errorf("%d, and the server saw it at %d.%03d", window, atNs/second, atNs%second/1e6)
	}
	return nil
}
