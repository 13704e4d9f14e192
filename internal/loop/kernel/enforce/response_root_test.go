package enforce

import (
	"io"
	"net"
	"net/netip"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/congctl/congctl/internal/loop/plan"
	"github.com/congctl/congctl/internal/tcp/abi"
	"github.com/congctl/congctl/internal/tcp/record"
)

// talk is one connection with both ends here, kept alive over several responses.
type talk struct {
	r              *rig
	server, client *net.TCPConn
}

func (r *rig) talk(from netip.Addr) *talk {
	r.t.Helper()
	ln := listen(r.t, "tcp4", net.JoinHostPort(edge4.String(), "0"))
	d := net.Dialer{LocalAddr: &net.TCPAddr{IP: from.AsSlice()}, Timeout: patience}
	c, err := d.Dial("tcp4", ln.Addr().String())
	check(r.t, err)
	s, err := ln.Accept()
	check(r.t, err)
	k := &talk{r, s.(*net.TCPConn), c.(*net.TCPConn)}
	r.t.Cleanup(func() { k.server.Close(); k.client.Close() })
	return k
}

// ask lets the client send one byte and the server read it, with all that the client has
// acknowledged until then.
func (k *talk) ask() {
	k.r.t.Helper()
	_, err := k.client.Write([]byte{1})
	check(k.r.t, err)
	_, err = k.server.Read(make([]byte, 1))
	check(k.r.t, err)
}

// send is n bytes to the client, which has received them all when it returns.
func (k *talk) send(n int) {
	k.r.t.Helper()
	got := make(chan error, 1)
	go func() {
		_, err := io.CopyN(io.Discard, k.client, int64(n))
		got <- err
	}()
	_, err := k.server.Write(make([]byte, n))
	check(k.r.t, err)
	check(k.r.t, <-got)
}

func (k *talk) cong() string { return look(k.r.t, k.server).cong }

// with runs f with the server's descriptor.
func (k *talk) with(f func(fd int) error) {
	k.r.t.Helper()
	raw, err := k.server.SyscallConn()
	check(k.r.t, err)
	check(k.r.t, raw.Control(func(fd uintptr) { err = f(int(fd)) }))
	check(k.r.t, err)
}

// state is the connection's mark, and its counters so far.
func (k *talk) state() (m abi.Mark, now *unix.TCPInfo) {
	k.r.t.Helper()
	k.with(func(fd int) (err error) {
		if now, err = unix.GetsockoptTCPInfo(fd, unix.IPPROTO_TCP, unix.TCP_INFO); err != nil {
			return err
		}
		return k.r.objs.Marks.Lookup(uint32(fd), &m)
	})
	return m, now
}

// counted is what counts of the connection: bytes acknowledged and sent.
func (k *talk) counted() (acked, sent uint64) {
	m, now := k.state()
	return m.Counted(m.CountedAcked, now.Bytes_acked), m.Counted(m.CountedSent, now.Bytes_sent)
}

// until waits for something that happens soon, however slow the machine is.
func (k *talk) until(what string, f func() bool) {
	k.r.t.Helper()
	for end := time.Now().Add(patience); !f(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			k.r.t.Fatalf("%s: not within %s", what, patience)
		}
	}
}

