package shaping

import (
	"fmt"
	"time"
)

// Numbers that a burst is made of.
const (
	// framesAtLeast: with room for one frame a bucket that is full while the next frame
	// is prepared loses tokens, and the rate is never reached.
	framesAtLeast = 2
	// lateMs, 1/s: a timer fires up to a millisecond late on a busy or virtual host; what
	// comes in meanwhile must fit, else it is lost.
	lateMs = 1000
	// superPacket, bytes: what TCP hands down at most as one piece. A burst above it goes
	// out at line rate in one piece, one below it is split and stays smooth.
	superPacket Size = 64 << 10
	// late100us, 1/s: above 5 Gbit/s, 64 KiB are less than the 100 us that a timer is late
	// even on an idle host.
	late100us = 10_000
	// segmentsSince: tbf splits super-packets above its burst from Linux 3.11 on
	// (e43ac79a4bc6); before, it drops them.
	segmentsMajor, segmentsMinor = 3, 11
)

// Timer is what the kernel wakes tbf with.
type Timer struct {
	HighRes bool // high-resolution timers are on
	HZ      int  // ticks a second, 0 if not known; counts without high-resolution timers
}

// slowestHZ is the HZ of a kernel that does not tell, 1/s.
const slowestHZ = 100

// Burst is the size of a bucket with the reason for it.
type Burst struct {
	Bytes Size
	Why   string
}

// BurstFor computes the bucket of a rate on a link with frames of so many bytes (MTU and
// link header).
func BurstFor(r Rate, frame Size, t Timer) Burst {
	perS := Size(r.BytesPerS())
	b := Burst{framesAtLeast * frame, fmt.Sprintf("two frames of %d bytes, the least that keeps the rate", frame)}
	two := b
	if ms := perS / lateMs; ms > b.Bytes {
		b = Burst{ms, "1 ms at the rate: a busy host's timer is that late"}
	}
	if b.Bytes > superPacket && two.Bytes > superPacket {
		b = two
	} else if b.Bytes > superPacket {
		b = Burst{superPacket, "64 KiB, the largest piece that TCP hands down: a larger burst leaves at line rate"}
	}
	if us := perS / late100us; us > b.Bytes {
		b = Burst{us, "100 us at the rate: a timer is that late on an idle host too"}
	}
	hz := t.HZ
	if hz <= 0 {
		hz = slowestHZ
	}
	if tick := perS / Size(hz); !t.HighRes && tick > b.Bytes {
		b = Burst{tick, fmt.Sprintf("one tick at the rate: this kernel has no high-resolution timers, HZ is %d", hz)}
	}
	b.Bytes = min(b.Bytes, MaxSize)
	return b
}

// checkBurst refuses a bucket that would drop every full packet.
func checkBurst(burst, frame Size) error {
	if burst < frame {
		return refuse("burst %s: smaller than a frame of this link (%d bytes), so tbf would drop every full packet; write --burst auto, or %s and more", burst, frame, frame)
	}
	return nil
}

// DefaultWait is the queue's length when none is asked for: 100 ms takes a round trip
// across a continent, so TCP fills the rate, and no call notices it.
const DefaultWait = 100 * time.Millisecond
