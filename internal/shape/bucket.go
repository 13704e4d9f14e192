package shape

import (
	"cmp"
	"fmt"
	"math/bits"
	"slices"
	"strings"
	"time"

	"github.com/congctl/congctl/internal/change"
)

// The numbers behind a burst.
const (
	// framesAtLeast: a bucket with room for only one frame loses tokens when it is full while
	// the next frame is prepared, and never reaches the rate.
	framesAtLeast = 2
	// lateMs, 1/s: a timer fires up to a millisecond late on a busy or virtual host; what
	// arrives meanwhile must fit, or it is lost.
	lateMs = 1000
	// superPacket, bytes: the most that TCP hands down as one piece. A burst above it goes out
	// at line rate in one piece, one below it is split and stays smooth.
	superPacket Size = 64 << 10
	// late100us, 1/s: above 5 Gbit/s, 64 KiB take less than the 100 us by which a timer is
	// late even on an idle host.
	late100us = 10_000
	// segmentsSince: tbf splits super-packets above its burst from Linux 3.11 on
	// (e43ac79a4bc6); before, it drops them.
	segmentsMajor, segmentsMinor = 3, 11
)

// Timer is what wakes tbf in the kernel.
type Timer struct {
	HighRes bool // high-resolution timers are on
	HZ      int  // ticks a second, 0 if unknown; counts only without high-resolution timers
}

// slowestHZ is assumed for a kernel that does not report HZ, 1/s.
const slowestHZ = 100

// Burst is the size of a bucket and the reason for it.
type Burst struct {
	Bytes Size
	Why   string
}

// BurstFor computes the bucket of a rate on a link whose frames have at most that many
// bytes (MTU and link header).
func BurstFor(r Rate, frame Size, t Timer) Burst {
	perS := Size(r.BytesPerS())
	b := Burst{framesAtLeast * frame, fmt.Sprintf("two frames of %d bytes, the minimum that sustains the rate", frame)}
	two := b
	if ms := perS / lateMs; ms > b.Bytes {
		b = Burst{ms, "1 ms at the rate, since a timer of a busy host can be that late"}
	}
	if b.Bytes > superPacket && two.Bytes > superPacket {
		b = two
	} else if b.Bytes > superPacket {
		b = Burst{superPacket, "64 KiB, the largest packet that TCP passes down (TSO); a larger burst would leave at line rate"}
	}
	if us := perS / late100us; us > b.Bytes {
		b = Burst{us, "100 us at the rate, since a timer can be that late even on an idle host"}
	}
	hz := t.HZ
	if hz <= 0 {
		hz = slowestHZ
	}
	if tick := perS / Size(hz); !t.HighRes && tick > b.Bytes {
		b = Burst{tick, fmt.Sprintf("one timer tick at the rate, since this kernel has no high-resolution timers; HZ is %d", hz)}
	}
	b.Bytes = min(b.Bytes, MaxSize)
	return b
}

// checkBurst refuses a bucket that would drop every full packet, and one behind which none could wait.
func checkBurst(burst, frame Size) error {
	if burst > MaxSize-frame {
		return refuse("burst %s: tbf counts bucket and queue together, %d bytes at most, and no frame could wait; write a smaller --burst", burst, MaxSize)
	}
	if burst < frame {
		return refuse("burst %s: smaller than a frame of this link (%d bytes), so tbf would drop every full packet; write --burst auto, or at least %s", burst, frame, frame)
	}
	return nil
}

// DefaultWait is the queue's length if none is asked for: 100 ms is a round trip across a
// continent, so TCP fills the rate, and no call notices it.
const DefaultWait = 100 * time.Millisecond

// Queue is how much may wait for tokens: bytes, or the time that they take at the rate. One of them is set; of the zero Queue
// none is: it is DefaultWait, or what tbf can count if that is less.
type Queue struct {
	Bytes Size
	Time  time.Duration
}

// MaxWait: every TCP gives up a packet that waits longer.
const MaxWait = 60 * time.Second

const queueForms = "a time in us, ms or s, or a size in " + sizeForms

// timeUnits in lower case, with the other names that tc has for them.
var timeUnits = map[string]uint64{"us": 1e3, "usec": 1e3, "usecs": 1e3, "ms": 1e6, "msec": 1e6, "msecs": 1e6, "s": 1e9, "sec": 1e9, "secs": 1e9}

// ParseQueue reads a queue by its unit.
func ParseQueue(s string) (Queue, error) {
	q, err := split(s, queueForms)
	if err != nil {
		return Queue{}, fmt.Errorf("queue %q: %w", s, err)
	}
	unit, isTime := timeUnits[strings.ToLower(q.unit)]
	switch {
	case q.unit == "":
		return Queue{}, fmt.Errorf("queue %q: ambiguous: bytes, or microseconds as in tc's latency; write %sB or %sus", s, q.num, q.num)
	case isTime:
		return q.wait(s, unit)
	case q.unit == "m" || q.unit == "min" || q.unit == "h":
		return Queue{}, fmt.Errorf("queue %q: unknown unit %q; write %s", s, q.unit, queueForms)
	}
	size, err := q.size(s)
	if err != nil {
		return Queue{}, fmt.Errorf("queue: %w", err)
	}
	return Queue{Bytes: size}, nil
}