// Large responses are treated, and the small ones between them run on the default: each before
// its first byte. Only the large ones count, from their crossing on, and in C the same bytes do.
func TestTreatmentEndsWithItsResponse(t *testing.T) {
	r := newRig(t)
	r.standard()
	for _, c := range []struct {
		from    netip.Addr
		applied record.Applied
		large   string
	}{{clientT, record.AppliedTreatment, "bbr"}, {clientC, record.AppliedControl, "cubic"}, {clientOff, record.AppliedNone, "cubic"}} {
		k := r.talk(c.from)
		var acked, sent uint64
		for i, n := range []int{large, small, large, small, small, large} {
			k.ask()
			k.send(n)
			if want := map[int]string{large: c.large, small: "cubic"}[n]; k.cong() != want {
				t.Errorf("%s, response %d of %d bytes: %s, want %s", c.from, i, n, k.cong(), want)
			}
			k.ask() // what it acknowledges is all; the byte that it asks with belongs to the next response
			a, s := k.counted()
			da, ds := a-acked, s-sent
			if n == small && (da != 0 || ds != 0) {
				t.Errorf("%s, response %d: %d bytes acknowledged and %d sent of a small one count", c.from, i, da, ds)
			}
			if n == large && (da < large-400_000 || da > large-100_000 || ds > da+100_000) {
				t.Errorf("%s, response %d: %d bytes acknowledged and %d sent count", c.from, i, da, ds)
			}
			acked, sent = a, s
		}
		if m, _ := k.state(); m.Crossings != 3 || m.Applied != c.applied {
			t.Errorf("%s: %d crossings, %s", c.from, m.Crossings, m.Applied)
		}
	}
	if s, err := r.Stats(); err != nil || s.Switched != 3 || s.Returned != 2 || s.ReturnFailed > 0 {
		t.Errorf("%+v, %v", s, err)
	}
}

// A response that a warm connection sends in one flight has few callbacks, and none past the
// threshold: it crosses all the same, before its end, and one below the threshold never does.
func TestLastFlightCrosses(t *testing.T) {
	r := newRig(t)
	r.standard()
	k := r.talk(clientC)
	k.ask()
	k.send(large)
	want := uint32(1)
	for _, n := range []int{105_000, 120_000, 95_000, large, 150_000, 105_000, 95_000, large, 250_000} {
		k.ask()
		k.send(n)
		k.ask()
		if n > 100_000 {
			want++
		}
		if m, _ := k.state(); m.Crossings != want {
			t.Fatalf("after a response of %d bytes: %d crossings, want %d", n, m.Crossings, want)
		}
	}
}

// A response that outlives its block: it counts no more from there on. It stays on the treatment
// where the next block is treated too, and leaves it at the first border to a control block.
func TestBorders(t *testing.T) {
	r := newRig(t)
	block := uint64(500 * time.Millisecond)
	set := func(arm record.Arm) {
		p, _ := record.PrefixOf(clientT)
		_, err := r.Set(plan.Program{Plan: 7, MinBytes: 100_000, BlockNs: block, BorderNs: bootNs() + block,
			Entries: []plan.ProgramEntry{{Prefix: p, Policy: policyFor(arm)}}})
		check(t, err)
	}
	set(record.ArmTreatment)
	k := r.talk(clientT)
	k.ask()
	stop, done := make(chan struct{}), make(chan struct{})
	go func() {
		_, _ = io.Copy(io.Discard, k.client)
		close(done)
	}()
	go func() {
		for piece := make([]byte, 100_000); ; {
			select {
			case <-stop:
				_ = k.server.CloseWrite()
				return
			default:
				_, _ = k.server.Write(piece)
			}
		}
	}()
	var m abi.Mark
	k.until("crossing", func() bool { m, _ = k.state(); return m.Crossings > 0 })
	k.until("end of the block", func() bool { m, _ = k.state(); return m.Flags&abi.MarkCounting == 0 })
	if m.Flags&abi.MarkEvicted != 0 || k.cong() != "bbr" {
		t.Errorf("from T to T: %s, flags %b", k.cong(), m.Flags)
	}
	set(record.ArmControl)
	k.until("way back", func() bool { return k.cong() == "cubic" })
	after, _ := k.state()
	if after.Flags&abi.MarkEvicted == 0 || after.Crossings != 1 || after.CountedAcked != m.CountedAcked || after.CountedSent != m.CountedSent {
		t.Errorf("from T to C: %+v, at the first border %+v", after, m)
	}
	close(stop)
	<-done
}

