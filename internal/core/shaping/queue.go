package shaping

import (
	"fmt"
	"math/bits"
	"time"
)

// Queue is how much may wait for tokens: bytes, or the time that they take at the rate.
// Exactly one of both is set.
type Queue struct {
	Bytes Size
	Time  time.Duration
}

// MaxWait: a packet that waits longer is given up by every TCP.
const MaxWait = 60 * time.Second

const queueForms = "a time in us, ms or s, or a size in " + sizeForms

var timeUnits = map[string]uint64{"us": 1e3, "ms": 1e6, "s": 1e9}

// ParseQueue reads a queue by its unit.
func ParseQueue(s string) (Queue, error) {
	q, err := split(s, queueForms)
	if err != nil {
		return Queue{}, fmt.Errorf("queue %q: %w", s, err)
	}
	unit, isTime := timeUnits[q.unit]
	switch {
	case q.unit == "":
		return Queue{}, fmt.Errorf("queue %q: can be read in two ways: bytes, or (as tc's latency) microseconds; write %sB or %sus", s, q.num, q.num)
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
		return Queue{}, fmt.Errorf("queue %q: above %s, after which every TCP has given a packet up; write a shorter time", s, MaxWait)
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

// limit is tbf's limit: what waits and what the bucket holds, as tc computes it from
// a latency. A size is the limit itself.
func (q Queue) limit(r Rate, burst Size) (Size, error) {
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

// Wait is how long a packet waits at most in a queue of that limit, as tc shows it.
func Wait(r Rate, limit, burst Size) time.Duration {
	if r.BytesPerS() == 0 || limit <= burst {
		return 0
	}
	return time.Duration(mulDiv(uint64(limit-burst), 1e9, r.BytesPerS()))
}

// mulDiv is a x b / c, and the largest number where that overflows.
func mulDiv(a, b, c uint64) uint64 {
	hi, lo := bits.Mul64(a, b)
	if hi >= c {
		return 1<<63 - 1
	}
	v, _ := bits.Div64(hi, lo, c)
	return min(v, 1<<63-1)
}
