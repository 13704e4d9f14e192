package ledger

import (
	"github.com/congctl/congctl/internal/tcp/inetdiag"
	"github.com/congctl/congctl/internal/tcp/record"
)

// netns is one network namespace: its connections by cookie, and the same ones in a list, so
// that a poll of a small namespace does not walk those of all.
type netns struct {
	id          record.NetnsID
	place       uint16 // in Ledger.nss
	index       map[uint64]uint32
	head        uint32
	defaultCong inetdiag.Cong
	seq         uint16 // dumps begun
	polledNs    uint64 // boot time of the last one, 0 none
	started     bool   // one dump has seen all sockets: a newcomer without a mark is no longer an old connection
	full        bool   // this dump had more than MaxConns allow
	dropped     bool
	droppedNs   uint64
	st          NetnsStats
}

// maxNetns keeps entry.ns in 16 bits; a host has a few thousand at most.
const maxNetns = 1 << 16

// open finds the namespace or makes it; nil if there are too many.
func (l *Ledger) open(id record.NetnsID) *netns {
	if ns := l.byID[id]; ns != nil {
		ns.dropped = false
		return ns
	}
	place := 0
	for place < len(l.nss) && l.nss[place] != nil {
		place++
	}
	if place == maxNetns {
		return nil
	}
	if place == len(l.nss) {
		l.nss = append(l.nss, nil)
	}
	ns := &netns{id: id, place: uint16(place), index: map[uint64]uint32{}}
	l.nss[place], l.byID[id] = ns, ns
	return ns
}

// Namespace sets the default congestion control of a namespace before eBPF follows it: a
// close can come before the first poll, and would otherwise not be known to be on the
// default.
func (l *Ledger) Namespace(id record.NetnsID, defaultCong inetdiag.Cong) {
	if ns := l.open(id); ns != nil {
		ns.defaultCong = defaultCong
	}
}

// link puts entry i at the head of its namespace's list and into its index.
func (l *Ledger) link(ns *netns, i uint32, e *entry) {
	e.ns, e.prev, e.next = ns.place, none, ns.head
	if ns.head != none {
		l.slab.at(ns.head).prev = i
	}
	ns.head = i
	ns.index[e.cookie] = i
}

// remove takes entry i out of list and index, and frees it.
func (l *Ledger) remove(ns *netns, i uint32) {
	e := l.slab.at(i)
	if e.prev != none {
		l.slab.at(e.prev).next = e.next
	} else {
		ns.head = e.next
	}
	if e.next != none {
		l.slab.at(e.next).prev = e.prev
	}
	delete(ns.index, e.cookie)
	if e.is(gone) {
		l.st.Gone--
	}
	l.slab.give(i)
}

// each calls f for every entry of ns; f may remove the entry that it gets.
func (l *Ledger) each(ns *netns, f func(i uint32, e *entry)) {
	for i := ns.head; i != none; {
		e := l.slab.at(i)
		next := e.next
		f(i, e)
		i = next
	}
}

// DropNetns emits what is left of a deleted namespace. Its entries stay for two seconds:
// its sockets' close records may still be in the ring.
func (l *Ledger) DropNetns(id record.NetnsID) {
	ns := l.byID[id]
	if ns == nil {
		return
	}
	if l.poll.ns == ns {
		l.EndPoll(false)
	}
	l.each(ns, func(_ uint32, e *entry) { l.vanish(ns, e) })
	ns.dropped, ns.droppedNs = true, l.poll.bootNs
}

// reap frees the namespaces whose time is over.
func (l *Ledger) reap(now uint64) {
	for place, ns := range l.nss {
		if ns == nil || !ns.dropped || now < ns.droppedNs+tombstoneNs {
			continue
		}
		l.each(ns, func(i uint32, _ *entry) { l.remove(ns, i) })
		l.st.fold(ns.st)
		l.nss[place] = nil
		delete(l.byID, ns.id)
	}
}

// Settle emits the records of a window for the connections that were observed in it but not
// by its final poll, and whose close record has not come. Call it when all namespaces had
// their final poll and the ring was drained; without it these records come late, at the
// connection's next observation.
func (l *Ledger) Settle(window int64) {
	w := l.windowNumber(window)
	for _, ns := range l.nss {
		if ns == nil {
			continue
		}
		l.each(ns, func(_ uint32, e *entry) {
			if e.is(observed) && e.win <= w {
				l.emitKept(ns, e, record.EndWindow)
			}
		})
	}
}