// TestWashout: a response that crosses in a block's wash-out has its arm and its treatment, and counts nowhere; the next one, past
// it, counts, on the same connection too. It is so in every network, with an entry in the plan or without.
func TestWashout(t *testing.T) {
	r := newRig(t)
	p, _ := record.PrefixOf(clientT)
	set := func(into time.Duration) { // a block of an hour, so long ago
		_, err := r.Set(plan.Program{Plan: 7, MinBytes: 100_000, BlockNs: uint64(time.Hour), BorderNs: bootNs() + uint64(time.Hour-into), WashoutMs: 60_000,
			Entries: []plan.ProgramEntry{{Prefix: p, Policy: policyFor(record.ArmTreatment)}}})
		check(t, err)
	}
	for from, assigned := range map[netip.Addr]record.Arm{clientT: record.ArmTreatment, clientC: record.ArmNone} {
		k := r.talk(from)
		for i, into := range []time.Duration{time.Second, 30 * time.Second, 61 * time.Second, 59 * time.Minute} {
			set(into)
			k.ask()
			k.send(large)
			k.ask() // the response is over
			m, now := k.state()
			counted := m.Counted(m.CountedAcked, now.Bytes_acked)
			if m.Crossings != uint32(i+1) || m.Assigned != assigned || (m.RateN > 0) != (i > 1) || (counted > 0) != (i > 1) {
				t.Errorf("%s, %s into a block: %d crossings, arm %s, %d bytes and %d samples count", from, into, m.Crossings, m.Assigned, counted, m.RateN)
			}
		}
	}
}

// A sender that waits in mid-response, with all acknowledged, has not ended it.
func TestSlowSenderStays(t *testing.T) {
	r := newRig(t)
	r.standard()
	k := r.talk(clientT)
	k.ask()
	for i := range 8 {
		k.send(150_000)
		k.until("acknowledgement", func() bool { _, now := k.state(); return now.Unacked == 0 })
		if i > 0 && k.cong() != "bbr" { // the first piece can be acknowledged before it is seen to cross
			t.Errorf("after piece %d: %s", i, k.cong())
		}
	}
	m, now := k.state()
	if a := m.Counted(m.CountedAcked, now.Bytes_acked); a < 1_200_000-400_000 || m.BaseAcked < 100_000 || a != now.Bytes_acked-m.BaseAcked {
		t.Errorf("%d bytes count, of %d since the crossing at %d", a, now.Bytes_acked, m.BaseAcked)
	}
	if s, err := r.Stats(); err != nil || s.Switched != 1 || s.Returned != 0 {
		t.Errorf("%+v, %v", s, err)
	}
}

// A/A goes through all that the treatment does, with the default in its place.
func TestTreatmentWithTheDefault(t *testing.T) {
	r := newRig(t)
	p, _ := record.PrefixOf(clientT)
	for _, c := range []struct {
		arm     record.Arm
		applied record.Applied
		flags   uint32
	}{{record.ArmTreatment, record.AppliedTreatment, abi.MarkSwitched | abi.MarkEvicted}, {record.ArmControl, record.AppliedControl, 0}} {
		v := policyFor(c.arm)
		v.Role = record.ArmAA
		_, err := r.Set(plan.Program{Plan: 7, MinBytes: 100_000, Entries: []plan.ProgramEntry{{Prefix: p, Policy: v}}})
		check(t, err)
		k := r.talk(clientT)
		k.ask()
		k.send(large)
		k.ask()
		k.send(small)
		m, _ := k.state()
		if m.Assigned != record.ArmAA || m.Applied != c.applied || m.Flags&(abi.MarkSwitched|abi.MarkEvicted) != c.flags || k.cong() != "cubic" {
			t.Errorf("%s: %s/%s, flags %b, %s", c.arm, m.Assigned, m.Applied, m.Flags, k.cong())
		}
		if c.flags != 0 && m.Cong.String() != "cubic" {
			t.Errorf("switched to %q", m.Cong)
		}
	}
}

// The way back leaves what the application chose since.
func TestWayBack(t *testing.T) {
	r := newRig(t)
	r.standard()
	k := r.talk(clientT)
	k.ask()
	k.send(large)
	k.with(func(fd int) error { return syscall.SetsockoptString(fd, unix.IPPROTO_TCP, unix.TCP_CONGESTION, "reno") })
	k.ask()
	k.send(small)
	if k.cong() != "reno" {
		t.Errorf("the application chose reno in between: %s", k.cong())
	}
}
