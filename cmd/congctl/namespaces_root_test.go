package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/congctl/congctl/internal/linux/netns"
	"github.com/congctl/congctl/internal/loop/control"
	"github.com/congctl/congctl/internal/tcp/record"
)

// TestUnpolledNamespaceIsLeftAlone serves a planned client from a namespace that
// is not polled: no connection there is followed or treated, and all are counted.
func TestUnpolledNamespaceIsLeftAlone(t *testing.T) {
	e := newEdge(t, quickSettings())
	from := client(e.networksIn(record.ArmTreatment, 1)[0], 1)
	e.keepPlan(e.planFor(prefixOf(t, from)))
	e.start()
	island, err := netns.Anonymous()
	check(t, err)
	t.Cleanup(func() { island.Close() })
	check(t, island.Do(layLoopback))
	far, own := newServerInside(t, island.Do), newServer(t)
	if ran := far.transfers(from, 20); ran["cubic"] != 20 {
		t.Errorf("in an unpolled namespace: %v", ran)
	}
	if ran := own.transfers(from, 5); ran["bbr"] != 5 {
		t.Errorf("in the polled one: %v", ran)
	}
	s := e.awaitStatus("connections counted", func(s control.Status) bool { return s.Agent.Unpolled == 20 })
	// The server's end closes after the client's: what is not closed at the last poll has no record.
	e.awaitStatus("two more polls", func(now control.Status) bool { return now.Agent.Polls >= s.Agent.Polls+2 })
	if len(s.Agent.Namespaces) != 1 || len(s.Agent.Alarms) != 0 {
		t.Errorf("namespaces %q, alarms %q", s.Agent.Namespaces, s.Agent.Alarms)
	}
	e.stop()
	accepted := map[record.Cookie]bool{}
	for _, c := range e.records() {
		if c.Passive {
			accepted[c.Cookie] = true
		}
	}
	if len(accepted) != 5 {
		t.Errorf("records of %d accepted connections, 5 were in a polled namespace", len(accepted))
	}
}

// TestVanishedNamespaceCostsOnlyItself polls all namespaces, ends one with all its
// processes while it serves, and looks at what became of the others' records.
func TestVanishedNamespaceCostsOnlyItself(t *testing.T) {
	notShort(t, "some windows with many namespaces")
	cfg := quickSettings()
	cfg.Netns = "all"
	e := newEdge(t, cfg)
	from := client(e.networksIn(record.ArmTreatment, 1)[0], 1)
	e.keepPlan(e.planFor(prefixOf(t, from)))
	e.start()
	s := newServer(t)
	e.pause()
	sunk := startIsland(t)
	sunk.settle() // before anybody polls it
	e.signal(syscall.SIGCONT)
	kept := s.dial(from)
	check(t, kept.get(large))
	keptCookie := kept.cookie()
	name := fmt.Sprintf("pid %d (", sunk.cmd.Process.Pid)
	has := func(s control.Status) bool { return strings.Contains(strings.Join(s.Agent.Namespaces, "\n"), name) }
	e.awaitStatus("island polled", has)
	sunk.settle()
	check(t, sunk.cmd.Process.Kill())
	_ = sunk.cmd.Wait()
	e.awaitStatus("island gone", func(s control.Status) bool { return !has(s) })
	gone := time.Now().Unix()
	e.awaitStatus("two more windows", func(s control.Status) bool {
		check(t, kept.get(10_000))
		return s.RoundUnixS >= gone+2*windowSeconds
	})
	if got := s.transfer(from, large); got != "bbr" {
		t.Errorf("after another namespace vanished a transfer ran %s", got)
	}
	kept.Close()
	e.stop()
	if strings.Contains(e.log.String(), " ERROR ") {
		t.Errorf("errors:\n%s", e.log.String())
	}
	e.judgeIsland(sunk.cookies, keptCookie)
}

func (e *edge) judgeIsland(island map[record.Cookie]bool, kept record.Cookie) {
	e.t.Helper()
	ends := map[record.End]int{}
	var windows []int64
	for _, c := range e.records() {
		if island[c.Cookie] && c.Passive && c.End != record.EndWindow {
			ends[c.End]++
		}
		if c.Cookie == kept {
			windows = append(windows, c.Window)
		}
	}
	// Those of before the first poll there have no close record.
	if ends[record.EndClose] != islanders || ends[record.EndVanished] != islanders {
		e.t.Errorf("ends of the %d connections of the island: %v", len(island), ends)
	}
	for i := 1; i < len(windows); i++ {
		if windows[i] != windows[i-1]+windowSeconds {
			e.t.Errorf("windows of a connection elsewhere: %v", windows)
		}
	}
	e.t.Logf("island's connections ended %v; %d windows of the one elsewhere", ends, len(windows))
}

// island is a process with a network namespace of its own, in which it serves
// itself; the namespace ends with it.
type island struct {
	t       testing.TB
	cmd     *exec.Cmd
	ask     io.Writer
	answer  io.Reader
	cookies map[record.Cookie]bool // of the accepted connections
}

const islanders = 20 // connections that one call of settle makes

func startIsland(t testing.TB) *island {
	t.Helper()
	i := &island{t: t, cmd: exec.Command("/proc/self/exe"), cookies: map[record.Cookie]bool{}}
	i.cmd.Env = append(os.Environ(), asEnv+"=island")
	i.cmd.Stderr = os.Stderr
	i.cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET, Pdeathsig: syscall.SIGKILL}
	in, err := i.cmd.StdinPipe()
	check(t, err)
	t.Cleanup(func() { in.Close() })
	out, err := i.cmd.StdoutPipe()
	check(t, err)
	check(t, i.cmd.Start())
	i.ask, i.answer = in, bufio.NewReader(out)
	return i
}

// settle makes connections on the island and learns the cookies of their accepted ends.
func (i *island) settle() {
	i.t.Helper()
	_, err := fmt.Fprintln(i.ask, "settle")
	check(i.t, err)
	for range islanders {
		var cookie record.Cookie
		if _, err := fmt.Fscanln(i.answer, &cookie); err != nil {
			i.t.Fatalf("island: %v", err)
		}
		i.cookies[cookie] = true
	}
}

func liveOnIsland() error {
	if err := layLoopback(); err != nil {
		return err
	}
	l, err := net.Listen("tcp", netns.EdgeAddr4.String()+":0")
	if err != nil {
		return err
	}
	for orders := bufio.NewScanner(os.Stdin); orders.Scan(); {
		if err := settle(l); err != nil {
			return err
		}
	}
	return nil
}

// settle leaves its connections open until the process ends.
func settle(l net.Listener) error {
	for n := range islanders {
		d := net.Dialer{LocalAddr: &net.TCPAddr{IP: client(n, 1).AsSlice()}}
		c, err1 := d.Dial("tcp", l.Addr().String())
		a, err2 := l.Accept()
		if err := errors.Join(err1, err2); err != nil {
			return err
		}
		settled = append(settled, c, a)
		if _, err := a.Write(body[:1000]); err != nil {
			return err
		}
		fmt.Println(uint64(cookieOf(a.(*net.TCPConn))))
	}
	return nil
}

var settled []net.Conn // or the collector closes them
