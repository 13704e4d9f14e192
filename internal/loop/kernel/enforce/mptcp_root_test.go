package enforce

import (
	"context"
	"net"
	"os"
	"strings"
	"testing"

	"github.com/congctl/congctl/internal/tcp/abi"
	"github.com/congctl/congctl/internal/tcp/record"
)

// A subflow is measured as a connection of its own remote prefix and never
// treated: which subflow carries how much of a response is MPTCP's business.
func TestMPTCPSubflowIsMeasuredAndNotTreated(t *testing.T) {
	r := newRig(t)
	if b, err := os.ReadFile("/proc/sys/net/mptcp/enabled"); err != nil || strings.TrimSpace(string(b)) != "1" {
		t.Skip("no MPTCP in this kernel; minimum kernel 5.6 with CONFIG_MPTCP")
	}
	r.standard()
	var lc net.ListenConfig
	lc.SetMultipathTCP(true)
	ln, err := lc.Listen(t.Context(), "tcp4", net.JoinHostPort(edge4.String(), "0"))
	check(t, err)
	defer ln.Close()
	go func() {
		c, err := ln.Accept()
		if err != nil {
			return
		}
		defer c.Close()
		one := make([]byte, 1)
		_, _ = c.Read(one)
		_, _ = c.Write(make([]byte, large))
		_, _ = c.Read(one)
	}()
	d := net.Dialer{LocalAddr: &net.TCPAddr{IP: clientT.AsSlice()}, Timeout: patience}
	d.SetMultipathTCP(true)
	c, err := d.DialContext(context.Background(), "tcp4", ln.Addr().String())
	check(t, err)
	if multi, err := c.(*net.TCPConn).MultipathTCP(); err != nil || !multi {
		t.Fatalf("connection is not MPTCP: %v, %v", multi, err)
	}
	_, err = c.Write([]byte{1})
	check(t, err)
	buf := make([]byte, 64<<10)
	for n := 0; n < large; {
		m, err := c.Read(buf)
		check(t, err)
		n += m
	}
	c.Close()
	rec := r.next()
	if rec.Mark.Flags&abi.MarkMPTCP == 0 || rec.Mark.Applied == record.AppliedTreatment || rec.BytesAcked < large {
		t.Errorf("flags %b, %s on %s, %d bytes", rec.Mark.Flags, rec.Mark.Applied, rec.Cong, rec.BytesAcked)
	}
	if s, _ := r.Stats(); s.Switched != 0 {
		t.Errorf("%d switched", s.Switched)
	}
}
