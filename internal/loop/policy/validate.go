package policy

import (
	"errors"
	"fmt"
	"math"
	"net/netip"

	"github.com/congctl/congctl/internal/core/ranges"
)

const (
	// maxAgeWindows keeps window numbers apart that are stored in 16 bits.
	maxAgeWindows = 1 << 15
	// maxLookbackWindows and maxHistoryWindows bound the memory of one prefix: 4 kB and 48 kB.
	maxLookbackWindows = 64
	maxHistoryWindows  = 4096
)

// faults collects what is wrong: a user wants all of it at once.
type faults []error

func (f *faults) want(ok bool, field string, value any, fix string) {
	if !ok {
		*f = append(*f, fmt.Errorf("check policy: %s %v: %s", field, value, fix))
	}
}

func (f *faults) share(field string, v float64) {
	f.want(v >= 0 && v <= 1, field, v, "write a share between 0 and 1")
}

// Validate says all that is wrong, each with field, value and fix. It changes nothing.
func (r Rules) Validate() error {
	var f faults
	r.checkTime(&f)
	f.want(r.MinSamples >= 1, "min_samples", r.MinSamples, "write at least 1 connection")
	f.want(r.GroupShare > 0 && r.GroupShare < 1, "group_share", r.GroupShare, "write a share above 0 and below 1")
	f.want(r.MinRanked >= 1, "min_ranked", r.MinRanked, "write at least 1 prefix")
	f.want(r.MinKnown >= 1, "min_known", r.MinKnown, "write at least 1 window")
	f.want(r.HistoryWindows >= r.MinKnown && r.HistoryWindows <= maxHistoryWindows, "history_windows", r.HistoryWindows,
		fmt.Sprintf("write at least min_known, %d, and at most %d", r.MinKnown, maxHistoryWindows))
	f.share("select_duty", r.SelectDuty)
	f.share("select_flap", r.SelectFlap)
	f.share("release_duty", r.ReleaseDuty)
	f.want(!(r.ReleaseDuty > r.SelectDuty), "release_duty", r.ReleaseDuty,
		fmt.Sprintf("write at most select_duty, %g, or a prefix is released as soon as it is selected", r.SelectDuty))
	f.want(r.MaxNewPerRound >= 0, "max_new_per_round", r.MaxNewPerRound, "write 0 or more prefixes")
	f.want(r.MaxSelected >= 0, "max_selected", r.MaxSelected, "write 0 or more prefixes")
	f.want(r.MaxTracked >= r.MaxSelected && r.MaxTracked >= 1 && r.MaxTracked <= maxRank, "max_tracked", r.MaxTracked,
		fmt.Sprintf("write at least max_selected, %d, and at most %d prefixes", r.MaxSelected, maxRank))
	r.Guards.check(&f)
	r.checkExperiment(&f)
	return errors.Join(f...)
}

func (r Rules) checkTime(f *faults) {
	w := r.WindowSeconds
	f.want(w >= 1 && w <= 86400, "window_seconds", w, "write 1 to 86400 seconds")
	if w < 1 {
		return
	}
	f.want(r.LookbackSeconds >= w && r.LookbackSeconds%w == 0 && r.LookbackSeconds/w <= maxLookbackWindows,
		"lookback_seconds", r.LookbackSeconds,
		fmt.Sprintf("write a multiple of window_seconds, %d, of at most %d windows", w, maxLookbackWindows))
	f.want(r.MaxAgeSeconds >= r.LookbackSeconds && r.MaxAgeSeconds%w == 0 && r.MaxAgeSeconds/w < maxAgeWindows,
		"max_age_seconds", r.MaxAgeSeconds,
		fmt.Sprintf("write a multiple of window_seconds, %d, at least lookback_seconds, %d, and less than %d windows",
			w, r.LookbackSeconds, maxAgeWindows))
	f.want(int64(r.MinKnown) <= r.maxAge(), "min_known", r.MinKnown,
		fmt.Sprintf("write at most the %d windows of max_age_seconds, or nothing is ever decided", r.maxAge()))
}

func (g Guards) check(f *faults) {
	f.want(g.LowRTTUs >= 0 && !math.IsInf(g.LowRTTUs, 0), "guards.low_rtt_us", g.LowRTTUs, "write 0 or more microseconds")
	f.share("guards.low_rtt_retrans_share", g.LowRTTRetransShare)
	f.want(g.TinyRTTUs >= 0 && !math.IsInf(g.TinyRTTUs, 0), "guards.tiny_rtt_us", g.TinyRTTUs, "write 0 or more microseconds")
	f.share("guards.max_rwnd_share", g.MaxRwndShare)
	f.share("guards.min_busy_share", g.MinBusyShare)
	f.want(g.PolicerSpread >= 0 && !math.IsInf(g.PolicerSpread, 0), "guards.policer_spread", g.PolicerSpread, "write a ratio of 1 or more, or 0 for no policer guard")
	f.share("guards.policer_retrans_share", g.PolicerRetransShare)
	f.want(g.PolicerBurst >= 0 && !math.IsInf(g.PolicerBurst, 0), "guards.policer_burst", g.PolicerBurst, "write a ratio of 0 or more")
	f.share("guards.max_conn_share", g.MaxConnShare)
	f.want(g.MinSharePrefixes >= 1, "guards.min_share_prefixes", g.MinSharePrefixes, "write at least 1 prefix")
	checkRanges(f, "guards.deny", g.Deny)
	checkRanges(f, "guards.allow", g.Allow)
	for i, p := range g.Allow {
		client, narrow := ranges.Widened(p)
		f.want(!narrow, fmt.Sprintf("guards.allow[%d]", i), p, fmt.Sprintf("holds no whole client prefix and never takes effect; write %s", client))
	}
}

func checkRanges(f *faults, field string, list []netip.Prefix) {
	for i, p := range list {
		at := fmt.Sprintf("%s[%d]", field, i)
		f.want(p.IsValid(), at, p, "write a network such as 203.0.113.0/24")
		f.want(!p.IsValid() || p == p.Masked(), at, p, fmt.Sprintf("host bits set; write %s", p.Masked()))
		f.want(!p.Addr().Is4In6(), at, p, "IPv4-mapped; write it as IPv4")
	}
}
