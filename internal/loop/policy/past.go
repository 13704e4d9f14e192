package policy

import (
	"math"
	"slices"

	"github.com/congctl/congctl/internal/tcp/record"
)

// Past: what a prefix's control connections showed of its path, longer than the lookback of the
// guards. A share of losses needs connections, and a treated or a small prefix has few of them in
// half an hour. So they are summed up in spans of one lookback each, aligned to the clock, and read
// newest first, each taken whole, until there are enough: a busy prefix is judged by its last half
// hour, a small one by its last six hours.

const (
	pastSpans = 12 // of a lookback each: six hours; a path as it was longer ago says nothing about now
	pastConns = 30 // connections that are enough: a share of losses of 1 % is then known to some 0.3 %
)

// PastSeconds is how far back a signature looks, at most.
func (r Rules) PastSeconds() int64 { return pastSpans * r.LookbackSeconds }

// span is one lookback of a prefix. Sums in float32, as slots are.
type span struct {
	number  uint32 // of the window, divided by the lookback
	conns   uint32 // eligible control connections whose rate, losses and round-trip times are known
	any     uint32 // eligible connections of all arms
	logRate float32
	square  float32 // of ln rate
	rttUs   float32
	srttUs  float32 // these four are sums over conns
	sent    float32
	again   float32 // bytes of the same connections

	episodes  float32 // times that they entered loss recovery, and
	inEpisode float32 // bytes retransmitted, both of the rows that know
}

// seen is what one window's rows add to a span.
func seen(rows []*record.Window) (s span) {
	var logRate, square, rtt, srtt, sent, again, inEpisode float64
	for _, w := range rows {
		s.any += w.Eligible
		if !w.Control || w.Eligible == 0 || w.LogRateMean == 0 || w.MinRTTUs == 0 || w.SRTTUs == 0 || w.EligibleSentBytes == 0 {
			continue
		}
		n := float64(w.Eligible)
		s.conns += w.Eligible
		logRate, square = logRate+n*w.LogRateMean, square+n*(w.LogRateVar+w.LogRateMean*w.LogRateMean)
		rtt, srtt = rtt+n*w.MinRTTUs, srtt+n*w.SRTTUs
		sent, again = sent+float64(w.EligibleSentBytes), again+float64(min(w.EligibleRetransBytes, w.EligibleSentBytes))
		if w.Episodes > 0 { // 0 is also a row that does not know
			s.episodes, inEpisode = s.episodes+float32(w.Episodes), inEpisode+float64(w.EligibleRetransBytes)
		}
	}
	s.logRate, s.square, s.rttUs, s.srttUs, s.sent, s.again = float32(logRate), float32(square), float32(rtt), float32(srtt), float32(sent), float32(again)
	s.inEpisode = float32(inEpisode)
	return s
}

func (s *span) join(o span) {
	s.conns, s.any = s.conns+o.conns, s.any+o.any
	s.logRate, s.square, s.rttUs, s.srttUs = s.logRate+o.logRate, s.square+o.square, s.rttUs+o.rttUs, s.srttUs+o.srttUs
	s.sent, s.again = s.sent+o.sent, s.again+o.again
	s.episodes, s.inEpisode = s.episodes+o.episodes, s.inEpisode+o.inEpisode
}

// pass adds what was seen in a window, and drops the spans that are too old.
func (t *track) pass(s span, window uint32, r Rules) {
	s.number = window / uint32(r.lookback())
	t.past = slices.DeleteFunc(t.past, func(o span) bool { return s.number-o.number >= pastSpans })
	if n := len(t.past); n > 0 && t.past[n-1].number == s.number {
		t.past[n-1].join(s)
		return
	}
	t.past = append(t.past, s)
}

// fade drops all spans of a prefix that was not seen for as long as they count.
func (t *track) fade(now uint32, r Rules) {
	if n := len(t.past); n > 0 && now/uint32(r.lookback())-t.past[n-1].number >= pastSpans {
		t.past = nil
	}
}

// busy returns the eligible connections of all arms in the past: the prefix's part of the traffic.
func (t *track) busy(now uint32, r Rules) (n float64) {
	for _, s := range t.past {
		if now/uint32(r.lookback())-s.number < pastSpans {
			n += float64(s.any)
		}
	}
	return n
}

// signature returns what slows a prefix, nil if its past does not tell.
func (t *track) signature(now uint32, r Rules) *Signature {
	var sum span
	for _, s := range slices.Backward(t.past) {
		if sum.conns >= pastConns || now/uint32(r.lookback())-s.number >= pastSpans {
			break
		}
		sum.join(s)
	}
	if sum.conns == 0 {
		return nil
	}
	n := float64(sum.conns)
	mean := float64(sum.logRate) / n
	return signature(Signature{RateVar: math.Round(1000*max(float64(sum.square)/n-mean*mean, 0)) / 1000, Episode: tenth(float64(sum.inEpisode) / max(1, float64(sum.episodes)) / segmentBytes),
		Conns: int(sum.conns), RateBytesPerS: math.Round(math.Exp(mean)),
		MinRTTUs: math.Round(float64(sum.rttUs) / n), SRTTUs: math.Round(float64(sum.srttUs) / n), RetransShare: math.Round(1e6*float64(sum.again/sum.sent)) / 1e6})
}

// steady returns the class that a prefix has had in steadyShare of its last Known windows,
// and in how many of them it had its present one; "" if there is none, as where a path is good and bad
// by turns.
func (t *track) steady(r Rules) (class Class, in int) {
	last := t.history[max(len(t.history)-r.Known(), 0):]
	if len(last) == 0 || last[len(last)-1].class == 0 {
		return "", 0
	}
	now := last[len(last)-1].class
	for _, h := range last {
		if h.class == now {
			in++
		}
	}
	if n := r.Known(); len(last) < n || float64(in) < steadyShare*float64(n) {
		return "", in
	}
	return Classes[now-1], in
}

// steadyShare of the windows: one bad window is no property of the path.
const steadyShare = 2.0 / 3

// number is a class in a history's entry; 0 is not known.
func (s *Signature) number() uint8 {
	if s == nil {
		return 0
	}
	return uint8(1 + slices.Index(Classes, s.Class))
}