func (q quantity) wait(s string, unit uint64) (Queue, error) {
	ns, err := q.times(unit, "nanoseconds")
	if err != nil {
		return Queue{}, fmt.Errorf("queue %q: %w", s, err)
	}
	if ns > uint64(MaxWait) {
		return Queue{}, fmt.Errorf("queue %q: above %s, by when any TCP has given the packet up as lost; write a shorter time", s, MaxWait)
	}
	return Queue{Time: time.Duration(ns)}, nil
}

func (q Queue) String() string {
	if q.Time == 0 {
		return q.Bytes.String()
	}
	switch ns := uint64(q.Time); {
	case q.Time >= time.Second && ns%1e6 == 0:
		return decimal(ns, 1e9) + "s"
	case q.Time >= time.Millisecond && ns%1e3 == 0:
		return decimal(ns, 1e6) + "ms"
	default:
		return decimal(ns, 1e3) + "us"
	}
}

// limit returns tbf's limit: what waits plus what the bucket holds, as tc computes it from
// a latency. A size is the limit itself.
func (q Queue) limit(r Rate, burst Size) (Size, error) {
	if q == (Queue{}) {
		return burst + min(Size(mulDiv(r.BytesPerS(), uint64(DefaultWait), 1e9)), MaxSize-burst), nil
	}
	if q.Time == 0 {
		if q.Bytes < burst {
			return 0, refuse("queue %s: smaller than the burst of %s, which passes without waiting; write a larger --queue or a smaller --burst", q, burst)
		}
		return q.Bytes, nil
	}
	v := mulDiv(r.BytesPerS(), uint64(q.Time), 1e9)
	if v > uint64(MaxSize-burst) {
		return 0, refuse("queue %s: %d bytes at %s, more than tbf can count (%d); write a shorter time", q, v, r, MaxSize)
	}
	return Size(v) + burst, nil
}

// Wait returns how long a packet waits at most in a queue of that limit, as tc shows it.
func Wait(r Rate, limit, burst Size) time.Duration {
	if r.BytesPerS() == 0 || limit <= burst {
		return 0
	}
	return time.Duration(mulDiv(uint64(limit-burst), 1e9, r.BytesPerS()))
}

// mulDiv returns a x b / c, or the largest number on overflow.
func mulDiv(a, b, c uint64) uint64 {
	hi, lo := bits.Mul64(a, b)
	if hi >= c {
		return 1<<63 - 1
	}
	v, _ := bits.Div64(hi, lo, c)
	return min(v, 1<<63-1)
}

// Tbf is a token bucket as it is, or is to be.
type Tbf struct {
	Rate  Rate
	Burst Size
	Limit Size
}

// Wait returns how long a packet waits behind a full queue.
func (t Tbf) Wait() time.Duration { return Wait(t.Rate, t.Limit, t.Burst) }

// Limit is a bucket of ours with the qdiscs below it.
type Limit struct {
	Tbf
	Inner  string        // of ours, "" for the kernel's own queue
	Guests []change.Node // attached there by somebody
}

// shaped begins the value of an egress or ingress setting that is ours; any other is qdiscs as
// they were saved.
const shaped = "shaped "

// IsLimit reports whether the value of a setting is a limit of ours.
func IsLimit(value string) bool { return strings.HasPrefix(value, shaped) }

// String returns the limit as the value of a setting: bytes per second, bytes, bytes, and the
// kind below.
func (l Limit) String() string {
	text := fmt.Sprintf("%s%d %d %d %s", shaped, l.Rate.BytesPerS(), l.Burst, l.Tbf.Limit, cmp.Or(l.Inner, "-"))
	if len(l.Guests) > 0 {
		text += "; " + change.Tree(l.Guests).Text
	}
	return text
}

// ParseLimit is the inverse of String.
func ParseLimit(v string) (l Limit, err error) {
	own, guests, _ := strings.Cut(v, "; ")
	n, err := fmt.Sscanf(own, shaped+"%d %d %d %s", &l.Rate, &l.Burst, &l.Tbf.Limit, &l.Inner)
	l.Rate *= 8
	if l.Inner == "-" {
		l.Inner = ""
	}
	if err == nil {
		l.Guests, err = change.ParseTree(guests)
	}
	if err != nil || n != 4 || v != l.String() || max(l.Burst, l.Tbf.Limit) > MaxSize {
		return l, fmt.Errorf("parse setting %q: not a rate, a burst, a limit and a kind", v)
	}
	if l.Inner != "" && !slices.Contains(Inners, l.Inner) {
		return l, fmt.Errorf("parse setting %q: %q cannot be the child of a tbf", v, l.Inner)
	}
	return l, nil
}
