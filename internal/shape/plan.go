package shape

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/congctl/congctl/internal/change"
)

// Ask is what a person asked for.
type Ask struct {
	Rate    Rate
	Burst   Size  // 0: computed
	Queue   Queue // zero: DefaultWait
	Inner   string
	Ingress Rate // 0: incoming packets are left alone
	Replace bool // a foreign root qdisc may go
	// OwnIngress: the rule for incoming packets is one of ours.
	OwnIngress bool
	Incoming   Qdisc // root of our ifb, if there is one
}

// Target is what a link is to get.
type Target struct {
	Tbf     Tbf
	Inner   string // kind below the bucket, "" for tbf's own queue
	Ingress *Tbf   // of an ifb, for incoming packets
	// OffloadsOff: super-packets must be switched off first.
	OffloadsOff bool
	Notes       []string // what a person should know before it is done
}

// Inners are the kinds that may hang below the bucket.
var Inners = []string{"fq_codel"}

// ErrAsk means that the request is impossible, on any host or on this link.
var ErrAsk = errors.New("asked for what cannot be")

// askError is an ErrAsk whose text is only the fault.
type askError struct{ error }

func (askError) Is(target error) bool { return target == ErrAsk }

func refuse(format string, args ...any) error { return askError{fmt.Errorf(format, args...)} }

// ErrForeign means that somebody else's qdisc stands where ours should.
var ErrForeign = errors.New("a qdisc that congctl did not set")

// ErrStuck means that the present qdisc could not be brought back.
var ErrStuck = errors.New("not restorable by clear")

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
		t.note("%s below the bucket has its own queue, so its limits apply, not --queue", a.Inner)
	}
	if a.Ingress > 0 {
		in, err := t.bucket("ingress: ", a.Ingress, 0, Queue{}, l)
		if err != nil {
			return t, err
		}
		t.Ingress = &in
		t.note("ingress: packets have already crossed the link when they are delayed or dropped here; TCP senders slow down in response")
	}
	t.offloads(l)
	t.before(l)
	return t, nil
}

func check(l Link, a Ask) error {
	switch q := l.Root; {
	case l.Loopback:
		return refuse("shape %s: the loopback interface: a limit on it slows only the host's own programs; name the interface that leads to the network", l.Name)
	case !q.Ours() && q.stuck() != "":
		return fmt.Errorf("shape %s: the root qdisc %s is %w: %s; keep the script that created it, delete it yourself (tc %s), and run this again", l.Name, q, ErrStuck, q.stuck(), q.removal(l.Name))
	case !q.Ours() && !q.ByEnable() && !q.Default() && !a.Replace:
		return fmt.Errorf("shape %s: %w is the root: %s; see congctl shape show %s, then add --replace to replace it (clear restores it)", l.Name, ErrForeign, q, l.Name)
	case a.Inner != "" && !slices.Contains(Inners, a.Inner):
		return refuse("inner %q: cannot be used below the bucket; write --inner %s, or omit it", a.Inner, Inners[0])
	case a.Ingress > 0 && l.Ingress && !a.OwnIngress:
		return refuse("shape %s: it has an ingress or clsact qdisc that congctl did not set, and --ingress would need its place; remove that qdisc, or omit --ingress", l.Name)
	}
	return errors.Join(l.Root.yields(l.Name, a.Replace), a.Incoming.yields(l.Name+" (what comes in)", a.Replace))
}

// bucket computes one token bucket, and notes where it differs from the request.
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
		t.note("%sburst %s: this much leaves at line rate after each pause", who, burst.Words())
	}
	limit, err := q.limit(r, burst)
	if err != nil {
		return Tbf{}, err
	}
	if q == (Queue{}) {
		if q.Time = DefaultWait; limit == MaxSize {
			t.note("%squeue %s at this rate, not %s: tbf can count no more", who, Wait(r, limit, burst), q)
		}
	}
	if limit-burst < l.Frame() {
		limit = burst + l.Frame()
		t.note("%squeue %s holds less than one frame at this rate; raised to one frame, %s", who, q, Wait(r, limit, burst))
	}
	return Tbf{Rate: r, Burst: burst, Limit: limit}, nil
}

// offloads decides about TCP's super-packets.
func (t *Target) offloads(l Link) {
	switch {
	case !l.TSO && !l.GSO:
	case l.Splits():
		t.note("TSO and GSO stay on: tbf splits packets larger than its burst since Linux 3.11 (this is %d.%d)", l.Kernel[0], l.Kernel[1])
	default:
		t.OffloadsOff = true
		t.note("TSO and GSO are switched off: tbf drops packets larger than its burst before Linux 3.11 (this is %d.%d)", l.Kernel[0], l.Kernel[1])
	}
}

