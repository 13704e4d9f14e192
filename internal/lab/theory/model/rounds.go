package model

import (
	"math"
	"slices"

	"github.com/congctl/congctl/internal/tcp/stat"
)

const (
	// runs of each kind for a band. The 5 % quantile of 32 is between the second and the
	// third lowest.
	runs = 32
	// edge: the share of the slow runs below Low, and of the fast ones above High.
	edge = 0.05
	// mostRounds are simulated; the rest of a longer transfer goes at the rate of their
	// second half. 4000 rounds of 1000 packets have 200 losses from 0.005 % on.
	mostRounds = 4000
	// synSeconds is the first timeout of a connection request (TCP_TIMEOUT_INIT), doubled
	// each time, tcp_syn_retries of them.
	synSeconds = 1
	synRetries = 6
)

// sender is a simulated connection, moved by whole rounds.
type sender interface {
	round()
	progress() (packets, seconds float64) // at the receiver, since the connection request
}

// goodput runs s to the end of t, in payload bit/s. A transfer without end leaves out
// the first half of the rounds.
func goodput(p Path, t Transfer, s sender) float64 {
	total, end := math.Inf(1), math.Inf(1)
	if t.Bytes > 0 {
		total = p.packetsOf(t.Bytes)
	}
	if t.Seconds > 0 {
		end = t.Seconds
	}
	var half, halfAt float64
	for n := range mostRounds {
		before, from := s.progress()
		if n == mostRounds/2 {
			half, halfAt = before, from
		}
		s.round()
		if got, at := s.progress(); got >= total || at >= end {
			share := min((total-before)/(got-before), (end-from)/(at-from), 1)
			return p.payload(before+(got-before)*share) / (from + (at-from)*share)
		}
	}
	got, at := s.progress()
	rate := (got - half) / (at - halfAt)
	if math.IsInf(total, 1) && math.IsInf(end, 1) {
		return p.payload(rate)
	}
	rest := min((total-got)/rate, end-at)
	return p.payload(got+rate*rest) / (at + rest)
}

// handshake is the time until the sender may send, less the half round trip that a
// packet's acknowledgement takes: the receiver connects, so its request, the answer and
// the answer's acknowledgement make one and a half, and a request that is lost a timeout.
// Where losses are rare fewer runs than the edges leave out lose one: AfterLostRequest.
func handshake(p Path, random *stat.Rand) float64 {
	at, wait := p.RTTSeconds, float64(synSeconds)
	for range synRetries {
		if random.Float64() >= p.Loss {
			break
		}
		at += wait
		wait *= 2
	}
	return at
}

// AfterLostRequest is the goodput of a transfer at a rate, if its first request or the
// answer is lost and comes again after a timeout.
func AfterLostRequest(rate float64, t Transfer) float64 {
	all, end := math.Inf(1), math.Inf(1)
	if t.Bytes > 0 {
		all = t.Bytes * 8
	}
	if t.Seconds > 0 {
		end = t.Seconds
	}
	lasts := min(all/rate+synSeconds, end)
	if math.IsInf(lasts, 1) || lasts <= synSeconds {
		return rate
	}
	return min(all, rate*(lasts-synSeconds)) / lasts
}

// newBand has the edges of slow and fast runs, and the mean of the fast ones.
func newBand(slow, fast []float64, bound float64) Band {
	slices.Sort(slow)
	slices.Sort(fast)
	b := Band{Low: stat.Sorted(slow, edge), Expected: min(meanOf(fast), bound), High: min(stat.Sorted(fast, 1-edge), bound)}
	b.Low = min(b.Low, b.Expected)
	b.High = max(b.High, b.Expected)
	return b
}

func meanOf(x []float64) float64 {
	var m stat.Mean
	for _, v := range x {
		m.Add(v, 1)
	}
	return m.Value()
}
