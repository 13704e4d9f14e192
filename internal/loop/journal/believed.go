package journal

import "context"

// A wall clock that is wrong names the wrong windows as old, and what is deleted does not
// come back when it is set right. The store itself tells how long a clock has been at work:
// each known window in it began at that time by that clock.
const believedAfter = 86400 // seconds of known windows, so of uptime, restarts or not

// Believed reports whether a wall clock that shows now has been at work for a day: within
// the two days before now, the recorded windows that are known make a day together.
func Believed(ctx context.Context, r Recorded, now, windowSeconds int64) (bool, error) {
	heads, err := r.Heads(ctx, now-2*believedAfter, now)
	known := int64(0)
	for _, h := range heads {
		if h.Note == "" {
			known++
		}
	}
	return known*windowSeconds >= believedAfter, err
}