// before notes what is put aside.
func (t *Target) before(l Link) {
	q := l.Root
	switch {
	case q.Ours():
		t.note("the existing bucket is changed in place and refilled, so one burst passes at once")
	case q.Kind == "mq" && q.Default():
		t.note("one bucket replaces mq and its %d queues: all CPUs share its lock, which costs throughput above a few Gbit/s", len(q.Below))
	case q.ByEnable():
		t.note("%s, set by congctl host enable, is replaced; clear restores it", q)
	}
	if !l.Up {
		t.note("%s is down; the limit applies when it comes up", l.Name)
	}
	if hidesPacing(q) {
		t.note("fq is removed: BBR does not need it: TCP paces by itself since Linux 4.13")
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

// Handle is the handle of our token bucket on its link, MAJOR: of tc in hexadecimal. A
// qdisc of this kind and handle is ours; any other with a handle is foreign.
const Handle = uint16(change.LimitHandle)

// ChildHandle is that of the qdisc below it.
const ChildHandle uint16 = 0xc0c8

// Link is an interface as the kernel reports it.
type Link struct {
	Name        string
	Index       int
	MTU         Size
	HeaderBytes Size // of the link layer, 14 for Ethernet
	Up          bool
	Loopback    bool
	TSO, GSO    bool
	Kernel      [2]int // major, minor
	Timer       Timer
	Root        Qdisc
	Ingress     bool // has an ingress or clsact qdisc: somebody's rules for incoming packets
}

// Frame returns the largest packet as tbf counts it.
func (l Link) Frame() Size { return l.MTU + l.HeaderBytes }

// Splits reports whether this kernel's tbf splits super-packets.
func (l Link) Splits() bool {
	return l.Kernel[0] > segmentsMajor || l.Kernel[0] == segmentsMajor && l.Kernel[1] >= segmentsMinor
}

// Qdisc is a qdisc of a link, with those below it.
type Qdisc struct {
	Kind    string // "" is none
	Handle  uint16 // 0: the kernel put it there, not a person
	Filters bool   // has filters, which a dump of qdiscs does not show
	Tbf     *Tbf   // of kind tbf
	// Peak is the rate at which a tbf sends a burst, 0 for the line's; PeakBurst is the most that leaves at once even so.
	Peak      Rate
	PeakBurst Size
	Sized     bool     // has a size table
	Lost      []string // what the kernel reports of it and does not take back
	Below     []Qdisc

	Sent, Packets, Dropped, Overlimits uint64 // Sent in bytes
	Backlog                            uint32 // bytes waiting
}

// Ours reports whether we put it there, and nobody gave it what we never do.
func (q Qdisc) Ours() bool { return q.Kind == "tbf" && q.Handle == Handle && q.Peak == 0 && !q.Sized }

// ByEnable reports whether congctl host enable put it there.
func (q Qdisc) ByEnable() bool { return uint32(q.Handle) == change.OwnHandle }

// comesBack are the kinds that a dump shows in full, in the form in which the kernel takes
// them again; a test put each aside and brought it back. Not among them: netem, whose
// distribution table cannot be read back; red, gred and choke, for the same reason with
// their averages' table; and htb, hfsc, prio and others with classes, which a dump of
// qdiscs does not hold.
var comesBack = []string{"noqueue", "pfifo_fast", "pfifo", "bfifo", "mq", "tbf", "fq", "fq_codel", "codel", "sfq", "cake", "pie", "hhf"}

// stuck names what of it could not be brought back, "" if all could. What the kernel put
// there comes back by itself.
func (q Qdisc) stuck() string {
	switch {
	case q.Filters:
		return "the filters of " + q.own() + " cannot be saved with it"
	case q.Handle == 0:
	case len(q.Lost) > 0:
		return "the kernel does not report, or take back, " + strings.Join(q.Lost, ", ") + " of " + q.own()
	case !slices.Contains(comesBack, q.Kind):
		return "the kernel does not report everything that " + q.own() + " was made with (classes, tables)"
	}
	for _, b := range q.Below {
		if s := b.stuck(); s != "" {
			return s
		}
	}
	return ""
}

// removal returns how tc removes what is stuck. The kernel's own root cannot be deleted, but filters on it can.
func (q Qdisc) removal(link string) string {
	if q.Handle == 0 && q.Filters {
		return "filter del dev " + link
	}
	return "qdisc del dev " + link + " root"
}

// own returns the qdisc without those below it.
func (q Qdisc) own() string { q.Below = nil; return q.String() }

// Default reports whether the kernel put it there by itself.
func (q Qdisc) Default() bool {
	return q.Handle == 0 && !slices.ContainsFunc(q.Below, func(b Qdisc) bool { return !b.Default() })
}

// String returns the qdisc and those below it, in tc's words.
func (q Qdisc) String() string {
	s := q.Kind
	if s == "" {
		s = "none"
	}
	if q.Handle != 0 {
		s += fmt.Sprintf(" %x:", q.Handle)
	}
	if len(q.Below) > 0 {
		var kinds []string
		for _, b := range q.Below {
			kinds = append(kinds, b.Kind)
		}
		s += " with " + count(kinds, 1)
	}
	return s
}

// count lists texts, each once: a card has a hundred leaves. It says how many there are
// of those that stand there often.
func count(texts []string, often int) string {
	n := map[string]int{}
	var once []string
	for _, t := range texts {
		if n[t]++; n[t] == 1 {
			once = append(once, t)
		}
	}
	for i, t := range once {
		if n[t] >= often {
			once[i] = fmt.Sprintf("%d %s", n[t], t)
		}
	}
	return strings.Join(once, ", ")
}

// Guest returns what somebody attached below a bucket of ours, nil for nothing. The
// kernel's own queue has no handle.
func (q Qdisc) Guest() *Qdisc {
	if !q.Ours() {
		return nil
	}
	i := slices.IndexFunc(q.Below, func(b Qdisc) bool {
		return b.Handle != 0 && !(b.Handle == ChildHandle && slices.Contains(Inners, b.Kind))
	})
	if i < 0 {
		return nil
	}
	return &q.Below[i]
}

// yields returns an error if a guest of a bucket may not be put aside.
func (q Qdisc) yields(link string, replace bool) error {
	g := q.Guest()
	switch {
	case g == nil:
		return nil
	case g.stuck() != "":
		return fmt.Errorf("shape %s: %s below the bucket is %w: %s; keep the script that created it; congctl shape clear --force removes both",
			link, g, ErrStuck, g.stuck())
	case !replace:
		return fmt.Errorf("shape %s: %w is below the bucket: %s; see congctl shape show %s, then add --replace to replace it (clear restores it)", link, ErrForeign, g, link)
	}
	return nil
}
