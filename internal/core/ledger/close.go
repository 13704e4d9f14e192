package ledger

import (
	"net/netip"

	"github.com/congctl/congctl/internal/core/abi"
	"github.com/congctl/congctl/internal/core/inetdiag"
	"github.com/congctl/congctl/internal/core/record"
)

// Close takes one close record; wallOffsetNs is Unix ns minus boot ns now. It
// emits exactly one record: of the close's window, merged with what polls saw of
// the connection in it, or of the next window if that one has its record already.
//
// A second close record of the same socket within two seconds, or one that says
// the socket was closed before, is dropped: the kernel calls sock_ops for every
// tcp_set_state, also from CLOSE to CLOSE.
func (l *Ledger) Close(c *abi.Close, wallOffsetNs int64) {
	k := key{record.NetnsID(c.Netns), c.Cookie}
	if c.OldState == tcpClose || l.tombs.has(k, c.AtNs) {
		l.st.DuplicateCloses++
		return
	}
	l.off = wallOffsetNs
	l.tombs.add(k, c.AtNs)
	w := l.windowOf(int64(c.AtNs) + l.off)
	ns, e, i := l.closing(c, w)
	o := l.sightOfClose(c)
	l.observe(ns, e, &o, w)
	l.emitClose(ns, e, c)
	if i != none {
		l.remove(ns, i)
	}
}

// closing finds the connection's entry, or starts a loose one that no poll has
// seen. A namespace that nobody told of has no default congestion control yet.
func (l *Ledger) closing(c *abi.Close, w uint32) (*netns, *entry, uint32) {
	ns := l.byID[record.NetnsID(c.Netns)]
	if ns != nil {
		if i, ok := ns.index[c.Cookie]; ok {
			l.st.ClosesJoined++
			return ns, l.slab.at(i), i
		}
	} else {
		ns = &l.stray
		ns.id = record.NetnsID(c.Netns)
	}
	l.st.ClosesAlone++
	l.loose = entry{cookie: c.Cookie}
	l.loose.place(netip.AddrPortFrom(netip.AddrFrom16(c.Local), c.LocalPort),
		netip.AddrPortFrom(netip.AddrFrom16(c.Remote), c.RemotePort))
	l.bornAt(&l.loose, c.Mark.EstablishedNs, w, c.AtNs)
	return ns, &l.loose, none
}

// infoOfClose fills what eBPF carries of tcp_info. State is the one before CLOSE.
func infoOfClose(c *abi.Close) inetdiag.TCPInfo {
	return inetdiag.TCPInfo{
		State: c.OldState, CaState: c.CaState, Retransmits: c.Retransmits,
		DeliveryRateAppLimited: c.AppLimited != 0,
		DeliveryRate:           c.DeliveryRate,
		BytesAcked:             c.BytesAcked, BytesReceived: c.BytesReceived,
		BytesSent: c.BytesSent, BytesRetrans: c.BytesRetrans,
		BusyTimeUs: c.BusyUs, RwndLimitedUs: c.RwndLimitedUs, SndbufLimitedUs: c.SndbufLimitedUs,
		RttUs: c.SrttUs, RttvarUs: c.RttvarUs, MinRttUs: c.MinRttUs,
		SndCwnd: c.SndCwnd, SndSsthresh: c.SndSsthresh, SndMss: c.SndMss,
		SegsOut: c.SegsOut, SegsIn: c.SegsIn, DataSegsOut: c.DataSegsOut, DataSegsIn: c.DataSegsIn,
		TotalRetrans: c.TotalRetrans, Lost: c.Lost, Delivered: c.Delivered, DeliveredCe: c.DeliveredCe,
		DsackDups: c.DsackDups, ReordSeen: c.ReordSeen,
	}
}
