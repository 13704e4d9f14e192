package ledger

import (
	"github.com/congctl/congctl/internal/core/abi"
	"github.com/congctl/congctl/internal/core/inetdiag"
)

// Kernel states (include/net/tcp_states.h).
const (
	tcpEstablished = 1
	tcpSynRecv     = 3
	tcpFinWait1    = 4
	tcpFinWait2    = 5
	tcpClose       = 7
	tcpCloseWait   = 8
	tcpLastAck     = 9
	tcpClosing     = 11
)

// connected is the set of states in which a socket is a connection. TIME_WAIT is
// not: it is a stand-in that inherits the cookie after the close record is out.
// Neither is NEW_SYN_RECV, whose cookie the accepted socket inherits.
const connected = 1<<tcpEstablished | 1<<tcpFinWait1 | 1<<tcpFinWait2 | 1<<tcpCloseWait | 1<<tcpLastAck | 1<<tcpClosing

// followed reports whether s is a connection of its own. A full socket in
// SYN_RECV is a Fast Open child before its handshake ends: it counts once sock_ops
// has seen it, or it would be taken for one that sock_ops missed.
func followed(s *inetdiag.Sock) bool {
	if s.Has&inetdiag.HasInfo == 0 || s.State > 31 {
		return false
	}
	return connected>>s.State&1 == 1 || s.State == tcpSynRecv && s.Has&inetdiag.HasStorage != 0
}

// sight is one observation of a connection, from a dump or from a close record.
type sight struct {
	n        counters
	rate     uint64 // the kernel's last sample, bytes/s
	limited  bool   // that sample was application-limited
	minRttUs uint32
	srttUs   uint32
	ns       uint64 // boot time
	cong     uint8
	mark     *abi.Mark // nil: not followed by eBPF
}

func (l *Ledger) sightOfSock(s *inetdiag.Sock, m *abi.Mark) sight {
	in := &s.Info
	return sight{
		n: counters{in.BytesAcked, in.BytesSent, in.BytesRetrans, in.BytesReceived,
			in.BusyTimeUs, in.RwndLimitedUs, in.SndbufLimitedUs},
		rate: in.DeliveryRate, limited: in.DeliveryRateAppLimited,
		minRttUs: in.MinRttUs, srttUs: in.RttUs,
		ns: l.poll.bootNs, cong: l.congs.number(s.Cong), mark: m,
	}
}

func (l *Ledger) sightOfClose(c *abi.Close) sight {
	return sight{
		n: counters{c.BytesAcked, c.BytesSent, c.BytesRetrans, c.BytesReceived,
			c.BusyUs, c.RwndLimitedUs, c.SndbufLimitedUs},
		rate: c.DeliveryRate, limited: c.AppLimited != 0,
		minRttUs: c.MinRttUs, srttUs: c.SrttUs,
		ns: c.AtNs, cong: l.congs.number(c.Cong), mark: &c.Mark,
	}
}
