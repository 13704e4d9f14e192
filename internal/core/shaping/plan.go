package shaping

import (
	"errors"
	"fmt"
	"slices"
)

// Ask is what a person asked for.
type Ask struct {
	Rate    Rate
	Burst   Size  // 0: computed
	Queue   Queue // zero: DefaultWait
	Inner   string
	Ingress Rate // 0: what comes in is left alone
	Replace bool // a foreign root qdisc may go
	// OwnIngress: the rule for what comes in is one of ours.
	OwnIngress bool
	Incoming   Qdisc // root of our ifb, if there is one
}

// Target is what a link is to get.
type Target struct {
	Tbf     Tbf
	Inner   string // kind below the bucket, "" for tbf's own queue
	Ingress *Tbf   // of an ifb, for what comes in
	// OffloadsOff: super-packets are to be switched off first.
	OffloadsOff bool
	Notes       []string // what a person should know before it is done
}

// Inners are the kinds that may hang below the bucket.
var Inners = []string{"fq_codel"}

// ErrAsk says that what was asked for cannot be, on any host or on this link.
var ErrAsk = errors.New("asked for what cannot be")

// askError is an ErrAsk that says only what is wrong.
type askError struct{ error }

func (askError) Is(target error) bool { return target == ErrAsk }

func refuse(format string, args ...any) error { return askError{fmt.Errorf(format, args...)} }

// ErrForeign says that somebody else's qdisc stands where ours should.
var ErrForeign = errors.New("somebody else's qdisc")

// ErrStuck says that what stands there could not be brought back.
var ErrStuck = errors.New("not to be brought back by clear")

// For plans the way from a link as it is to what was asked for.
func For(l Link, a Ask) (t Target, err error) {
	if err := check(l, a); err != nil {
		return t, err
	}
	if t.Tbf, err = t.bucket("", a.Rate, a.Burst, a.Queue, l); err != nil {
		return t, err
	}
	t.Inner = a.Inner
	if a.Inner != "" {
		t.note("%s below the bucket keeps packets in its own queue: its limits count, not --queue", a.Inner)
	}
	if a.Ingress > 0 {
		in, err := t.bucket("ingress: ", a.Ingress, 0, Queue{}, l)
		if err != nil {
			return t, err
		}
		t.Ingress = &in
		t.note("ingress: the sender is slowed by what is lost or late here; the packets have crossed the link already")
	}
	t.offloads(l)
	t.before(l)
	return t, nil
}

func check(l Link, a Ask) error {
	switch q := l.Root; {
	case l.Loopback:
		return refuse("shape %s: the loopback: it leads nowhere, and slowing it slows the host's own programs; name the interface that leads out", l.Name)
	case !q.Ours() && q.stuck() != "":
		return fmt.Errorf("shape %s: its root is %s, %w: %s; keep the script that made it, take it away yourself (tc qdisc del dev %s root), and set again", l.Name, q, ErrStuck, q.stuck(), l.Name)
	case !q.Ours() && !q.ByEnable() && !q.Default() && !a.Replace:
		return fmt.Errorf("shape %s: %w is its root, %s; look with congctl shape show %s, then add --replace to put it aside (clear brings it back)", l.Name, ErrForeign, q, l.Name)
	case a.Inner != "" && !slices.Contains(Inners, a.Inner):
		return refuse("inner %q: not a kind that can hang below the bucket; write --inner %s, or leave it out", a.Inner, Inners[0])
	case a.Ingress > 0 && l.Ingress && !a.OwnIngress:
		return refuse("shape %s: what it receives passes rules of somebody else (an ingress or clsact qdisc): --ingress would need their place; leave it out, or take them away", l.Name)
	}
	return errors.Join(l.Root.yields(l.Name, a.Replace), a.Incoming.yields(l.Name+" (what comes in)", a.Replace))
}

// bucket computes one token bucket, and notes what is not as asked.
func (t *Target) bucket(who string, r Rate, burst Size, q Queue, l Link) (Tbf, error) {
	if kept := r.Kept(); kept != r {
		t.note("%srate %s becomes %s: the kernel counts whole bytes per second", who, r, kept)
		r = kept
	}
	if burst == 0 {
		b := BurstFor(r, l.Frame(), l.Timer)
		burst = b.Bytes
		t.note("%sburst %s: %s", who, burst.Words(), b.Why)
	} else if err := checkBurst(burst, l.Frame()); err != nil {
		return Tbf{}, err
	} else if burst > superPacket {
		t.note("%sburst %s: so much leaves at line rate after each pause", who, burst.Words())
	}
	if q == (Queue{}) {
		q = Queue{Time: DefaultWait}
	}
	limit, err := q.limit(r, burst)
	if err != nil {
		return Tbf{}, err
	}
	if limit-burst < l.Frame() {
		limit = burst + l.Frame()
		t.note("%squeue %s is less than a frame at this rate: made one frame, %s", who, q, Wait(r, limit, burst))
	}
	return Tbf{Rate: r, Burst: burst, Limit: limit}, nil
}

// offloads says what becomes of TCP's super-packets.
func (t *Target) offloads(l Link) {
	switch {
	case !l.TSO && !l.GSO:
	case l.Splits():
		t.note("TSO and GSO stay on: tbf splits what is larger than its burst since Linux 3.11, this is %d.%d", l.Kernel[0], l.Kernel[1])
	default:
		t.OffloadsOff = true
		t.note("TSO and GSO go off: tbf drops what is larger than its burst before Linux 3.11, this is %d.%d", l.Kernel[0], l.Kernel[1])
	}
}

// before notes what is put aside.
func (t *Target) before(l Link) {
	q := l.Root
	switch {
	case q.Ours():
		t.note("the bucket that is there is changed, not replaced: it is filled anew, so one burst passes at once")
	case q.Kind == "mq" && q.Default():
		t.note("one bucket takes the place of mq and its %d queues: one lock for all processors; above some Gbit/s it costs", len(q.Below))
	case q.ByEnable():
		t.note("%s of congctl host enable is put aside; clear brings it back", q)
	}
	if !l.Up {
		t.note("%s is down: the limit stands when it comes up", l.Name)
	}
	if hidesPacing(q) {
		t.note("fq goes away below a bucket: BBR paces by itself inside TCP (Linux 4.13 and later), no harm")
	}
}

func hidesPacing(q Qdisc) bool {
	if q.Kind == "fq" {
		return true
	}
	for _, b := range q.Below {
		if hidesPacing(b) {
			return true
		}
	}
	return false
}

func (t *Target) note(format string, args ...any) {
	t.Notes = append(t.Notes, fmt.Sprintf(format, args...))
}
