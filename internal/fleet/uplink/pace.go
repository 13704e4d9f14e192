package uplink

import "time"

// Full jitter: the wait before another attempt is uniform between 0 and
//
//	min(cap, base 2^(attempt-1))
//
// so that a fleet that lost its controller at one moment does not come back at one moment. Source: Brooker, "Exponential
// Backoff and Jitter", AWS Architecture Blog, 2015.

const (
	backoffBase = time.Second      // a restart of the far side takes some
	backoffCap  = 10 * time.Second // below the 15 s for which a controller that was down waits for its hosts
)

// Backoff returns the wait after so many failed attempts (1, 2, 3 …), by a random number of 0 to 1.
func Backoff(attempt int, random float64) time.Duration {
	most := backoffCap
	if n := max(attempt, 1) - 1; n < 4 { // 1 s << 4 is above the cap
		most = min(most, backoffBase<<n)
	}
	return time.Duration(random * float64(most))
}

// bucket bounds what is sent to a rate, but for a burst of one window: most records come at a window's end, and
// spread over the next one they would be late.
type bucket struct {
	perS, burst float64
	level       float64
	at          time.Time
}

// newBucket returns a full one; a rate of 0 is no limit.
func newBucket(bytesPerS int64, window time.Duration, now time.Time) *bucket {
	burst := float64(bytesPerS) * window.Seconds()
	return &bucket{perS: float64(bytesPerS), burst: burst, level: burst, at: now}
}

// take spends n bytes and returns how long to wait before they may go.
func (b *bucket) take(n int, now time.Time) time.Duration {
	if b.perS <= 0 {
		return 0
	}
	b.level = min(b.burst, b.level+now.Sub(b.at).Seconds()*b.perS) - float64(n)
	b.at = now
	return time.Duration(max(0, -b.level/b.perS) * float64(time.Second))
}
