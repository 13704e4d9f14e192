package ledger

import (
	"cmp"
	"maps"
	"slices"

	"github.com/congctl/congctl/internal/tcp/record"
)

// The oracle keeps every observation of every connection for ever and works the
// records out at the end, from the rule in the package's comment.

type event struct {
	kind      eventKind
	w         int64 // window number
	n         counters
	counted   [nCounted]uint64 // of them, so far
	late      lateness         // of its mark, so far
	capped    bool             // as its mark says
	crossings uint32           // so far
	atUs      uint64           // boot time
	baseline  bool             // sight: what passed before does not count
}

type eventKind int

const (
	evSight eventKind = iota
	evFinal           // a sight by a final poll
	evClose
	evSettle
	evVanish
)

type row struct {
	Window    int64
	End       record.End
	Bytes     [nBytes]uint64
	Counted   [nCounted]uint64
	Late      lateness
	BusyUs    uint64
	ElapsedUs uint64
}

// recompute returns the records that a connection with this history must have, and
// the sums that are observed but in no record yet.
func recompute(history []event, bornUs uint64) (done []row, open row) {
	booked := map[int64][]int{} // window -> its observations
	ended := map[int64]record.End{}
	for i, ev := range history {
		waiting := waitingWindow(booked, ended)
		switch ev.kind {
		case evSettle:
			if waiting >= 0 && waiting <= ev.w {
				ended[waiting] = record.EndWindow
			}
		case evVanish:
			if waiting < 0 {
				waiting = 1 + slices.Max(slices.Collect(maps.Keys(ended)))
			}
			ended[waiting] = record.EndVanished
		default:
			w := max(ev.w, waiting)
			for e := range ended {
				w = max(w, e+1)
			}
			if waiting >= 0 && w > waiting {
				ended[waiting] = record.EndWindow
			}
			booked[w] = append(booked[w], i)
			if ev.kind == evClose {
				ended[w] = record.EndClose
			} else if ev.kind == evFinal && w == ev.w {
				ended[w] = record.EndWindow
			}
		}
	}
	for w, end := range ended {
		r := sum(history, booked[w], bornUs)
		r.Window, r.End = w, end
		done = append(done, r)
	}
	slices.SortFunc(done, func(a, b row) int { return cmp.Compare(a.Window, b.Window) })
	if w := waitingWindow(booked, ended); w >= 0 {
		open = sum(history, booked[w], bornUs)
	}
	return done, open
}

// waitingWindow is the one that has observations and no record; -1 for none.
func waitingWindow(booked map[int64][]int, ended map[int64]record.End) int64 {
	for w := range booked {
		if _, ok := ended[w]; !ok {
			return w
		}
	}
	return -1
}

func sum(history []event, obs []int, bornUs uint64) (r row) {
	mixed := false
	for _, i := range obs {
		now := history[i]
		if now.baseline {
			continue
		}
		before, busy, fromUs := lastBefore(history[:i], bornUs)
		if wentBack(before, now.n) {
			before, busy = counters{}, 0
		}
		for c := range nBytes {
			r.Bytes[c] += now.n[c] - before[c]
		}
		for c := range nCounted {
			most := uint64(0)
			for _, ev := range history[:i] {
				most = max(most, ev.counted[c])
			}
			r.Counted[c] += max(now.counted[c], most) - most
		}
		r.Late.add(lateBefore(history[:i]), now.late)
		mixed = mixed || r.Late.N > 0 && changesSide(history[:i], now)
		was := r.BusyUs
		r.BusyUs += now.n[busyUs] - min(busy, now.n[busyUs])
		if [nBytes]uint64(now.n[:nBytes]) != [nBytes]uint64(before[:nBytes]) || r.BusyUs > was { // something moved
			r.ElapsedUs += now.atUs - min(fromUs, now.atUs)
		}
	}
	if mixed {
		r.Late.N, r.Late.Rate = 0, 0
	}
	return r
}

// lateness is what the mark says besides bytes. Its numbers go round at 65,536, and stick there in a record.
type lateness struct{ N, Episodes, Rate, Own uint32 }

func (l *lateness) add(before, now lateness) {
	if (now.N-before.N)%65536 > 0 && now.Own >= 3 {
		l.Rate = now.Rate
	}
	l.N = min(l.N+(now.N-before.N)%65536, 65535)
	l.Episodes = min(l.Episodes+(now.Episodes-before.Episodes)%65536, 65535)
}

// changesSide reports whether the response that crossed last runs under a cap, and the one at the sight before did not, or
// the other way round.
func changesSide(history []event, now event) bool {
	for _, ev := range slices.Backward(history) {
		if ev.kind != evSettle && ev.kind != evVanish {
			return ev.crossings > 0 && ev.capped != now.capped
		}
	}
	return false
}

func lateBefore(history []event) (l lateness) {
	for _, ev := range history {
		if ev.kind != evSettle && ev.kind != evVanish {
			l = ev.late
		}
	}
	return l
}

func wentBack(before, now counters) bool {
	for c := range nBytes {
		if now[c] < before[c] {
			return true
		}
	}
	return false
}

// lastBefore returns the counters at the last observation, the longest busy time
// since they last started again, and when that was.
func lastBefore(history []event, bornUs uint64) (n counters, busy, atUs uint64) {
	atUs = bornUs
	for _, ev := range history {
		if ev.kind == evSettle || ev.kind == evVanish {
			continue
		}
		if wentBack(n, ev.n) {
			busy = 0
		}
		n, busy, atUs = ev.n, max(busy, ev.n[busyUs]), ev.atUs
	}
	return n, busy, max(atUs, bornUs)
}
