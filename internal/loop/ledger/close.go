package ledger

import (
	"net/netip"

	"github.com/congctl/congctl/internal/tcp/abi"
	"github.com/congctl/congctl/internal/tcp/inetdiag"
	"github.com/congctl/congctl/internal/tcp/record"
)

// Close takes one close record; wallOffsetNs is Unix ns minus boot ns now. It emits exactly
// one record: for the close's window, merged with what polls saw of the connection in it, or
// for the next window if that one already has its record.
//
// It drops a second close record of the same socket within two seconds, and one of a socket
// that was closed before: the kernel calls sock_ops for every tcp_set_state, also from CLOSE
// to CLOSE.
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
	info := infoOfClose(c)
	o := l.sightOf(&info, c.AtNs, c.Cong, &c.Mark)
	l.observe(ns, e, &o, w)
	l.fill(ns, e, record.EndClose, int64(c.AtNs)+l.off)
	l.rec.Info, l.rec.InfoFromClose = info, true
	l.send(e, false)
	if i != none {
		l.remove(ns, i)
	}
}

// closing finds the connection's entry, or starts a loose one for a connection that no poll
// has seen. An unknown namespace has no default congestion control yet.
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

// infoOfClose fills the part of tcp_info that eBPF carries. State is the one before CLOSE.
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

// A close record is written before the socket leaves the kernel's hash table (tcp_set_state
// calls sock_ops, then unhash), so a dump can show a socket whose record has been applied.
// Without a memory of closed sockets it would look like a new connection, and all its bytes
// would count again.
//
// Two sets take turns: a key goes into the young one, and at every turn the old one is
// emptied. So a key is remembered for between one and two turns, in bounded memory and
// without a list by age.

const (
	// tombstoneNs: a close and its socket's last sight are microseconds apart, plus
	// the time that a dump of a million sockets takes (about 1 s).
	tombstoneNs = 2e9
	// maxTombstones in each set: at 50,000 closes a second still 1.3 s of them, in 5 MB for both sets.
	maxTombstones = 1 << 16
	// damagedNs: a close so long after a turn, or before it, claims a time that is not: polls are minutes apart at most.
	damagedNs = 3600e9
)

type key struct {
	ns     record.NetnsID
	cookie uint64
}

type tombstones struct {
	young, old map[key]uint64 // boot ns of the close
	turnedNs   uint64
	early      uint64 // turns before their time, because the young set was full
}

// add remembers that k closed at ns.
func (t *tombstones) add(k key, ns uint64) {
	if t.young == nil {
		t.young, t.old = map[key]uint64{}, map[key]uint64{}
	}
	// Polls turn the sets, too, but at a busy host they would be full before the next one.
	if since := ns - t.turnedNs; since >= tombstoneNs && since < damagedNs {
		t.turn(ns)
	}
	if len(t.young) >= maxTombstones {
		t.early++
		t.turn(ns)
	}
	t.young[k] = ns
}

// has reports whether k closed less than tombstoneNs before now.
func (t *tombstones) has(k key, now uint64) bool {
	at, ok := t.young[k]
	if !ok {
		at, ok = t.old[k]
	}
	return ok && now < at+tombstoneNs
}

// age turns the sets when that is due.
func (t *tombstones) age(now uint64) {
	ahead := t.turnedNs > now+tombstoneNs // a damaged close record claimed that time
	if ahead || now >= t.turnedNs+tombstoneNs {
		t.turn(now)
	}
}

// turn counts from now, whatever caused it: a turn that is due right after an early one would
// empty the set that was full a moment ago.
func (t *tombstones) turn(now uint64) {
	t.turnedNs = now
	t.young, t.old = t.old, t.young
	clear(t.young)
}
