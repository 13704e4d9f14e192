package ledger

import "github.com/congctl/congctl/internal/core/record"

// A close record is written before the socket leaves the kernel's hash table
// (tcp_set_state calls sock_ops, then unhash), so a dump can show a socket whose
// record has been applied. Without a memory of the dead it would be taken for a
// new connection and all its bytes counted again.
//
// Two sets take turns: a key is put into the young one, and every time the sets
// turn the old one is emptied. So a key is remembered for between one and two
// turns, in bounded memory and without a list by age.

const (
	// tombstoneNs: a close and its socket's last sight are microseconds apart, plus
	// the time that a dump of a million sockets takes (about 1 s).
	tombstoneNs = 2e9
	// maxTombstones in each set: at 50,000 closes a second still 1.3 s of them, in 5 MB for both sets.
	maxTombstones = 1 << 16
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

// turn counts from now whoever calls for it: a turn that is due right after an early
// one would empty the set that was full a moment ago.
func (t *tombstones) turn(now uint64) {
	t.turnedNs = now
	t.young, t.old = t.old, t.young
	clear(t.young)
}
