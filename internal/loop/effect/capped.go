package effect

import (
	"github.com/congctl/congctl/internal/tcp/record"
)

// The effect of the pacing cap. Of the treated connections of a network some, drawn by a hash of the
// connection, are scouts and never capped. So a window holds its own comparison, in one arm, one
// congestion control and one state of the path:
//
//	d = mean ln goodput of the capped - mean ln goodput of the scouts,  weighted by the smaller group
//
// since the smaller group makes the noise. Goodput is acknowledged bytes over busy time: the cap bounds the
// rate samples themselves. The bounds are those of the fleet, which hold at all times at once.

// Side is the capped or the scouts of one network and window.
type Side struct {
	N            uint32  // connections whose goodput is known
	LogGoodput   float32 // mean of ln(acknowledged bytes / busy time, bytes/s)
	RetransShare float32 // of sent bytes
	Queue        float32 // srtt / min_rtt
}

// SideOf returns what a row adds to its side; ok is false for one that says nothing.
func SideOf(w *record.Window) (s Side, ok bool) {
	if w.Carryover || w.Washout || w.RateMeans == 0 || w.LogGoodputMean == 0 || w.EligibleSentBytes == 0 || w.MinRTTUs <= 0 {
		return s, false
	}
	return Side{w.RateMeans, float32(w.LogGoodputMean), float32(w.EligibleRetransBytes) / float32(w.EligibleSentBytes), float32(w.SRTTUs / w.MinRTTUs)}, true
}

// Join returns two sets of connections as one, by number.
func (s Side) Join(o Side) Side {
	if s.N+o.N == 0 {
		return s
	}
	share := float32(o.N) / float32(s.N+o.N)
	return Side{s.N + o.N, s.LogGoodput + share*(o.LogGoodput-s.LogGoodput), s.RetransShare + share*(o.RetransShare-s.RetransShare),
		s.Queue + share*(o.Queue-s.Queue)}
}

// Beside is one window of one network.
type Beside struct {
	Prefix         record.Prefix
	Capped, Scouts Side
}

// CapEffect is what the cap does: capped connections against scouts.
type CapEffect struct {
	Windows, Networks   int
	LogRatio, Low, High float64 // of goodput; Low and High hold at all times with 95 %, and are both 0 if Known is false
	Known               bool    // enough windows for bounds

	CappedRetrans, ScoutsRetrans float64 // shares of sent bytes
	CappedQueue, ScoutsQueue     float64 // srtt / min_rtt
}

// Capped returns the effect over windows that have both sides; the others do not count.
func Capped(list []Beside) (e CapEffect) {
	var all terms
	networks := map[record.Prefix]bool{}
	for _, b := range list {
		w := float64(min(b.Capped.N, b.Scouts.N))
		if w == 0 {
			continue
		}
		all = append(all, term{float64(b.Capped.LogGoodput) - float64(b.Scouts.LogGoodput), w})
		networks[b.Prefix] = true
		e.CappedRetrans, e.ScoutsRetrans = e.CappedRetrans+w*float64(b.Capped.RetransShare), e.ScoutsRetrans+w*float64(b.Scouts.RetransShare)
		e.CappedQueue, e.ScoutsQueue = e.CappedQueue+w*float64(b.Capped.Queue), e.ScoutsQueue+w*float64(b.Scouts.Queue)
	}
	if e.Windows, e.Networks = len(all), len(networks); len(all) == 0 {
		return e
	}
	mean, sum, worth := all.mean()
	e.LogRatio = mean
	e.CappedRetrans, e.ScoutsRetrans, e.CappedQueue, e.ScoutsQueue = e.CappedRetrans/sum, e.ScoutsRetrans/sum, e.CappedQueue/sum, e.ScoutsQueue/sum
	if e.Known = worth >= fewestFleetPairs; e.Known {
		r := all.radius(mean, sum, worth)
		e.Low, e.High = mean-r, mean+r
	}
	return e
}
