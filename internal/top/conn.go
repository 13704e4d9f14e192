package top

import (
	"math"
	"net/netip"
	"time"

	"github.com/congctl/congctl/internal/tcp/inetdiag"
	"github.com/congctl/congctl/internal/tcp/record"
)

// Conn is one connection in a dump.
type Conn struct {
	Netns         string
	Cookie        uint64
	Local, Remote netip.AddrPort
	Network       record.Prefix // of the remote address; 0: none
	State, Cong   string
	RttUs         uint32 // 0: not measured
	MinRttUs      uint32 // 0: not measured
	Cwnd          uint32
	Delivery      uint64 // bytes/s, as the kernel has it; 0: none
	Acked, Sent   uint64 // bytes
	Retrans       uint64 // bytes
	Queue         uint32 // bytes not yet acknowledged
	PerS          float64
}

// ConnOf copies what top shows of a socket; ok is false for what is no connection.
func ConnOf(netns string, s *inetdiag.Sock) (c Conn, ok bool) {
	if s.State == inetdiag.StateListen || s.State == inetdiag.StateTimeWait || s.Remote.Port() == 0 {
		return c, false
	}
	c = Conn{Netns: netns, Cookie: s.Cookie, Local: s.Local, Remote: s.Remote, State: inetdiag.StateName(s.State), Cong: "-", Queue: s.Wqueue}
	c.Network, _ = record.PrefixOf(s.Remote.Addr())
	if s.Has&inetdiag.HasCong != 0 {
		c.Cong = s.Cong.String()
	}
	if s.Has&inetdiag.HasInfo != 0 {
		i := &s.Info
		c.RttUs, c.Cwnd, c.Acked, c.Sent, c.Retrans = i.RttUs, i.SndCwnd, i.BytesAcked, i.BytesSent, i.BytesRetrans
		if i.MinRttUs != math.MaxUint32 { // no sample yet
			c.MinRttUs = i.MinRttUs
		}
		if i.DeliveryRate != math.MaxUint64 {
			c.Delivery = i.DeliveryRate
		}
	}
	return c, true
}

// socket names a connection from dump to dump.
type socket struct {
	netns  string
	cookie uint64
}

func (c *Conn) id() socket { return socket{c.Netns, c.Cookie} }

// pace sets the rates of conns from the bytes acknowledged since the last dump. A connection that
// is new began after that dump, so all of its bytes count; without a last dump none do.
func pace(conns []Conn, last map[socket]uint64, since time.Duration) {
	if last == nil || since <= 0 {
		return
	}
	for i := range conns {
		c := &conns[i]
		if before := last[c.id()]; c.Acked > before {
			c.PerS = float64(c.Acked-before) / since.Seconds()
		}
	}
}
