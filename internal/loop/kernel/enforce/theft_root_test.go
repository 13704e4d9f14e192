package enforce

import (
	"io"
	"net"
	"os"
	"testing"
	"time"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"github.com/cilium/ebpf/features"
	"github.com/cilium/ebpf/link"
	"github.com/congctl/congctl/internal/tcp/abi"
)

// thief is a sock_ops program as others write them: at PASSIVE_ESTABLISHED it
// sets the callback flags it wants and so drops those of all others.
func thief(t testing.TB) (detach func()) {
	t.Helper()
	prog, err := ebpf.NewProgram(&ebpf.ProgramSpec{
		Name: "some_exporter", Type: ebpf.SockOps, License: "GPL",
		Instructions: asm.Instructions{
			asm.LoadMem(asm.R2, asm.R1, 0, asm.Word),
			asm.JNE.Imm(asm.R2, 5, "out"),
			asm.Mov.Imm(asm.R2, 1<<2),
			asm.FnSockOpsCbFlagsSet.Call(),
			asm.Mov.Imm(asm.R0, 1).WithSymbol("out"),
			asm.Return(),
		},
	})
	check(t, err)
	l, err := link.AttachCgroup(link.CgroupOptions{Path: os.Getenv(cgroupEnv), Attach: ebpf.AttachCGroupSockOps, Program: prog})
	check(t, err)
	return func() {
		l.Close()
		prog.Close()
	}
}

// The probe's small program is accepted where the real iterator is, and only there.
func TestIteratorsAreFoundWhereTheyLoad(t *testing.T) {
	r := newRig(t)
	s, err := loadSweeper(r.objs.Marks)
	if err == nil {
		s.Close()
	}
	if have := haveIterators(); have != (err == nil) || r.CanSweep() != have {
		t.Errorf("iterators found: %v, a sweeper opened: %v, loading one: %v", have, r.CanSweep(), err)
	}
}

func TestStolenCallbacksAreSeenNamedAndGivenBack(t *testing.T) {
	r := newRig(t)
	r.standard()
	defer thief(t)()
	if got := r.fetch4(clientT, large); got.cong != "cubic" {
		t.Fatalf("the thief took nothing: %s", got.cong)
	}
	r.next() // it left STATE_CB armed

	others, err := r.others()
	check(t, err)
	named := false
	for _, o := range others {
		named = named || o.Name == "some_exporter"
	}
	if !named {
		t.Errorf("other sock_ops programs: %+v", others)
	}

	ln := listen(t, "tcp4", net.JoinHostPort(edge4.String(), "0"))
	out := serve(t, ln, []int{large})
	d := net.Dialer{LocalAddr: &net.TCPAddr{IP: clientT.AsSlice()}}
	c, err := d.Dial("tcp4", ln.Addr().String())
	check(t, err)
	// From 6.12 on an iterator may set the flags. Before, the sweep says that it
	// could not, and the connection stays as it was.
	code, err := features.LinuxVersionCode()
	check(t, err)
	want, cong, left := abi.Sweep{Marked: 1, Stripped: 1, Rearmed: 1}, "bbr", uint64(0)
	if code < v6_12 {
		want, cong, left = abi.Sweep{Marked: 1, Stripped: 1, RearmFailed: 1}, "cubic", 1
	}
	for range 100 { // the server's end is there when the last acknowledgement of the handshake is
		if sw, err := r.Sweep(abi.SweepRequest{}); err != nil || sw.Marked > 0 {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	sw, err := r.Sweep(abi.SweepRequest{Rearm: true})
	check(t, err)
	want.Seen = sw.Seen
	if sw != want {
		t.Errorf("sweep %+v, want %+v", sw, want)
	}
	open, err := r.Sweep(abi.SweepRequest{})
	check(t, err)
	if open.Stripped != left {
		t.Errorf("still stripped: %d, want %d", open.Stripped, left)
	}
	ask(t, c, large)
	c.Close()
	if got := <-out; got.cong != cong {
		t.Errorf("connection runs %s, want %s", got.cong, cong)
	}
}

// ask sends one request and reads its answer of n bytes.
func ask(t *testing.T, c net.Conn, n int) {
	t.Helper()
	_, err := c.Write([]byte{1})
	check(t, err)
	read, err := io.CopyN(io.Discard, c, int64(n))
	if err != nil {
		t.Fatalf("read %d of %d bytes: %v", read, n, err)
	}
}
